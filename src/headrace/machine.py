"""What of the machine this process may use: its cores, and its memory.

What the machine has says little: a container, a batch system or a launcher gives a process a part of it, and ends the
process that takes more. So this reads what was given: the affinity mask, the limits of the control groups that the
process is in (version 1 and 2), a limit of the process's own, and how many processes share all that.

A process is told the same for a second, because to read all that takes as long as to begin a small pipeline. Then what has
changed meanwhile is seen; a fork, another mask or another number of processes at once.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.ranks.launchers import LOCAL_VARIABLES, local_world_size

__all__ = ["Share", "current_share", "share_of_machine"]

# Where the system does not say how much memory it has.
_FALLBACK_BYTES: Final = 4 << 30
# Controllers of version 1 that bound what is asked for here.
_BOUNDING: Final = frozenset({"cpu", "memory"})
# How much memory a control group may take, and from where on it is slowed down.
_MEMORY_LIMITS: Final = {1: ("memory.limit_in_bytes",), 2: ("memory.max", "memory.high")}
# Python 3.13 has a count of its own for the process, which its option -X cpu_count sets.
_COUNTED: Final[Callable[[], int | None]] = getattr(os, "process_cpu_count", os.cpu_count)
_AFFINITY: Final[Callable[[int], set[int]] | None] = getattr(os, "sched_getaffinity", None)
# Digits of a number that Python takes for one; the largest limit has 19.
_LONGEST: Final = 100
# How long a reading holds.
_HOLDS_S: Final = 1.0


@frozen
class Share:
    """What this process may use of the machine.

    Attributes:
        cores: how many threads of it can run at once, at least 1.
        memory_bytes: how much memory it may take, what it has taken already included.

    Example:
        >>> from headrace.machine import share_of_machine
        >>> share_of_machine().cores >= 1
        True
    """

    cores: int
    memory_bytes: int


_readings: Final[dict[tuple[object, ...], tuple[float, Share]]] = {}


def current_share() -> Share:
    """Returns what this process may use, as it was read within the last second."""
    told = [os.environ.get(name) for name in LOCAL_VARIABLES]
    key = os.getpid(), *told, frozenset(_AFFINITY(0)) if _AFFINITY is not None else None
    read = _readings.get(key)
    if read is None or time.monotonic() - read[0] > _HOLDS_S:
        read = time.monotonic(), share_of_machine()
        _readings.clear()
        _readings[key] = read
    return read[1]


def share_of_machine(
    root: str = "/",
    *,
    environ: Mapping[str, str] = os.environ,
    counted: Callable[[], int | None] = _COUNTED,
    affinity: Callable[[int], set[int]] | None = _AFFINITY,
    memory_bytes: int | None = None,
) -> Share:
    """Reads what this process may use.

    Half a core is one, and a core and a half are two: a quota is rounded up, so that all of it can be used. Among several
    processes, as torchrun, Open MPI or SLURM tells (``hr.ranks.current().local_world_size``), it is divided and rounded down, to one
    at least. Cores to which the launcher bound this process alone are not divided again.

    Args:
        root: below which ``proc`` and ``sys`` are looked for.
        environ: the variables of the environment.
        counted: how many cores Python counts; of 3.13 and later, what ``-X cpu_count`` says.
        affinity: the cores on which a process may run, given its id or 0 for this one; None where systems do not say.
        memory_bytes: how much the machine has; None asks the system.

    Warns:
        RuntimeWarning: a launcher's variable is no number of processes; it is left out.
    """
    processes = _processes(environ)
    limits, quota = [_physical_bytes() if memory_bytes is None else memory_bytes], math.inf
    for folder, version in _control_groups(root):
        limits += [
            limit for name in _MEMORY_LIMITS[version] if (limit := _number(_read(f"{folder}/{name}"))) is not None
        ]
        quota = min(quota, _quota(folder, version))
    own, together = _cores(counted() or 1, affinity, shared=processes > 1)
    whole = together if quota == math.inf else min(together, math.ceil(quota))
    # The limit of the process's own is of each process, the others are of all of them.
    memory = min([min(limits) // processes, *_own_limits()])
    return Share(max(1, min(own, whole // processes)), max(1, memory))


def _processes(environ: Mapping[str, str]) -> int:
    """Returns how many processes share what this one may use."""
    try:
        return local_world_size(environ)
    except InvalidArgumentError as error:
        _warn_of(error.reason)
        return 1


@functools.cache  # once for each value: every iterator asks
def _warn_of(reason: str) -> None:
    message = f"{reason}. headrace takes this process for the only one on the machine"
    warnings.warn(message, RuntimeWarning, stacklevel=2)


# ---------------------------------------------------------------------------- cores


def _cores(counted: int, affinity: Callable[[int], set[int]] | None, *, shared: bool) -> tuple[int, int]:
    """Returns on how many cores this process may run, and on how many it and those beside it together."""
    if affinity is None:
        return counted, counted
    own = affinity(0)
    together = own
    if shared:
        with contextlib.suppress(OSError):  # the launcher has ended, or is nobody that this process may look at
            together = affinity(os.getppid())
    count = min(counted, len(own))
    # Bound to fewer than the launcher, it has a part already, and the others have other parts.
    return count, len(together) if together > own else count


def _quota(folder: str, version: int) -> float:
    """Returns how many cores' worth of time a control group may take."""
    if version == 1:
        spent, period = _number(_read(f"{folder}/cpu.cfs_quota_us")), _number(_read(f"{folder}/cpu.cfs_period_us"))
    else:
        spent, period = map(_number, [*_read(f"{folder}/cpu.max").split(), "", ""][:2])
    return spent / period if spent and period else math.inf


