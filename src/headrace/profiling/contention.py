"""How busy the machine is beside a pipeline, and how long what can run waits for a core of it.

A machine is seldom one program's own. What others use cannot be promised to more calls; and work that waits for a core has a processor for a part of
its time, as work that waits for a disk has. Linux tells both: the time that each core was busy, and of each thread the time that it ran and the time
that it could have run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from headrace.frozen import frozen

__all__ = ["IDLE", "Contention", "Looked", "look"]

# Where the kernel's counters of one core begin, and which of its columns are of work: user, nice, system, interrupts twice, and what other machines took.
_BUSY_COLUMNS: Final = (1, 2, 3, 6, 7, 8)
_NS: Final = 1e-9


@frozen
class Contention:
    """What was seen of a machine for a while.

    Attributes:
        others: how many cores other programs used, of those on which this process may run.
        ours: how many this process and those that it started used.
        here: how many times as long as with a core of its own what needs one took in this process, at least 1.
        elsewhere: the same in the processes that it started.
    """

    others: float = 0.0
    ours: float = 0.0
    here: float = 1.0
    elsewhere: float = 1.0


IDLE: Final = Contention()


@frozen
class Looked:
    """What the system had counted at a moment.

    Attributes:
        now_s: when that was.
        busy_s: for how long the cores had been busy; None where nobody says.
        ran_s: for how long this process had run, and those that it started.
        ours: of each thread of this process, how long it had run and how long it could have.
        theirs: the same of the processes that it started.
    """

    now_s: float
    busy_s: float | None
    ran_s: float
    ours: Mapping[str, tuple[float, float]]
    theirs: Mapping[str, tuple[float, float]]

    def since(self, before: Looked) -> Contention:
        """Returns what was seen from an earlier moment until this one."""
        seconds = self.now_s - before.now_s
        here, elsewhere = _grown(before.ours, self.ours), _grown(before.theirs, self.theirs)
        if self.busy_s is None or before.busy_s is None or seconds <= 0:
            return Contention(here=_stretch(here), elsewhere=_stretch(elsewhere))
        ours = max(0.0, self.ran_s - before.ran_s) / seconds
        others = max(0.0, (self.busy_s - before.busy_s) / seconds - ours)
        return Contention(others, ours, _stretch(here), _stretch(elsewhere))


def look(root: str = "/proc", *, clock: Callable[[], float] = time.monotonic) -> Looked:
    """Returns what the system has counted; nothing where it does not count."""
    here = dict(_threads(f"{root}/self"))
    children = [*_children(root, "self")]
    there = dict(pair for pid in children for pair in _threads(f"{root}/{pid}"))
    ran_s = sum(os.times()[:4]) + sum(_ran_s(f"{root}/{pid}/stat") for pid in children)
    return Looked(clock(), _busy_s(f"{root}/stat"), ran_s, here, there)


def _grown(before: Mapping[str, tuple[float, float]], after: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Returns for how long threads ran, and could have run; those that have ended meanwhile are left out."""
    pairs = [(after[name], before.get(name, (0.0, 0.0))) for name in after]
    return sum(now[0] - was[0] for now, was in pairs), sum(now[1] - was[1] for now, was in pairs)


def _stretch(grown: tuple[float, float]) -> float:
    ran_s, waited_s = grown
    return (ran_s + waited_s) / ran_s if ran_s > 0 else 1.0


def _busy_s(file: str) -> float | None:
    """Returns for how long the cores have been busy on which this process may run."""
    own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    lines = [
        line.split() for line in _text(file).splitlines() if line.startswith("cpu") and not line.startswith("cpu ")
    ]
    busy = [
        sum(int(line[column]) for column in _BUSY_COLUMNS if column < len(line))
        for line in lines
        if own is None or int(line[0][3:]) in own
    ]
    return sum(busy) / _ticks() if busy else None


def _ran_s(file: str) -> float:
    """Returns for how long a process has run, with its threads that have ended."""
    fields = _text(file).rpartition(")")[2].split()  # behind its name, in which anything may stand
    return sum(map(int, fields[11:13])) / _ticks()


def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def _threads(folder: str) -> Iterator[tuple[str, tuple[float, float]]]:
    for name in _names(f"{folder}/task"):
        ran_ns, _, rest = _text(f"{folder}/task/{name}/schedstat").partition(" ")
        if rest:
            yield f"{folder}/{name}", (int(ran_ns) * _NS, int(rest.split()[0]) * _NS)


def _children(root: str, process: str) -> Iterator[str]:
    """Yields the processes that a process started, and that these started."""
    for task in _names(f"{root}/{process}/task"):
        for child in _text(f"{root}/{process}/task/{task}/children").split():
            yield child
            yield from _children(root, child)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return []


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii")
    except (OSError, ValueError):  # it has ended, or nobody says
        return ""
