"""What more calls at once bring, tried for a moment before it is promised.

What one thread did does not tell how two of them get on: a function of many small NumPy calls holds Python's lock for a tenth of its time and takes it a
hundred times, and each time it may wait for another thread to let go, and for the kernel to wake it up. So steps are taken with what is advised, as many
as come in a moment, and no more is promised than came. Where threads come short, processes are tried beside them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Final

from headrace.analysis.changes import Change, Way, best_first, in_processes
from headrace.analysis.figures import PipelineFigures, StepFigures
from headrace.analysis.finding import MARGIN, Cause
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.profiling.phases import Phase

__all__ = ["Prover", "proven"]

_AT_ONCE: Final = (Way.CALLS, Way.PROCESSES)
# Fewer steps say too little of how many a second there are.
_LEAST_STEPS: Final = 8
# Threads that bring less than this part of what was promised come short.
_SHORT: Final = 0.85


@frozen(kw_only=True)
class Prover:
    """What changes are tried with.

    Attributes:
        figures: what the stages do.
        upon: what they would do with threads.
        step: what the consumer does; None where the pipeline alone is to be faster.
        before: the steps that were taken without a change.
        run: takes steps with a change for a moment; None where there is no such plan.
    """

    figures: PipelineFigures
    upon: PipelineFigures
    step: StepFigures | None
    before: Phase
    run: Callable[[Change], Phase | None]

    def proven(self, change: Change) -> Change | None:
        """Returns a change with no more promised than came, or as it was where too little was seen; None where it fails."""
        try:
            after = self.run(change)
        except HeadraceError:  # what cannot be sent to a process, or is more than memory holds
            return None
        if after is None or min(self.before.steps, after.steps) < _LEAST_STEPS:
            return change
        came = after.rate / self.before.rate
        return dataclasses.replace(change, expected_speedup=min(change.expected_speedup, came))

    def proven_in_processes(self, change: Change) -> Change | None:
        """Returns the calls of a change in processes, tried; None where they bring hardly more."""
        other = in_processes(change, self.figures, self.step, self.upon)
        if other is None or other.expected_speedup < MARGIN * change.expected_speedup:
            return None
        other = self.proven(other)
        return other if other is not None and other.expected_speedup >= MARGIN * change.expected_speedup else None


def proven(found: Sequence[Change], most: int, prover: Prover, cause: Cause | None, noise: float) -> tuple[Change, ...]:
    """Returns changes with those tried that are of calls at once; the best first.

    Of calls at once that are not among the first ones nothing is said: untried, they would promise more than those that were tried.

    Args:
        found: what would make steps faster, as the model says.
        most: how many of them are given.
        prover: tries them.
        cause: why steps wait.
        noise: the part by which the rate of steps is uncertain.
    """
    kept = list[Change]()
    for place, change in enumerate(found[:most]):
        came = prover.proven(change) if change.way in _AT_ONCE else change
        if came is None:
            continue
        kept.append(came)
        is_short = change.way is Way.CALLS and came.expected_speedup < _SHORT * change.expected_speedup
        if place == 0 and is_short and not _has_processes(found, change):
            kept += filter(None, [prover.proven_in_processes(came)])
    kept += (change for change in found[most:] if change.way not in _AT_ONCE)
    return best_first(kept, cause, noise)


def _has_processes(found: Sequence[Change], change: Change) -> bool:
    return any(other.key == change.key and other.way is Way.PROCESSES for other in found)
