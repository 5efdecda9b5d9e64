"""Three runs of a pipeline and its consumer, which together tell which of them is the slower and whether one slows the other.

- *beside*: the consumer takes elements from the pipeline, as in training.
- *pipeline*: elements are taken and dropped.
- *step*: the consumer takes elements that were kept, again and again (the headspace test of SPDL).

What always holds: a phase takes at least two steps, and no step begins after its time is up. Its first steps are not counted, as that is when
files are opened, threads begin and functions are compiled. Epochs that end are begun again.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import time
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator
from statistics import fmean, stdev
from typing import Any, Final

from headrace.clock import MONOTONIC, Clock
from headrace.elements.structure import nbytes_of
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.page.stairs import Window, windowed

__all__ = ["ALONE", "BESIDE", "CALLS", "STEP", "Epochs", "Phase", "consume", "keep"]

# Of the time of a profile: the step beside the pipeline, the pipeline alone, and the step alone.
BESIDE, ALONE, STEP = 0.5, 0.3, 0.2
# Beyond it, as a part of it: the step beside the pipeline with more calls at once, where these are advised.
CALLS: Final = 0.15
# The part of a phase's time whose steps are not counted.
_WARM_UP: Final = 0.2
# Into how many pieces steps are divided, to see how much they differ.
_PIECES: Final = 4
# One step says nothing of the next: the first may only be slow because it is.
_LEAST: Final = 2
# How many elements are kept for the consumer alone; fewer where they are large.
_MOST_KEPT: Final = 32
_MOST_KEPT_BYTES: Final = 256 << 20

Step = Callable[[Any], object]


@frozen
class Phase:
    """What was measured of one run.

    Attributes:
        steps: how many steps were counted.
        elapsed_s: how long they took together.
        waits_s: how long each waited for its element.
        computed_s: how long each took from there.
        cpu_s: seconds of a processor that the consumer's thread took for a step, on the average.
        process_s: the same of all threads of the process.
    """

    steps: int
    elapsed_s: float
    waits_s: tuple[float, ...]
    computed_s: tuple[float, ...]
    cpu_s: float = 0.0
    process_s: float = 0.0

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / self.elapsed_s if self.elapsed_s > 0 else math.inf

    @property
    def waited_s(self) -> float:
        """How long a step waited, on the average."""
        return sum(self.waits_s) / max(1, self.steps)

    @property
    def step_s(self) -> float:
        """How long a step took once it had its element, on the average."""
        return sum(self.computed_s) / max(1, self.steps)

    @property
    def noise(self) -> float:
        """The part by which the rate is uncertain: the standard error of the mean of pieces, as neighbouring steps have much in common."""
        totals_s = [wait_s + computed_s for wait_s, computed_s in zip(self.waits_s, self.computed_s, strict=True)]
        length = len(totals_s) // _PIECES
        if not length:
            return 0.0
        means_s = [fmean(totals_s[first : first + length]) for first in range(0, length * _PIECES, length)]
        whole_s = fmean(means_s)
        return stdev(means_s) / math.sqrt(_PIECES) / whole_s if whole_s > 0 else 0.0

    @property
    def windows(self) -> tuple[Window, ...]:
        """The part of its time that a step waited, over time, in at most sixty pieces."""
        totals_s = [wait_s + computed_s for wait_s, computed_s in zip(self.waits_s, self.computed_s, strict=True)]
        return windowed(self.waits_s, totals_s, list(itertools.accumulate(totals_s)))


class Epochs:
    """The elements of one epoch after another, without an end.

    Args:
        dataset: what is iterated.
        began: is told each iterator, once it is made.

    Raises:
        InvalidArgumentError: an epoch has no element.
    """

    def __init__(self, dataset: Iterable[Any], began: Callable[[Iterator[Any]], None] = lambda _: None) -> None:
        self._dataset = dataset
        self._began = began

    def __iter__(self) -> Generator[Any]:
        while True:
            with contextlib.ExitStack() as stack:
                iterator = iter(self._dataset)
                if hasattr(iterator, "close"):
                    stack.callback(iterator.close)
                self._began(iterator)
                count = 0
                for count, element in enumerate(iterator, 1):  # noqa: B007 - whether there was any
                    yield element
            if not count:
                message = "there is nothing to profile: the dataset is empty"
                raise InvalidArgumentError(message)


def consume(
    elements: Iterator[Any],
    step: Step,
    seconds: float,
    clock: Clock = MONOTONIC,
    goes_on: Callable[[bool], bool] = bool,
    on_warm: Callable[[], object] = int,
) -> Phase:
    """Takes elements for so long from the first on, and runs the step on each.

    Args:
        elements: where they come from.
        step: what consumes one.
        seconds: how long to go on.
        clock: what tells the time.
        goes_on: returns whether to take another step, given whether this process wants one.
        on_warm: is called once, when the steps begin that are counted.
    """
    asked, had, done = array("d"), array("d"), array("d")
    began_s = now_s = clock.now_s()
    cpu_s, process_s = time.thread_time(), time.process_time()
    warm_s: float | None = None
    while goes_on(now_s < began_s + seconds or len(asked) < _LEAST):
        now_s = clock.now_s()
        if warm_s is not None and now_s >= warm_s:
            warm_s = math.inf
            on_warm()
        asked.append(now_s)
        element = next(elements)
        had.append(clock.now_s())
        if warm_s is None:  # processes may have begun before it
            began_s = had[0]
            warm_s = began_s + _WARM_UP * seconds
        step(element)
        now_s = clock.now_s()
        done.append(now_s)
    cpu_s, process_s = (time.thread_time() - cpu_s) / len(asked), (time.process_time() - process_s) / len(asked)
    first = min(bisect.bisect_left(asked, began_s + _WARM_UP * seconds), len(asked) - 1)
    waits_s = tuple(end - start for start, end in zip(asked[first:], had[first:], strict=True))
    computed_s = tuple(end - start for start, end in zip(had[first:], done[first:], strict=True))
    return Phase(len(waits_s), now_s - asked[first], waits_s, computed_s, cpu_s, process_s)


def keep(
    elements: Iterator[Any],
    seconds: float = math.inf,
    clock: Clock = MONOTONIC,
    goes_on: Callable[[bool], bool] = bool,
) -> list[Any]:
    """Returns some elements, as many as there is room for and as come in that time, but one; the rest as in ``consume``."""
    kept, held_bytes, end_s = list[Any](), 0, clock.now_s() + seconds

    def wants() -> bool:
        return not kept or (len(kept) < _MOST_KEPT and held_bytes < _MOST_KEPT_BYTES and clock.now_s() < end_s)

    while goes_on(wants()):
        kept.append(next(elements))
        held_bytes += nbytes_of(kept[-1])
    return kept
