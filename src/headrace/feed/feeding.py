"""A dataset's elements made a framework's, for a training loop.

A ``Transfer`` knows the framework: ``begin`` starts to bring an element to the device, ``finish`` hands it over in the
loop's own thread. Where bringing takes time, a thread of the feed begins the next elements while the loop computes, up
to ``buffer_size`` of them; where it takes none, the loop's thread does it all.

What always holds.
- The state counts what the loop got, whatever is ready: each element has a bookmark of the position after it.
- An element's error comes in its place, and the next call goes on after it.
- Where the ranks of a job end together, they tell each other in the loop's own thread.
- ``close`` joins the thread and closes the pipeline; being dropped, the end, and an exception close as well.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import weakref
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Any, Never, Protocol, Self

from headrace.elements.structure import Element, nbytes_of
from headrace.errors import CancelledError, HeadraceError, OutOfRangeError
from headrace.feed.stats import FeedStats, own_rank
from headrace.frozen import frozen
from headrace.iterator import DatasetIterator, joint_end_of
from headrace.iterator.forked import forked, is_left_to_parent
from headrace.observe.iterators import ITERATORS
from headrace.observe.stalls import Stall
from headrace.observe.steps import StepMeter
from headrace.physical.budget import Ahead
from headrace.plan.buffering import WithOptions
from headrace.plan.node import INFINITE_CARDINALITY, Node
from headrace.plan.options import Options
from headrace.queues.channel import Channel
from headrace.semantics.dataloader_workers import warn_of_whole_copies

__all__ = ["Feed", "FeedIterator", "Transfer"]

Bookmark = Callable[[], dict[str, Any]]


class Transfer(Protocol):
    """How elements become a framework's."""

    @property
    def takes_time(self) -> bool:
        """Whether a thread of its own pays: there is a device to copy to."""
        ...

    def begin(self, element: Element) -> Any:
        """Starts to bring an element over; called in the feed's thread."""
        ...

    def finish(self, begun: Any) -> Any:
        """Returns the element, safe to use for what the calling thread does next."""
        ...

    def copies_s(self) -> list[float]:
        """Returns how long the copies took that have ended since the last call, in seconds."""
        ...


@dataclasses.dataclass(slots=True)
class _FeedPosition:
    """Where an iterator stands; its feed knows it too, also when the iterator was dropped."""

    bookmark: Bookmark
    ended: bool = False  # the loop got the end


