"""What a run is free to do in more than one way, while what comes out is the same.

Users cannot choose here. The laws do, to run a plan in the ways that chance takes seldom: with one rule alone, in blocks of
sizes that do not fit, with the latest result first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from headrace.clock import MONOTONIC, Clock
from headrace.frozen import frozen
from headrace.optimize.rules import RULES
from headrace.physical.budget import Budget
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.pace import Pace
from headrace.physical.workers.ready_order import FIRST_READY, ReadyOrder
from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.physical.workers.batch_memory import SharedMemory
    from headrace.physical.workers.calls_tuner import CallsTuner
    from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
    from headrace.physical.workers.depth_tuner import DepthTuner
    from headrace.physical.workers.overlap_tuner import OverlapTuner
    from headrace.physical.workers.reading_place import ReadingPlace

__all__ = ["USUAL", "RunPolicy"]


@frozen(kw_only=True)
class RunPolicy:
    """What a run does where it is free to choose.

    What decides for operations with workers or a prefetch is named where those are, and is imported with them: None leaves it to that.

    Attributes:
        rules: what makes the plan that runs of the plan that was written.
        pace: makes what decides how many elements a stage asks for at once.
        budget: makes what decides how much may be held.
        loops: when a chain of functions goes element by element, and when function by function.
        ready_order: which result comes next where any may.
        overlap: makes what decides whether a prefetch makes its elements in a thread or where they are asked for.
        depth: gives what decides how many blocks a prefetch may have ready where that is left to headrace.
        reading_place: gives what decides whether a parallel interleave reads its datasets in workers.
        concurrency: gives what decides whether an operation has workers where that is left to headrace.
        calls: gives what decides how many calls run at once in these, of how many to begin with and how many there may be.
        shared: gives memory for batches that another process is to read; None where none does.
        tells_of_unkept: whether a cache that keeps nothing of an epoch that was left says so in the log.
        clock: what the blocks of a prefetch, of a generator and of the iterator are measured on.
    """

    rules: tuple[Callable[[Node], Node], ...] = RULES
    pace: Callable[..., Pace] = Pace
    budget: Callable[..., Budget] = Budget
    loops: LoopPolicy = LoopPolicy()
    ready_order: ReadyOrder = FIRST_READY
    overlap: Callable[[tuple[object, ...]], OverlapTuner] | None = None
    depth: Callable[[tuple[object, ...]], DepthTuner] | None = None
    reading_place: Callable[[tuple[object, ...]], ReadingPlace] | None = None
    concurrency: Callable[[int, tuple[object, ...]], ConcurrencyTuner] | None = None
    calls: Callable[[int, int | None, tuple[object, ...]], CallsTuner] | None = None
    shared: SharedMemory | None = None
    tells_of_unkept: bool = True
    clock: Clock = MONOTONIC

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Has the usual one be known by its name in another process, which is told it with each run."""
        return "USUAL" if self is USUAL else object.__reduce_ex__(self, protocol)


USUAL: Final = RunPolicy()
