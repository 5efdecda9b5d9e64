"""What the figures were measured on, as far as it explains them: no names of hosts, people or folders."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from pace import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine at the time of a run."""

    date: str
    commit: str
    cpu: str
    cores: int  # that this process may use
    memory_bytes: int
    system: str
    python: str
    load: float  # processes that wanted to run in the last minute, before the run: 0 is a quiet machine
    pace: Pace = field(default_factory=Pace)  # while the run went on

    @property
    def is_busy(self) -> bool:
        """Whether somebody else's work would disturb the figures."""
        return self.load > 0.5

    @property
    def is_uneven(self) -> bool:
        """Whether the machine itself ran slower in so much of the run that medians are of two speeds."""
        return self.pace.slow_share > 0.2


def describe_machine() -> Machine:
    """This machine, now."""
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        commit=_commit(),
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        load=psutil.getloadavg()[0],
    )


def versions_of(libraries: Iterable[str]) -> dict[str, str]:
    """The installed version of each library; those that are not installed are left out."""
    found = {}
    for library in sorted(set(libraries)):
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> str:
    root = Path(__file__).resolve().parent.parent
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        is_changed = bool(_git(root, "status", "--porcelain", "--", "src", "benchmarks"))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"  # an unpacked archive, or no git
    return commit + (" with uncommitted changes" if is_changed else "")


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _cpu() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
