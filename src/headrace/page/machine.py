"""What the figures were measured on. No host names, no user names, no paths."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version
from pathlib import Path

from headrace.frozen import frozen
from headrace.machine import current_share

__all__ = ["Machine", "this_machine"]


@frozen(kw_only=True)
class Machine:
    """A machine, as far as it matters to how fast a training is.

    Attributes:
        cpu: the processor's name.
        cores: how many this process may use.
        memory_bytes: how much memory this process may take.
        system: operating system and architecture.
        python: version.
        versions: of the libraries that took part.
        device: what the model was computed on: CPU, or the GPU's name.
    """

    cpu: str
    cores: int
    memory_bytes: int
    system: str
    python: str
    versions: dict[str, str]
    device: str


def this_machine(*libraries: str, device: str = "CPU") -> Machine:
    """Returns the machine that this process runs on.

    Args:
        libraries: whose versions are told beside those of headrace, NumPy and pyarrow.
        device: what the model was computed on.
    """
    share = current_share()
    told = dict.fromkeys(["numpy", "pyarrow", *libraries])
    return Machine(
        cpu=_cpu_name(),
        cores=share.cores,
        memory_bytes=share.memory_bytes,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        versions={"headrace": str(vars(sys.modules["headrace"])["__version__"])}
        | {library: version(library) for library in told},
        device=device,
    )


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        # Not Linux: the standard library knows less, but something.
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
