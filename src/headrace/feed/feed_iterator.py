"""One run of a feed, as a training loop sees it.

What always holds.
- The state counts what the loop got, whatever is ready: each element has a bookmark of the position after it.
- An element's error comes in its place, and the next call goes on after it.
- Where the ranks of a job end together, they tell each other in the loop's own thread.
- ``close`` joins the thread and closes the pipeline; being dropped, the end, and an exception close as well.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Collection
from typing import Any

from headrace.errors import HeadraceError, OutOfRangeError
from headrace.feed.reading_ahead import Bookmark, ReadingAhead, Ready
from headrace.feed.stats import FeedStats, own_rank
from headrace.feed.transfer import Transfer
from headrace.frozen import mutable
from headrace.iterator import DatasetIterator, ElementIterator, joint_end_of
from headrace.observe.iterators import ITERATORS
from headrace.observe.stalls import Stall
from headrace.observe.steps import StepMeter
from headrace.plan.node import Node

__all__ = ["FeedIterator", "FeedPosition"]


@mutable
class FeedPosition:
    """Where an iterator stands; its feed knows it too, also when the iterator was dropped."""

    bookmark: Bookmark
    ended: bool = False  # the loop got the end


class FeedIterator(ElementIterator):
    """Delivers the elements of one epoch to a training loop; made by ``iter(feed)``."""

    def __init__(self, plan: Node, transfer: Transfer, buffer_size: int) -> None:
        self._iterator = DatasetIterator(plan, feeds=int(transfer.takes_time and buffer_size > 0), ends_alone=True)
        self._joint = joint_end_of(plan)
        self._transfer = transfer
        self._buffer_size = buffer_size
        self._reader: ReadingAhead | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None
        self.position = FeedPosition(self._iterator.bookmark())
        # A bookmark holds the pipeline, and the feed holds the bookmark: dropped is this iterator, and not the pipeline.
        weakref.finalize(self, self._iterator.close).atexit = False  # the engine closes runs at the interpreter's exit
        self._ended = False
        self._steps = 0
        self._wait_s = 0.0
        self._step = StepMeter(time.perf_counter, transfer.copies_s)
        self._began_s = time.perf_counter()
        self._ended_s: float | None = None
        ITERATORS.begins(self)

    def __next__(self) -> Any:
        try:
            self._iterator.refuse_own_functions()
            self._refuse_others()
            self._is_asked = True  # no call since it was looked at: no thread came between
            try:
                return self._next()
            finally:
                self._is_asked = False
        except (StopIteration, HeadraceError):
            raise
        except BaseException:
            self.close()  # Ctrl-C, or a fault of the transfer's own: nothing can go on from here
            raise

    def _next(self) -> Any:
        if self._ended:
            raise StopIteration
        start = time.perf_counter()
        try:
            item = self._take()
        except HeadraceError:
            if self._joint is not None:
                self._joint.goes_on(has_step=False)
            self.close()  # no element's failure: those are items
            raise
        if self._joint is not None and not self._joint.goes_on(
            has_step=item is not None, own_steps=self._iterator.own_steps
        ):
            item = None
        if item is None:
            self.position.ended = True
            self._step.ends(start)
            self.close()
            raise StopIteration
        element = None
        if item.error is None:
            element = self._transfer.finish(item.begun)
            now_s = time.perf_counter()
            self._wait_s += now_s - start
            self._step.has(now_s, now_s - start, 1)
            self._steps += 1
        self.position.bookmark = item.bookmark  # no call from here on: Ctrl-C comes before it is delivered, or after
        if item.error is not None:
            raise item.error
        return element

    def _take(self) -> Ready | None:
        if self._transfer.takes_time and self._buffer_size:
            try:
                return self._running().take()
            except OutOfRangeError:
                return None
        try:
            begun, error = self._transfer.begin(next(self._iterator)), None
        except StopIteration:
            return None
        except HeadraceError as failed:
            begun, error = None, failed
        return Ready(begun, error, self._iterator.bookmark())

    def _running(self) -> ReadingAhead:
        if self._reader is None:
            self._reader = ReadingAhead(self._iterator, self._transfer, self._buffer_size)
            self._finalizer = weakref.finalize(self, self._reader.stop)
            self._finalizer.atexit = False  # the engine's exit waits for the thread, but not for ever
            self._reader.begin()
        return self._reader

    def state_dict(self) -> dict[str, Any]:
        """Returns where the training loop stands, as plain data: what is ready on the device does not count."""
        return self.position.bookmark()

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continues where the iterator that gave the state stood; of this dataset, fed to any framework or to none.

        Args:
            state: what ``state_dict`` returned.
            allow: what of the plan may have changed on purpose, as in ``load_state_dict`` of a dataset's iterator.

        Raises:
            InvalidArgumentError: the state is of another plan, of another version, or damaged.
            FailedPreconditionError: another thread is taking an element, or a function of the dataset's asks.
        """
        self._iterator.refuse_own_functions()
        self._refuse_others()
        self._stop()
        self._iterator.load_state_dict(state, allow=allow)
        self.position.bookmark, self.position.ended = self._iterator.bookmark(), False
        self._ended, self._ended_s = False, None
        if self._joint is not None:
            self._joint.begin()

    def stats(self) -> FeedStats:
        """Returns what steps waited, what copies took, what steps computed, and what the pipeline did."""
        now_s = time.perf_counter() if self._ended_s is None else self._ended_s
        return FeedStats(
            rank=own_rank(),
            steps=self._steps,
            wait_s=self._wait_s,
            elapsed_s=now_s - self._began_s,
            step=self._step.stats(now_s),
            waits_s=self._step.waits_s,
            copies_s=self._step.copies_s,
            computes_s=self._step.computes_s,
            pipeline=self._iterator.stats(),
        )

    @property
    def copies_beside(self) -> bool:
        """Whether elements are copied while the step before computes."""
        return self._transfer.takes_time and self._buffer_size > 0

    @property
    def pipeline(self) -> DatasetIterator:
        """The run whose elements it gives."""
        return self._iterator

    def stalls(self) -> tuple[Stall, ...]:
        """Returns what holds the pipeline at this moment, as ``DatasetIterator.stalls``."""
        return self._iterator.stalls()

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return not self._ended

    def close(self) -> None:
        """Ends the run: the threads are joined. The state stays as it was."""
        was_open, self._ended = self.is_open, True
        self._ended_s = self._ended_s or time.perf_counter()
        self._stop()
        self._iterator.close()
        if was_open:
            ITERATORS.ends(self)

    def _stop(self) -> None:
        if self._reader is not None:
            self._reader.stop()
        if self._finalizer is not None:  # only now: Ctrl-C may have come before
            self._finalizer.detach()
        self._reader = self._finalizer = None