# --------------------------------------------------------------------------- memory


def _physical_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not a system of POSIX's
        pass
    try:
        import psutil

        return int(psutil.virtual_memory().total)
    except (ImportError, OSError):
        return _FALLBACK_BYTES


def _own_limits() -> list[int]:
    """Returns the limit of this process's addresses (``ulimit -v``), by which batch systems bound memory."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return [] if soft == resource.RLIM_INFINITY else [soft]


# ------------------------------------------------------------------- control groups


def _control_groups(root: str) -> Iterator[tuple[str, int]]:
    """Yields the folders of the control groups that bound this process: its own and those above, each with its version."""
    root = root.rstrip("/")
    proc = f"{root}/proc/self"
    groups = [line.split(":", 2) for line in _read(f"{proc}/cgroup").split("\n") if line.count(":") >= 2]
    lines = [
        line for line in _read(f"{proc}/mountinfo").split("\n") if " - cgroup" in line
    ]  # of hundreds, on some machines
    mounts = [mount for line in lines if (mount := _mount(line)) is not None]
    for _, controllers, path in groups:
        # Of version 2 there is one tree, which names no controllers; of version 1 one for each set of them.
        wanted = frozenset(filter(None, controllers.split(",")))
        if wanted and not wanted & _BOUNDING:
            continue
        tree = [(mounted, top) for having, mounted, top in mounts if (wanted <= having if wanted else not having)]
        for top, below in _places(tree, path):
            for depth in range(len(below) + 1):
                yield "/".join([root, *_parts(top)[1:], *below[:depth]]), 1 if wanted else 2


def _mount(line: str) -> tuple[frozenset[str], str, str] | None:
    """Returns a line of mountinfo: its controllers (none for version 2), which folder of the tree is mounted, and where."""
    fields, separator, rest = line.partition(" - ")
    place, filesystem = fields.split(" "), rest.split(" ")
    if not separator or len(place) < 5 or len(filesystem) < 3 or filesystem[0] not in ("cgroup", "cgroup2"):
        return None
    options = frozenset(filesystem[2].split(",")) if filesystem[0] == "cgroup" else frozenset()
    return options, _unescaped(place[3]), _unescaped(place[4])


def _places(mounts: list[tuple[str, str]], path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields where the control group of that path can be seen: a mount, and the names of the folders below it.

    A path and what is mounted are both seen from the process's own namespace; ``/..`` is a group outside of it.
    """
    wanted = _parts(path)
    found = False
    for mounted, top in mounts:
        parts = _parts(mounted)
        if wanted[: len(parts)] == parts and ".." not in wanted[len(parts) :]:
            found = True
            yield top, wanted[len(parts) :]
    if not found:  # hidden from this process: what it sees instead is the nearest thing to its own
        yield from ((top, ()) for _, top in mounts)


def _parts(path: str) -> tuple[str, ...]:
    return ("/", *filter(None, path.split("/")))


def _unescaped(path: str) -> str:
    """Returns a path as it is: the kernel writes blanks and the like as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def _number(text: str) -> int | None:
    """Returns what is above nothing; None where it is no such number, as "max" and -1 are."""
    text = text.strip()
    is_number = text.isascii() and text.isdigit() and len(text) < _LONGEST
    return int(text) or None if is_number else None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - a program waits for no pathlib here
            return file.read()
    except OSError:  # most of these are not there: a system has one version, and no limit at its top
        return ""
