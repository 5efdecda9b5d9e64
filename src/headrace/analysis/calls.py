"""How many calls of an operation pay, by what its workers did for a while.

Three things bound that number. Cores: calls that compute need one each, so no more of them run than the rest of the process leaves
free; calls that wait need none, and many of them share one. Need: where nobody waits for the results, fewer calls would do as well.
And what is behind the calls, a disk, a network or Python's lock, of which no figure tells: only more calls that bring no more
elements do. So a model says how far to go at most, and what came of a step says whether to stay.
"""

from __future__ import annotations

import math
from typing import Final

from headrace.frozen import frozen

__all__ = ["MOST_CALLS", "CallsFigures", "by_cores", "by_idle_cores", "by_need"]

# Calls that wait may be more than the cores; more than this many mostly load what they wait for.
MOST_CALLS: Final = 64
# Of what the rest of the process leaves, so much is counted at least: it has its share of the machine.
_LEAST_CORES: Final = 0.5
# So much more than was in use is left, so that results are there before they are wanted.
_ROOM: Final = 1.5
# What computes seems to wait a little on a busy machine: so near a whole call more is one.
_NEARLY: Final = 0.25
# A smaller part of a call is not told from nothing.
_LEAST_AT_WORK: Final = 1e-3
# Threads of a library's compute for calls where others than these, and than who waits for them, have more of a core than this.
_HELPED: Final = 0.25
# A smaller part of a core is no idle one.
_IDLE: Final = 0.2


@frozen(kw_only=True)
class CallsFigures:
    """What the workers of an operation did for a while.

    Attributes:
        seconds: how long that was.
        calls: how many might run at once.
        elements: how many were made.
        busy_s: how long calls ran, all of them together.
        cpu_s: how long they had a processor, of that.
        waited_s: how long who wants the elements waited for them.
        starved_s: of that, while fewer calls ran than might, as no more tasks may lie behind one that takes long.
        free_cores: how many cores nothing else in the process used.
        idle_cores: how many cores nothing in the process used.
        helping_cores: how many were used by threads that neither make these calls nor wait for them.
    """

    seconds: float
    calls: int
    elements: int
    busy_s: float
    cpu_s: float
    waited_s: float
    starved_s: float = 0.0
    free_cores: float = math.inf
    idle_cores: float = 0.0
    helping_cores: float = 0.0

    @property
    def rate(self) -> float:
        """Elements a second."""
        return self.elements / self.seconds

    @property
    def element_s(self) -> float:
        """How long a call takes for an element."""
        return self.busy_s / max(1, self.elements)

    @property
    def in_use(self) -> float:
        """How many calls ran at once, on average."""
        return self.busy_s / self.seconds

    @property
    def is_helped(self) -> bool:
        """Whether a library's threads compute for the calls: each takes longer beside others then, which share these threads."""
        return self.helping_cores > _HELPED

    @property
    def wait_share(self) -> float:
        """The part of the time in which who wants the elements waited for them."""
        return self.waited_s / self.seconds

    @property
    def starved_share(self) -> float:
        """The part of the time in which calls might have run that did not, while their results were waited for."""
        return self.starved_s / self.seconds

    @property
    def at_work_share(self) -> float:
        """The part of a call in which it has a processor, from 0 to 1."""
        return min(1.0, self.cpu_s / self.busy_s) if self.busy_s > 0 else 1.0


def by_cores(figures: CallsFigures, element_s: float) -> int:
    """Returns how many calls keep the cores busy that are free for them, where a call takes so long for an element."""
    free = max(_LEAST_CORES, figures.free_cores)
    at_work = figures.at_work_share * figures.element_s / element_s if element_s > 0 else 1.0
    return min(MOST_CALLS, max(1, math.floor(free / min(1.0, max(_LEAST_AT_WORK, at_work)) + _NEARLY)))


def by_idle_cores(figures: CallsFigures) -> int:
    """Returns how many calls are worth a trial as cores are idle while a library's threads compute for calls; 0 where that is not so.

    What such a call needs of the cores no clock of its own thread tells, nor how evenly it uses them.
    """
    is_worth_it = figures.is_helped and figures.idle_cores > _IDLE
    return min(MOST_CALLS, 2 * figures.calls) if is_worth_it else 0


def by_need(figures: CallsFigures) -> int:
    """Returns how many calls make as many elements as were taken, with room for one that takes longer."""
    return max(1, math.ceil(_ROOM * figures.in_use))
