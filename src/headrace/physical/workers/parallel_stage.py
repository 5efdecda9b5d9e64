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
from collections.abc import Callable, Sequence
from typing import Final

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.errors import DeadlineExceededError
from headrace.observe.frames import since, waits
from headrace.observe.meter import Gauge, Meter
from headrace.observe.recorder import Recorder
from headrace.physical.budget import Ahead
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.ready_order import FIRST_READY, ReadyOrder
from headrace.physical.workers.task_paces import TASK_S, TaskPaces
from headrace.physical.workers.task_window import Task, TaskWindow, count_of
from headrace.physical.workers.tuned_calls import TunedCalls
from headrace.physical.workers.unordered_delivery import UnorderedDelivery
from headrace.queues.channel import EMPTY, Channel

__all__ = ["ParallelStage"]

# A part of a read that is short beside it: what is made within that is not worth a read more.
_MOMENT: Final = 16
# Of a whole task, what one is at least that is smaller only because the end is near.
_LAST: Final = 4
# A task that only tries how many should run at once is this part of another.
_SHORT: Final = 4


class _Reads:
    """How long reads of the input take.

    Attributes:
        latest_s: how long the latest one took.
        are_slow: whether reading, and not the work, is what the next result waits for.
    """

    __slots__ = ("are_slow", "latest_s", "pace")

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.latest_s = 0.0
        self.are_slow = False

    def observe(self, elements: int, seconds: float, work_s: float) -> None:
        """Learns from a read of some elements, which ``work_s`` of work is done with."""
        self.latest_s = seconds
        self.pace.observe(elements, seconds, 0)
        # By a factor of two: where the work is as slow, its workers are to have enough ready.
        self.are_slow = seconds > max(TASK_S, 2 * work_s)


