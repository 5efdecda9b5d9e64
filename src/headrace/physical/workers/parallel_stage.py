"""A map whose function runs in the pipeline's workers.

Its driver keeps a window of tasks in flight, each a block of a few milliseconds of work, and hands their
results on in the order of the input, or as they come where order does not matter. Only the driver waits: a task
puts its result into a channel that always has room for it, so workers never wait for anyone.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.errors import DeadlineExceededError
from headrace.frozen import mutable
from headrace.observe.frames import since, waits
from headrace.observe.meter import Gauge, Meter
from headrace.observe.recorder import Recorder
from headrace.physical.budget import Ahead
from headrace.physical.stage import Item, Pace, Stage
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.ready_order import FIRST_READY, ReadyOrder
from headrace.physical.workers.tuned_calls import TunedCalls
from headrace.physical.workers.unordered_delivery import UnorderedDelivery
from headrace.queues.channel import EMPTY, Channel

__all__ = ["ParallelStage", "TaskPaces"]

# A task wakes two threads, each of which waits for Python's lock and finds a cold cache: a third of a millisecond of work
# beside one, on two cores (docs/decisions/0053).
_TASK_S: Final = 8e-3
# One that another process does costs twice as much beside its work: what it is made of goes there, and what is made comes back.
_TASK_ELSEWHERE_S: Final = 2 * _TASK_S
# Elements that take longer to come than a task takes are handed on as they come: one read waits no longer than four tasks.
_READ_S: Final = 4 * _TASK_S
# A part of a read that is short beside it: what is made within that is not worth a read more.
_MOMENT: Final = 16
# A task that only tries how many should run at once is this part of another.
_SHORT: Final = 4


class TaskPaces:
    """How much is read and made at once, for all stages that an operation becomes in a run: each goes on where one was.

    Attributes:
        making: how much a task is.
        reading: how much is read at most for one.
    """

    __slots__ = ("making", "reading")

    def __init__(self, pace: Callable[..., Pace] = Pace) -> None:
        self.making = pace(target_s=_TASK_S)
        self.reading = pace(target_s=_READ_S)


@mutable
class _Task:
    """One block on its way through the workers."""

    start: int  # the index of its first element among all that the stage has read
    elements: int
    nbytes: int  # of what was made of it
    expected_bytes: int = 0  # of its input, and of what will be made of it
    start_s: float = 0.0  # when a worker began with it
    seconds: float = 0.0
    cpu_s: float = 0.0  # of these, with a processor
    placing_s: float = 0.0  # of that, to copy what was made into its batch
    made: list[BlockOrFailure] | None = None  # reversed: the next one is last; written by the worker
    # What is left of it to be handed on; None until the driver has heard of it.
    pieces: list[BlockOrFailure] | None = None


def _elements_of(item: BlockOrFailure) -> int:
    return len(item) if isinstance(item, Block) else 1


class ParallelStage(Stage):
    """What ``make`` makes of blocks, in workers: one or several maps in a row, or batches.

    What always holds: at most ``window`` tasks are in flight or wait to be handed on, and what they hold, their inputs and
    what is expected of those that run included, is within the stage's share of the budget, or is one task. Only the driver changes what the stage knows: what a worker has made
    counts from when the driver has taken it out of the channel, and until then its task is running.

    Without ``map_index`` results keep the order of the input; else it is by which index a state knows the map whose results came.
    """

    works_in_pull = False

    def __init__(
        self,
        make: Callable[[Block], Sequence[BlockOrFailure]],
        input_stage: Stage,
        meter: Meter,
        *,
        gate: Gate,
        map_index: int | None = None,
        ahead: Ahead,
        paces: TaskPaces | None = None,
        ready_order: ReadyOrder = FIRST_READY,
        memory: BatchMemory | None = None,
        tuner: TunedCalls | None = None,
        owns_input: bool = False,
        is_elsewhere: bool = False,
    ) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        meter.calls = gate.calls
        self._make = make
        self._memory = memory
        self._tuner = tuner
        self._owns_input = owns_input
        self._copies = 2 if is_elsewhere else 1  # of what is on its way
        self._gate = gate
        self._ahead = ahead
        # A block must not take more than its part of the bytes that the window may hold.
        paces = paces or TaskPaces()
        self._pace, self._reading = paces.making, paces.reading
        if is_elsewhere:
            self._pace.target_s = _TASK_ELSEWHERE_S
        self._pace.bytes_limit = self._most_bytes_a_block()
        self._read_s = 0.0  # how long the latest read took
        self._reads_slowly = False  # so that reading, and not the work, is what the next result waits for
        self._tasks: deque[_Task] = deque()  # in the order of the input
        self._ready = Gauge(meter)
        self._all_done_s = 0.0  # when the task ended that ended last
        # Without a bound of its own: the window bounds what is under way.
        self._done: Channel[_Task] = Channel(capacity=sys.maxsize, name=meter.name)
        self._running = 0
        self._held_bytes = 0
        self._read_elements = 0
        self._ended = False
        self._closed = False
        self.reads_on = True  # False: only what it has read, and what its own input has, is made and given
        self._ready_order = ready_order
        self._delivery = None if map_index is None else UnorderedDelivery(input_stage.cursor, map_index)

    @property
    def _window(self) -> int:
        """How many tasks may be in flight or wait to be handed on: two a worker, so that the next is ready while one runs."""
        if self._tuner is not None:
            return self._tuner.workers.window
        return 2 * self._gate.calls if self._gate.calls > 1 else 1

    def _pull(self, limit: int) -> Item:
        self._collect()
        self._count_idle()
        while (task := self._deliverable()) is None:
            self._fill()
            if not self._tasks:
                assert self._ended or not self._reads()  # where nothing runs, there is always room for one more
                return None
            if self._deliverable() is None and self._running:
                self._wait()
            self._collect()
        return self._delivered(task, limit)

    def _count_idle(self) -> None:
        """Counts how long workers had nothing to do because nobody took what was ready."""
        if self._tasks and not self._running and not self._ended:
            idle_s = time.perf_counter() - max(self._pull_end_s, self._all_done_s)
            self.meter.count(room_wait_s=max(0.0, idle_s))

    def _deliverable(self) -> _Task | None:
        """Returns the task whose pieces come next, if they are there; drops tasks without pieces on the way."""
        while self._tasks and self._tasks[0].pieces is not None and not self._tasks[0].pieces:
            self._finish(self._tasks[0])
        if self._delivery is None:
            head = self._tasks[0] if self._tasks else None
            return head if head is not None and head.pieces is not None else None
        return self._ready_order.next_of(task for task in self._tasks if task.pieces)

    def _delivered(self, task: _Task, limit: int) -> Item:
        if not self._reads_slowly:  # else what is ready would wait for what is not there yet
            self._fill()
        assert task.pieces  # _deliverable has looked
        piece = task.pieces.pop()
        if isinstance(piece, Block) and len(piece) > limit:
            task.pieces.append(piece.slice(limit, len(piece)))
            piece = piece.slice(0, limit)
        if not task.pieces:
            self._finish(task)
            if Recorder.active is not None:
                Recorder.active.takes((id(self), task.start), time.perf_counter())
        self._show_ready()
        if self._delivery is None:
            return piece
        left = sum(_elements_of(one) for one in (piece, *task.pieces))
        return self._delivery.placed(piece, task.start + task.elements - left)

    def _show_ready(self) -> None:
        """Shows what is ready; a task of which some was taken weighs as before."""
        ready = [task for task in self._tasks if task.pieces]
        self._ready.set(
            sum(sum(map(_elements_of, task.pieces or ())) for task in ready), sum(task.nbytes for task in ready)
        )

    def _finish(self, task: _Task) -> None:
        self._tasks.remove(task)
        self._hold(-task.nbytes)

    def _fill(self) -> None:
        """Gives the workers what the window has room for."""
        while self._is_open:
            item = self._timed_read()
            if item is None:
                self._ended = True
                break
            self._take_in(item)
            if self._reads_slowly and self._is_ready_shortly():
                break

    @property
    def reads_no_more(self) -> bool:
        """Whether workers have all that there is."""
        return self._ended

    def read_ahead(self) -> bool:
        """Gives the workers one task more, unless its input has to wait for workers itself."""
        if not super().read_ahead() and self._is_open:
            item = self._timed_read()
            if item is None:
                self._ended = True
            else:
                self._take_in(item)
        return True

    @property
    def _is_open(self) -> bool:
        """Whether there is more to be read, and room for it."""
        return self._reads() and not self._ended and len(self._tasks) < self._window and self._has_room()

    def _reads(self) -> bool:
        return self.reads_on or (self._owns_input and self.inputs[0].holds_elements)

    def _timed_read(self) -> Item:
        start = time.perf_counter()
        item = self._read(self.inputs[0], self._size())
        if item is not None:
            elements = _elements_of(item)
            self._read_s = time.perf_counter() - start
            self._reading.observe(elements, self._read_s, 0)
            # By a factor of two: where the work is as slow, its workers are to have enough ready.
            self._reads_slowly = self._read_s > max(_TASK_S, 2 * elements * self._pace.element_s / self._gate.calls)
        return item

    @waits
    def _is_ready_shortly(self) -> bool:
        """Returns whether something can be handed on, now or within a moment that is short beside the next read."""
        self._collect()
        moment_s = self._read_s / _MOMENT
        if (
            self._deliverable() is None
            and self._running
            and self._tasks[-1].elements * self._pace.element_s <= moment_s
        ):
            with contextlib.suppress(DeadlineExceededError):
                self._account(self._done.get(timeout_s=moment_s))
        return self._deliverable() is not None

    def _size(self) -> int:
        if not self.reads_on:
            return 1  # what completes a batch that is begun, and no more
        short = self._tuner is not None and self._tuner.is_trying and not self._tuner.is_heavy
        if short:
            return min(self._reading.size, max(1, self._pace.size // _SHORT))
        size = min(self._reading.size, self._pace.size)
        if self._memory is None:
            return size
        each_bytes = self._pace.element_nbytes
        most = min(self._reading.size, self._pace.bytes_limit // max(1, each_bytes))
        return self._memory.count_to_end(self._read_elements, size, most, each_bytes)

    def _most_bytes_a_block(self) -> int:
        return max(1, self._ahead.share_bytes // (2 * self._window))

    def _has_room(self) -> bool:
        return not self._tasks or self._held_bytes + self._tasks[-1].expected_bytes <= self._ahead.share_bytes

    def _hold(self, nbytes: int) -> None:
        """Counts so many bytes more or less that tasks hold."""
        self._held_bytes += nbytes
        self._ahead.add(nbytes)

    def _is_short(self) -> bool:
        """Returns whether a worker has nothing to do because there is no memory for what it would make."""
        has_place = self._running < self._gate.calls and len(self._tasks) < self._window
        return has_place and self._reads() and not self._ended and not self._has_room()

    def _take_in(self, item: Block | Failure) -> None:
        elements = _elements_of(item)
        task = _Task(self._read_elements, elements, 0)
        self._read_elements += elements
        if self._delivery is not None:
            self._delivery.read(task.start, item)
        self._tasks.append(task)
        if isinstance(item, Failure):
            task.pieces = [item]
            return
        self._running += 1
        task.expected_bytes = self._copies * (item.payload.nbytes + elements * self._pace.element_nbytes)
        self._hold(task.expected_bytes)
        self._gate.submit(functools.partial(self._work, task, item))

    def _work(self, task: _Task, block: Block) -> None:
        """Makes the pieces of a block, in a worker."""
        if self._closed:
            return
        try:
            self._make_all(task, block)
        except BaseException as error:  # noqa: BLE001 - what is not the user's Exception must still end the run, not a worker
            # Where the run is stopped nobody asks why; an error that this stage holds would keep its own frames, and their arrays.
            if not self._done.is_closed:
                self._done.fail(error)
            return
        self._done.put_nowait(task)

    @since("start")
    def _make_all(self, task: _Task, block: Block) -> None:
        start, start_cpu_s = time.perf_counter(), time.thread_time()
        pieces = self._make(block)
        if self._memory is not None:
            made_cpu_s = time.thread_time()
            pieces = self._memory.place(task.start, pieces)
            task.placing_s = time.thread_time() - made_cpu_s
        task.nbytes = sum(piece.payload.nbytes for piece in pieces if isinstance(piece, Block))
        task.start_s, task.seconds = start, time.perf_counter() - start
        task.cpu_s = time.thread_time() - start_cpu_s
        task.made = list(reversed(pieces))
        if (trace := Recorder.active) is not None:
            trace.did(self.meter.name, start, start + task.seconds, task.elements)
            trace.gives((id(self), task.start), start + task.seconds)

    def _collect(self) -> None:
        while (task := self._done.get_nowait()) is not EMPTY:
            self._account(task)
        while self._running and self._ready_order.waits_for_all:
            self._wait()

    @waits
    def _wait(self) -> None:
        is_short = self._is_short()
        is_starved = self._running < self._gate.calls and len(self._tasks) >= self._window
        start = time.perf_counter()
        task = self._done.get()
        seconds = time.perf_counter() - start
        self.waited(seconds)
        if is_short:
            self.meter.count_short(seconds)
        if self._tuner is not None:
            self._tuner.workers.waited(seconds, is_starved=is_starved)
        self._account(task)

    def _account(self, task: _Task) -> None:
        task.pieces, task.made = task.made, None
        self._running -= 1
        self._hold(task.nbytes - task.expected_bytes)
        self.meter.count(served=sum(map(_elements_of, task.pieces or ())), busy_s=task.seconds)
        self.meter.count_cpu(task.cpu_s, task.seconds)
        self._all_done_s = max(self._all_done_s, task.start_s + task.seconds)
        self._pace.bytes_limit = self._most_bytes_a_block()
        self._pace.observe(task.elements, task.seconds, task.nbytes)
        self.meter.element_nbytes = self._pace.element_nbytes
        if self._tuner is not None:
            self._tuner.made(task.elements, task.start_s, task.seconds, task.cpu_s, task.placing_s)
            self.meter.calls = self._gate.calls

    def stop(self) -> None:
        self._done.close(cancel_pending_enqueues=True)
        super().stop()

    def _holds_elements(self) -> bool:
        return bool(self._tasks) or (self._owns_input and self.inputs[0].holds_elements)

    def let_go(self) -> None:
        """Gives back what it holds, where another stage goes on with its input."""
        self._closed = True  # tasks that did not begin yet need not
        self._tasks.clear()
        while len(self._done):  # what was made and never collected
            self._done.get_nowait()
        self._ready.set(0, 0)
        if self._memory is not None:
            self._memory.close()
        self._ahead.release()

    def close(self) -> None:
        self.let_go()
        super().close()
