"""A plan that a function made of an element, while it is read: in the thread of the driver, or ahead in workers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor
from headrace.errors import CancelledError
from headrace.observe.frames import since, waits, within
from headrace.observe.meter import Meter
from headrace.physical.budget import Ahead
from headrace.physical.lookahead import Lookahead
from headrace.physical.made import Made, ReadThere, is_small
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.reading_place import LONG_S, ReadingPlace
from headrace.physical.workers.tuned_workers import TunedWorkers
from headrace.plan.quiet import MOST_ELEMENTS
from headrace.queues.channel import EMPTY, Channel
from headrace.semantics.held_bytes import Holding

__all__ = ["OpenPlan", "Opened", "PrefetchingReader", "SubplanReader"]


# What a plan becomes when it is opened: stages, or all of its elements, or what a process reads, or the failure to open it.
Opened = Stage | Made | ReadThere | Failure
# Opens a plan, to read so many elements.
OpenPlan = Callable[[int], Opened]


class SubplanReader(Lookahead):
    """Reads the stage of an inner plan when it is asked; opens it with the first read.

    A failure to open is the one thing that such a reader gives.
    """

    # Whether the plan runs in the thread that peeks, and not in the workers.
    reads_here = True

    def __init__(
        self,
        open_plan: OpenPlan,
        cursor: Cursor | None,
        origin: Callable[[], str],
        holding: Holding | None = None,
    ) -> None:
        super().__init__(holding)
        self._open_plan = open_plan
        self.origin = origin  # of the element that the plan was made of, in words
        self._stage: Opened | None = None
        self._cursor = cursor

    @property
    def cursor(self) -> Cursor | None:
        """The position of the next element; None at the start of a plan that was not opened yet."""
        head = self.head
        return self._cursor if head is None else head.cursor

    @property
    def failed_to_open(self) -> bool:
        """Whether there was no plan to read."""
        return isinstance(self._stage, Failure)

    def is_ready(self) -> bool:
        """Returns whether ``peek`` need not wait."""
        return True

    @property
    def is_read(self) -> bool:
        """Whether all that the plan has was read, if not taken."""
        return self.ended

    @property
    def lies_whole(self) -> bool:
        """Whether all that an open plan still gives is one small block, the head, or nothing."""
        stage = self._stage
        if stage is None or isinstance(stage, Failure) or self._failure is not None or not is_small(self.head):
            return False
        if self.ended:
            return True
        return stage.is_given if isinstance(stage, Made) else isinstance(stage, Stage) and stage.is_spent

    @property
    def _ready_elements(self) -> int:
        """How many elements are read in the plan and were not taken."""
        return 0 if self._stage is None or isinstance(self._stage, Failure) else self._stage.ready_elements

    def peek_ready(self, limit: int) -> None:
        """Peeks, and at all that is ready beside, where that is little: what is left may then lie whole."""
        head, ready = self.peek(limit), self._ready_elements
        if 0 < ready <= MOST_ELEMENTS and isinstance(head, Block) and is_small(head, of=1 + ready / len(head)):
            self.read_more(ready)

    def read_on(self, most: int, is_late: Callable[[], bool]) -> None:
        """Reads on to the end, while there is time and what was read is little, and as much comes as is asked for."""
        while most > 0 and not is_late() and not self.lies_whole and self._failure is None:
            head = self.head
            if not isinstance(head, Block) or not is_small(head, of=2):
                return
            wanted = min(most, len(head))
            if self.read_more(wanted) < wanted:
                return
            most -= wanted

    def finish(self) -> None:
        """Gives back what the stage holds, of which nothing comes any more."""
        if isinstance(self._stage, Stage):
            stage, self._stage = self._stage, Made([])
            stage.close()

    def take(self, count: int) -> Block:
        block = super().take(count)
        self._cursor = block.after
        return block

    def drop_failure(self) -> Failure:
        failure = super().drop_failure()
        self._cursor = failure.after
        return failure

    def _next(self, limit: int) -> Item:
        return self._make(limit)

    @within(lambda at: at["self"].origin())
    def _make(self, limit: int) -> Item:
        """Reads the stage; it is opened where it is read."""
        if self._stage is None:
            self._stage = self._open_plan(limit)
            if isinstance(self._stage, Failure):
                return self._stage
        assert not isinstance(self._stage, Failure)  # which was the only thing that it gave
        return self._stage.pull(limit)

    @property
    def is_under_way(self) -> bool:
        """Whether there is more to read of a plan that was opened."""
        return self._stage is not None and not self.failed_to_open and not self.ended

    def go_on_after(self, other: SubplanReader) -> None:
        """Takes over what another reader has read of a plan, and not given."""
        self._stage = other._stage
        self._block, self._failure, self._cursor = other._block, other._failure, other._cursor

    def opened(self, _: int) -> Opened:
        """Returns what the plan became, for a reader that goes on with it."""
        assert self._stage is not None  # it is under way
        return self._stage

    def stop(self) -> None:
        """Ends every wait; safe from any thread."""
        if self._stage is not None and not isinstance(self._stage, Failure):
            self._stage.stop()

    def close(self) -> None:
        """Gives back what the stage holds."""
        self._holds(0)
        if self._stage is not None and not isinstance(self._stage, Failure):
            self._stage.close()


class _Read(NamedTuple):
    """What a worker has read, how many bytes that has, from when on, in how long, and how long it had a processor of that."""

    item: Item
    nbytes: int
    start_s: float
    seconds: float
    cpu_s: float


class PrefetchingReader(SubplanReader):
    """Reads the stage of an inner plan in the pipeline's workers, up to two blocks ahead.

    One task at a time reads the stage, so the stage itself knows nothing of threads. A task goes on while there is
    room and its time is not spent, so the end of a plan mostly comes with its last block and needs no task of its own.
    """

    reads_here = False
    # Two: one is taken apart while the next is made.
    BLOCKS_AHEAD = 2

    def __init__(
        self,
        open_plan: OpenPlan,
        cursor: Cursor | None,
        origin: Callable[[], str],
        *,
        gate: Gate,
        pace: Pace,
        meter: Meter,
        block_bytes: Callable[[], int],
        ahead: Ahead,
        place: ReadingPlace,
        workers: TunedWorkers | None = None,
    ) -> None:
        super().__init__(open_plan, cursor, origin)
        self._gate = gate
        self._pace = pace
        self._meter = meter
        self._block_bytes = block_bytes
        self._ahead = ahead
        self._made_bytes = self._taken_bytes = self._head_bytes = 0  # each is changed by one thread
        self._place = place
        self._workers = workers
        self._spent_s = 0.0
        self._made: Channel[_Read] = Channel(capacity=self.BLOCKS_AHEAD, name="interleave")
        self._has_task = False
        self._all_made = False
        self._closed = False
        # Held for a moment, to decide whether a task goes on or another is needed.
        self._turn = threading.Lock()
        # Held while the stage is read or closed. Reentrant, because a garbage collection inside a user's function
        # may close the very pipeline that calls it.
        self._reading = threading.RLock()
        self._request()

    def _request(self) -> None:
        with self._turn:
            if self._has_task or self._all_made:
                return
            self._has_task = True
        self._gate.submit(self._work)

    def _work(self) -> None:
        """Makes items, in a worker, while there is room, or until another task should have a turn."""
        begin = time.perf_counter()
        try:
            with self._reading:
                while self._goes_on():
                    self._make_one()
                    # What is read already is handed on: it would wait behind all that others are to read.
                    if time.perf_counter() - begin > self._pace.target_s and not self._ready_elements:
                        break
                else:
                    return
        except BaseException as error:  # noqa: BLE001 - what is not the user's Exception must still end the run, not a worker
            self._made.fail(error)
            return
        self._gate.submit(self._work)

    def _goes_on(self) -> bool:
        with self._turn:
            made = len(self._made)
            is_full = made == self.BLOCKS_AHEAD or (made > 0 and self._ahead.is_full)
            is_over = self._closed or self._all_made or self._made.is_closed
            self._has_task = not (is_over or is_full)
            return self._has_task

    @since("start")
    def _make_one(self) -> None:
        start, start_cpu_s = time.perf_counter(), time.thread_time()
        # What is ready in the plan is taken at once: a file is parsed by the megabyte, however little was asked for.
        item = self._make(max(self._pace.size, self._ready_elements))
        has_failed = isinstance(item, Failure) and (item.is_last or isinstance(self._stage, Failure))
        self._all_made = item is None or has_failed
        end = time.perf_counter()
        seconds = end - start
        cpu_s = time.thread_time() - start_cpu_s
        self._place.read(start, end, cpu_s, time.process_time())
        before_s, self._spent_s = self._spent_s, self._spent_s + seconds
        if self._all_made or before_s <= LONG_S < self._spent_s:
            self._place.took(self._spent_s)
        nbytes = item.payload.nbytes if isinstance(item, Block) else 0
        self._made_bytes += nbytes
        self._ahead.add(nbytes)
        # Once it is closed nobody takes anything: an error that said so would be kept, with what is in hand here.
        with contextlib.suppress(CancelledError):
            self._made.put_nowait(_Read(item, nbytes, start, seconds, cpu_s))

    def is_ready(self) -> bool:
        return self.head is not None or self.ended or len(self._made) > 0

    @property
    def lies_whole(self) -> bool:
        return False  # what was made may lie in the channel

    @property
    def is_read(self) -> bool:
        return self._all_made

    @waits
    def _next(self, limit: int) -> Item:
        made = self._made.get_nowait()
        if made is EMPTY:
            start = time.perf_counter()
            made = self._made.get()
            if self._workers is not None:
                self._workers.waited(time.perf_counter() - start)
        item, nbytes, start_s, seconds, cpu_s = made
        if self._workers is not None and item is not None:
            self._workers.made(len(item) if isinstance(item, Block) else 1, start_s, seconds, cpu_s)
            self._meter.calls = self._workers.calls
        self._meter.count(served=len(item) if isinstance(item, Block) else int(item is not None), busy_s=seconds)
        if isinstance(self._stage, Stage | Made):  # and no other process's, whose processor is its own
            self._meter.count_cpu(cpu_s, seconds)
        self._ahead.add(-self._head_bytes)  # the block that was taken apart before
        self._head_bytes = nbytes
        self._taken_bytes += nbytes
        if isinstance(item, Block):
            self._pace.bytes_limit = self._block_bytes()
            self._pace.observe(len(item), seconds, nbytes)
        self._request()
        return item

    def stop(self) -> None:
        self._made.close(cancel_pending_enqueues=True)
        super().stop()

    def close(self) -> None:
        """Waits for the task that still reads the stage, then closes it."""
        self._closed = True
        with self._reading:
            self._ahead.add(self._taken_bytes - self._made_bytes - self._head_bytes)
            self._head_bytes, self._taken_bytes = 0, self._made_bytes
            super().close()