class Feed:
    """A dataset as a framework's arrays; each ``iter`` is a new epoch.

    It has a state by the names that PyTorch's ``StatefulDataLoader`` has, where trainers look for one.

    Args:
        plan: the dataset's plan.
        transfer: makes the transfer of one epoch.
        buffer_size: how many elements may be ready on the device.
    """

    def __init__(self, plan: Node, transfer: Callable[[], Transfer], buffer_size: int) -> None:
        self._plan = plan
        self._transfer = transfer
        self._buffer_size = buffer_size
        self._position: _FeedPosition | None = None
        self._waiting: FeedIterator | None = None  # what the next iter gives

    def __iter__(self) -> FeedIterator:
        warn_of_whole_copies(self, self._plan)
        iterator = self._new() if self._waiting is None else self._waiting
        self._waiting, self._position = None, iterator.position
        return iterator

    def _new(self) -> FeedIterator:
        return FeedIterator(self._plan_here(), self._new_transfer(), self._buffer_size)

    def _new_transfer(self) -> Any:
        return self._transfer()

    def _plan_here(self) -> Node:
        return self._plan

    def __getstate__(self) -> dict[str, Any]:
        waiting = None if self._waiting is None else self.state_dict()
        return vars(self) | {"_position": None, "_waiting": waiting}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"_waiting": None})
        if state["_waiting"] is not None:
            Feed.load_state_dict(self, state["_waiting"])

    @property
    def dataset(self) -> Never:
        """Missing on purpose: some libraries use that of a DataLoader to skip what was seen before."""
        raise AttributeError(
            "a feed is no DataLoader, and has no 'dataset'; to go on where it stood, keep its state_dict(), and give it to "
            "load_state_dict: then no element is read again to be skipped (Accelerate: register_for_checkpointing(feed))"
        )

    def state_dict(self) -> dict[str, Any]:
        """Returns where the iterator stands that was made last, as plain data; the start of an epoch, where none was made.

        Example:
            >>> import headrace as hr
            >>> feed = hr.Dataset.range(3).to_torch()
            >>> first = next(iter(feed))
            >>> again = hr.Dataset.range(3).to_torch()
            >>> again.load_state_dict(feed.state_dict())
            >>> [int(x) for x in again], [int(x) for x in again]
            ([1, 2], [0, 1, 2])
        """
        if self._position is None:
            self._waiting = self._new()
            self._position = self._waiting.position
        return {"iterator": self._position.bookmark(), "ended": self._position.ended}

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Makes the next ``iter`` continue where the feed stood; where an epoch had ended, it is the next epoch.

        Args:
            state: what ``state_dict`` of a feed returned, or that of an iterator; of this dataset, fed to any framework.
            allow: what of the plan may have changed on purpose, as in ``load_state_dict`` of a dataset's iterator.

        Raises:
            InvalidArgumentError: the state is of another plan, of another version, or damaged. The feed is then as it was.
        """
        whole = "iterator" in (state or ()) and isinstance(state.get("ended"), bool)
        iterator = self._new()
        iterator.load_state_dict(state["iterator"] if whole else state, allow=allow)
        iterator.position.ended = whole and state["ended"]
        self._position = iterator.position
        self._waiting = None if iterator.position.ended else iterator

    def with_options(self, options: Options) -> Feed:
        """Returns the same feed of the same elements, run as the options say: see ``Dataset.with_options``."""
        return type(self)(WithOptions(input=self._plan, options=options), self._transfer, self._buffer_size)

    def cardinality(self) -> int:
        """Returns how many elements an epoch has; ``INFINITE_CARDINALITY`` or ``UNKNOWN_CARDINALITY`` otherwise."""
        return self._plan.cardinality()

    def __len__(self) -> int:
        count = self._plan.cardinality()
        if count < 0:
            raise TypeError(f"the number of elements is {'infinite' if count == INFINITE_CARDINALITY else 'unknown'}")
        return count

    def __bool__(self) -> bool:
        return True  # not len(): it is true even when it is empty or endless


@frozen
class _Ready:
    """What was begun, or the error in its place, and the position after it."""

    begun: Any
    error: HeadraceError | None
    bookmark: Bookmark
    nbytes: int = 0


class _Reader:
    """Reads a pipeline ahead in a thread. It knows nothing of the feed's iterator, so that one can be dropped.

    It is made first and begun afterwards, so that its maker can stop it whatever happens between.
    """

    def __init__(self, iterator: DatasetIterator, transfer: Transfer, buffer_size: int) -> None:
        self._iterator = iterator
        self._transfer = transfer
        self.ready: Channel[_Ready] = Channel(capacity=buffer_size, name="feed")
        self._held: Ahead | None = None  # once there is a run
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="headrace-feed", daemon=True)

    def begin(self) -> None:
        """Starts the thread."""
        is_left_to_parent(self)
        self._thread.start()

    def take(self) -> _Ready:
        """Returns what is ready next, when there is something.

        Raises:
            OutOfRangeError: there is nothing any more.
        """
        item = self.ready.get()
        if self._held is not None:
            self._held.add(-item.nbytes)
        return item

    def leave_to_parent(self) -> None:
        """Has nothing ready any more, in a process that is a copy of its own."""
        self.ready = Channel(
            capacity=1, name="feed"
        )  # a thread of the other process may have held the lock of the old one
        self.ready.fail(forked())

    def _work(self) -> None:
        try:
            while not self._stopped and (item := self._next()) is not None:
                if self._held is None:
                    self._held = self._iterator.ahead()
                self._held.add(item.nbytes)
                self.ready.bound_bytes(max(1, self._held.share_bytes - item.nbytes))  # the next waits here meanwhile
                self.ready.put(item, nbytes=item.nbytes)
            self.ready.close()
        except CancelledError:
            pass  # stop() closed the channel
        except BaseException as error:  # noqa: BLE001 - whatever ended the pipeline, the loop must hear of it
            self.ready.fail(error)

    def _next(self) -> _Ready | None:
        try:
            element = next(self._iterator)
            begun, error, nbytes = self._transfer.begin(element), None, nbytes_of(element)
        except StopIteration:
            return None
        except HeadraceError as failed:
            begun, error, nbytes = None, failed.with_traceback(None), 0
        return _Ready(begun, error, self._iterator.bookmark(), nbytes)

    def stop(self) -> None:
        """Ends the thread, and waits for it; may be called again, where Ctrl-C cut it short."""
        self._stopped = True
        self.ready.close(cancel_pending_enqueues=True)
        self._iterator.close()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()


class FeedIterator:
    """Delivers the elements of one epoch to a training loop; made by ``iter(feed)``."""

    def __init__(self, plan: Node, transfer: Transfer, buffer_size: int) -> None:
        self._iterator = DatasetIterator(plan, feeds=int(transfer.takes_time and buffer_size > 0), ends_alone=True)
        self._joint = joint_end_of(plan)
        self._transfer = transfer
        self._buffer_size = buffer_size
        self._reader: _Reader | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None
        self.position = _FeedPosition(self._iterator.bookmark())
        # A bookmark holds the pipeline, and the feed holds the bookmark: dropped is this iterator, and not the pipeline.
        weakref.finalize(self, self._iterator.close).atexit = False  # the engine closes runs at the interpreter's exit
        self._ended = False
        self._steps = 0
        self._wait_s = 0.0
        self._step = StepMeter(time.perf_counter, transfer.copies_s)
        self._began_s = time.perf_counter()
        self._ended_s: float | None = None
        ITERATORS.begins(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            return self._next()
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

    def _take(self) -> _Ready | None:
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
        return _Ready(begun, error, self._iterator.bookmark())

    def _running(self) -> _Reader:
        if self._reader is None:
            self._reader = _Reader(self._iterator, self._transfer, self._buffer_size)
            self._finalizer = weakref.finalize(self, self._reader.stop)
            self._reader.begin()
        return self._reader

    def get_next(self) -> Any:
        """Returns the next element.

        Raises:
            OutOfRangeError: the epoch has ended.
        """
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("the dataset has no more elements") from None

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
        """
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