class ParallelStage(Stage):
    """What ``make`` makes of blocks, in workers: one or several maps in a row, or batches.

    What always holds: there are at most so many tasks as the workers need to be busy, and what they hold is within the stage's share of
    the budget, or is one task. Only the driver changes what the stage knows.

    Without ``map_index`` results keep the order of the input; else it is by which index a state knows the map whose results came.
    With ``count`` the input has so many elements at most.
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
        count: int | None = None,
    ) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        meter.calls = gate.calls
        self._make = make
        self._memory = memory
        self._tuner = tuner
        self._owns_input = owns_input
        self._gate = gate
        self._ahead = ahead
        # A block must not take more than its part of the bytes that the window may hold.
        paces = paces or TaskPaces()
        self._pace, self._reads = paces.making, _Reads(paces.reading)
        self._lengthen = functools.partial(paces.lengthen, elsewhere=is_elsewhere)
        self._pace.bytes_limit = self._most_bytes_a_block()
        self._lengthen(0.0, gate.calls)
        self._window = TaskWindow(ahead, copies=2 if is_elsewhere else 1)  # in a process there is one more
        self._ready = Gauge(meter)
        # Without a bound of its own: the window bounds what is under way.
        self._done: Channel[Task] = Channel(capacity=sys.maxsize, name=meter.name)
        self._read_elements = 0
        self._count = count
        self._ended = False
        self._closed = False
        self.reads_on = True  # False: only what it has read, and what its own input has, is made and given
        self._ready_order = ready_order
        self._delivery = None if map_index is None else UnorderedDelivery(input_stage.cursor, map_index)

    @property
    def _most_tasks(self) -> int:
        """How many tasks may be in flight or wait to be handed on: two a worker, so that the next is ready while one runs."""
        if self._tuner is not None:
            return self._tuner.workers.window
        return 2 * self._gate.calls if self._gate.calls > 1 else 1

    def _pull(self, limit: int) -> Item:
        self._collect()
        self._count_idle()
        while (task := self._deliverable()) is None:
            self._fill()
            if not self._window:
                assert self._ended or not self._may_read()  # where nothing runs, there is always room for one more
                return None
            if self._deliverable() is None and self._window.running:
                self._wait()
            self._collect()
        return self._delivered(task, limit)

    def _count_idle(self) -> None:
        """Counts how long workers had nothing to do because nobody took what was ready."""
        window = self._window
        if window and not window.running and not self._ended:
            idle_s = time.perf_counter() - max(self._pull_end_s, window.last_end_s)
            self.meter.count(room_wait_s=max(0.0, idle_s))

    def _deliverable(self) -> Task | None:
        """Returns the task whose pieces come next, if they are there; drops tasks without pieces on the way."""
        tasks = self._window.tasks
        while tasks and tasks[0].pieces is not None and not tasks[0].pieces:
            self._window.drop(tasks[0])
        if self._delivery is None:
            head = tasks[0] if tasks else None
            return head if head is not None and head.pieces is not None else None
        return self._ready_order.next_of(task for task in tasks if task.pieces)

    def _delivered(self, task: Task, limit: int) -> Item:
        if not self._reads.are_slow:  # else what is ready would wait for what is not there yet
            self._fill()
        assert task.pieces  # _deliverable has looked
        piece = task.pieces.pop()
        if isinstance(piece, Block) and len(piece) > limit:
            task.pieces.append(piece.slice(limit, len(piece)))
            piece = piece.slice(0, limit)
        if not task.pieces:
            self._window.drop(task)
            if Recorder.active is not None:
                Recorder.active.takes((id(self), task.start), time.perf_counter())
        self._show_ready()
        if self._delivery is None:
            return piece
        return self._delivery.placed(piece, task.start + task.elements - task.left - count_of(piece))

    @property
    def made_elements(self) -> int:  # type: ignore[override]  # where nobody makes any it is a number
        """How many elements of the task whose pieces come next are left."""
        tasks = self._window.tasks
        return tasks[0].left if tasks and self._delivery is None else 0

    def _show_ready(self) -> None:
        """Shows what is ready; a task of which some was taken weighs as before."""
        ready = self._window.ready
        self._ready.set(sum(task.left for task in ready), sum(task.nbytes for task in ready))

    def _fill(self) -> None:
        """Gives the workers what the window has room for."""
        while self._is_open:
            item = self._timed_read()
            if item is None:
                self._ended = True
                break
            self._take_in(item)
            if self._reads.are_slow and self._is_ready_shortly():
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
        window = self._window
        return self._may_read() and not self._ended and len(window) < self._most_tasks and window.has_room

    def _may_read(self) -> bool:
        return self.reads_on or (self._owns_input and self.inputs[0].holds_elements)

    def _timed_read(self) -> Item:
        start = time.perf_counter()
        item = self._read(self.inputs[0], self._size())
        if item is not None:
            elements = count_of(item)
            work_s = elements * self._pace.element_s / self._gate.calls
            self._reads.observe(elements, time.perf_counter() - start, work_s)
        return item

    @waits
    def _is_ready_shortly(self) -> bool:
        """Returns whether something can be handed on, now or within a moment that is short beside the next read."""
        self._collect()
        moment_s, window = self._reads.latest_s / _MOMENT, self._window
        if (
            self._deliverable() is None
            and window.running
            and window.tasks[-1].elements * self._pace.element_s <= moment_s
        ):
            with contextlib.suppress(DeadlineExceededError):
                self._account(self._done.get(timeout_s=moment_s))
        return self._deliverable() is not None

    def _size(self) -> int:
        if not self.reads_on:
            return 1  # what completes a batch that is begun, and no more
        short = self._tuner is not None and self._tuner.is_trying and not self._tuner.is_heavy
        most = self._reads.pace.size
        if short:
            return min(most, max(1, self._pace.size // _SHORT))
        size = min(most, self._pace.size, self._part_of_rest())
        if self._memory is None:
            return size
        each_bytes = self._pace.element_nbytes
        most = min(most, self._pace.bytes_limit // max(1, each_bytes))
        return self._memory.count_to_end(self._read_elements, size, most, each_bytes)

    def _part_of_rest(self) -> int:
        """Returns how much a task may be, so that the last ones are shared by all workers: each one's part of what is left."""
        if self._count is None:
            return sys.maxsize
        rest = self._count - self._read_elements
        return max(-(-rest // self._gate.calls), -(-self._pace.size // _LAST), 1)

    def _most_bytes_a_block(self) -> int:
        return max(1, self._ahead.share_bytes // (2 * self._most_tasks))

    def _is_short(self) -> bool:
        """Returns whether a worker has nothing to do because there is no memory for what it would make."""
        window = self._window
        has_place = window.running < self._gate.calls and len(window) < self._most_tasks
        return has_place and self._may_read() and not self._ended and not window.has_room

    def _take_in(self, item: Block | Failure) -> None:
        task = Task(self._read_elements, count_of(item), reading_s=self.inputs[0].part_cpu_s)
        self._read_elements += task.elements
        if self._delivery is not None:
            self._delivery.read(task.start, item)
        self._window.tasks.append(task)
        if isinstance(item, Failure):
            task.pieces = [item]
            return
        self._window.begin(task, item, self._pace.element_nbytes)
        self._gate.submit(functools.partial(self._work, task, item))

    def _work(self, task: Task, block: Block) -> None:
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
        if self._tuner is not None:
            self._tuner.ended()
        self._done.put_nowait(task)

    @since("start")
    def _make_all(self, task: Task, block: Block) -> None:
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
        while self._window.running and self._ready_order.waits_for_all:
            self._wait()

    @waits
    def _wait(self) -> None:
        is_short = self._is_short()
        is_starved = self._window.running < self._gate.calls and len(self._window) >= self._most_tasks
        start = time.perf_counter()
        task = self._done.get() if self._tuner is None else self._tuner.taken(self._done)
        seconds = time.perf_counter() - start
        self.waited(seconds)
        if is_short:
            self.meter.count_short(seconds)
        if self._tuner is not None:
            self._tuner.workers.waited(seconds, is_starved=is_starved)
        if task is not None:
            self._account(task)

    def _account(self, task: Task) -> None:
        self._window.end(task)
        self.meter.count(served=task.left, busy_s=task.seconds)
        self.meter.count_cpu(task.cpu_s, task.seconds)
        self._pace.bytes_limit = self._most_bytes_a_block()
        self._lengthen(task.seconds / self._gate.calls, self._gate.calls)
        self._pace.observe(task.elements, task.seconds, task.nbytes)
        self.meter.element_nbytes = self._pace.element_nbytes
        if self._tuner is not None:
            # What one thread does of the operation beside such tasks, less what it does with workers as well.
            spared_s = task.placing_s - task.reading_s
            self._tuner.made(task.elements, task.start_s, task.seconds, task.cpu_s, spared_s)
            self.meter.calls = self._gate.calls

    def stop(self) -> None:
        self._done.close(cancel_pending_enqueues=True)
        super().stop()

    def _is_spent(self) -> bool:
        return not self._window and (self._ended or self._has_spent_source)

    def _holds_elements(self) -> bool:
        return bool(self._window) or (self._owns_input and self.inputs[0].holds_elements)

    def let_go(self) -> None:
        """Gives back what it holds, where another stage goes on with its input."""
        self._closed = True  # tasks that did not begin yet need not
        self._window.tasks.clear()
        while len(self._done):  # what was made and never collected
            self._done.get_nowait()
        self._ready.set(0, 0)
        if self._memory is not None:
            self._memory.close()
        self._ahead.release()

    def close(self) -> None:
        self.let_go()
        super().close()
