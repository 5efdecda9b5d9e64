"""Elements that are made before they are asked for, in a thread that drives what is upstream, wherever that gains something.

Two ways, of which an ``OverlapTuner`` chooses as the run goes:

- *ahead*: a ``_Driver`` has the input. Its thread reads it, a millisecond of work at a time, and fills a bounded channel.
- *here*: nobody else has it, and the consumer's own thread reads it, as if there were no prefetch.

What always holds: one thread at a time reads the input. It goes to a driver in the consumer's thread, between two pulls; and
it comes back when the driver has left and all that it had made was taken, so order and positions never change. A driver that
has left has ended: no thread waits for a change of mind.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from headrace.blocks.block import Block, BlockOrFailure
from headrace.clock import Clock
from headrace.coordination import Coordinator
from headrace.coordination.closing import close_all
from headrace.errors import CancelledError, OutOfRangeError
from headrace.log import LOG
from headrace.observe.decisions import BLOCKS, THREADS, Decisions
from headrace.observe.frames import waits
from headrace.observe.frames_held import let_go_of_frames_of_failed
from headrace.observe.meter import Gauge, Meter
from headrace.observe.recorder import Recorder
from headrace.physical.budget import Ahead
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage, pulled_apart
from headrace.physical.workers.depth_tuner import DepthTuner
from headrace.physical.workers.overlap_tuner import OverlapTuner
from headrace.queues.channel import Channel

__all__ = ["PrefetchStage"]

# More elements than were asked for may be ready where they are cheap, and light: a block of so many bytes.
_LIGHT_BYTES = 4 << 20


class PrefetchStage(Stage):
    """Blocks, made before they are asked for.

    Args:
        buffer_size: how many elements may be ready, or a block of cheap ones; None leaves the choice to the stage.
        ahead: says how many bytes may be ready, and is told how many are.
        pace: makes what says how many elements to read at once.
        tuner: says where they are made.
        depth: says how many blocks may be ready where the choice is left; it counts them, and not elements.
        clock: what tells how long they took.
        decisions: where changes are noted.
    """

    def __init__(
        self,
        input_stage: Stage,
        meter: Meter,
        *,
        buffer_size: int | None,
        ahead: Ahead,
        pace: Callable[..., Pace],
        tuner: OverlapTuner,
        depth: DepthTuner,
        clock: Clock,
        decisions: Decisions,
    ) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._buffer_size = buffer_size
        self._ahead = ahead
        self._pace = pace(bytes_limit=max(1, ahead.share_bytes // 4))
        self._tuner = tuner
        self._depth = depth
        self._now_s = clock.now_s
        self._decisions = decisions
        self._driver: _Driver | None = None
        self._has_no_thread = False  # as the system starts no more
        self._ready = Gauge(meter)
        self._stopped = False
        self._left_s: float | None = None  # when the consumer went away with its latest block

    def _pull(self, limit: int) -> Item:
        gap_s = None if self._left_s is None else self._now_s() - self._left_s
        if self._driver is None and self._tuner.ahead:
            self._hand_over()
        item: Item = None
        if self._driver is not None:
            item = self._taken(self._driver, gap_s or 0.0)
        if self._driver is None:  # there was none, or it has left
            item = self._made_here(limit, gap_s)
        self._left_s = self._now_s()
        return item

    def _made_here(self, limit: int, gap_s: float | None) -> Item:
        start = self._now_s()
        item = self._read(self.inputs[0], limit)
        if isinstance(item, Block):
            seconds = self._now_s() - start
            self._pace.observe(len(item), seconds, item.payload.nbytes)
            is_alone = gap_s is not None or not _any_holds(self.inputs)
            self._tuner.made_here(len(item), seconds, gap_s, is_alone=is_alone)
            if self._tuner.ahead and not self.inputs[0].is_spent:  # before the consumer goes away with what it has
                self._hand_over()
        return item

    def _hand_over(self) -> None:
        """Gives the input to a driver, unless the system has no thread for it: then it is read here."""
        source, meter = self.inputs[0], self.meter
        if self._has_no_thread:
            return
        self._driver = driver = _Driver(
            source, meter, self._ahead, self._pace, self._buffer_size, self._depth.blocks, self._now_s
        )
        if self._stopped:  # stop() may have come before there was one to be stopped
            driver.stop()
        try:
            driver.start()
        except RuntimeError as error:
            self._driver, self._has_no_thread = None, True
            LOG.warning("the system starts no more threads (%s): %s reads nothing ahead in this run", error, meter.name)
            return
        self._decisions.note(meter.name, THREADS, 0, 1, self._tuner.reason)

    def _taken(self, driver: _Driver, gap_s: float) -> Item:
        """Returns what a driver has made next; None at the end, and where it has left, and the input is here again."""
        self._ready.set(*driver.ready)
        start, blocks = self._now_s(), driver.blocks
        made = driver.take()
        waited_s = self._now_s() - start
        self.waited(waited_s)
        if self._buffer_size is None:
            self._deepen(driver, blocks, waited_s)
        self._ready.set(*driver.ready)
        if made is None:
            if driver.has_left:
                driver.join()
                self._driver = None
            return None
        item, made_s = made
        if isinstance(item, Block):
            self._tuner.taken(len(item), made_s, waited_s, gap_s)
            if not self._tuner.ahead and not driver.is_told_to_leave:
                self._decisions.note(self.meter.name, THREADS, 1, 0, self._tuner.reason)
                driver.leave()
        return item

    def _deepen(self, driver: _Driver, ready: int, waited_s: float) -> None:
        """Has more blocks made ahead, where so many as were ready were not enough."""
        depth, before = self._depth, self._depth.blocks
        depth.taken(ready, waited_s)
        if depth.blocks != before:
            self._decisions.note(self.meter.name, BLOCKS, before, depth.blocks, depth.reason)
            driver.bound_blocks(depth.blocks)

    @property
    def reads_no_more(self) -> bool:
        """Whether its input does not, while this thread reads it."""
        return self._driver is None and super().reads_no_more

    @property
    def made_elements(self) -> int:  # type: ignore[override]  # where nobody makes any it is a number
        """How many elements its input has made, where it is read here."""
        return self.inputs[0].made_elements if self._driver is None else 0

    def _is_spent(self) -> bool:
        return self.inputs[0].is_spent if self._driver is None else self._driver.has_given_all

    def read_ahead(self) -> bool:
        """Has its thread begin, where there is to be one."""
        if self._driver is None and self._tuner.ahead:
            self._hand_over()
        return self._driver is not None or super().read_ahead()

    def threads(self) -> list[threading.Thread]:
        driver = self._driver
        return [*(driver.threads() if driver is not None else ()), *super().threads()]

    def stop(self) -> None:
        self._stopped = True
        if (driver := self._driver) is not None:
            driver.stop()
        super().stop()

    def close(self) -> None:
        self.stop()
        driver = self._driver
        close_all([*([] if driver is None else [driver.join]), self._ahead.release, super().close])


class _Driver:
    """A thread that has the input of a prefetch, and the channel that it fills: until the end, or until it is told to leave."""

    def __init__(
        self,
        source: Stage,
        meter: Meter,
        ahead: Ahead,
        pace: Pace,
        buffer_size: int | None,
        blocks: int,
        now_s: Callable[[], float],
    ) -> None:
        self._source = source
        self._meter = meter
        self._put_elements = self._taken_elements = 0  # each is changed by one thread
        self._all_elements: int | None = None  # where it is known that the source has no more
        self._ahead = ahead
        self._pace = pace
        self._buffer_size = buffer_size
        self._now_s = now_s
        self._channel: Channel[tuple[BlockOrFailure, float, int]] = Channel(
            capacity=blocks if buffer_size is None else buffer_size,
            capacity_bytes=ahead.share_bytes,
            name="prefetch",
        )
        self._coordinator = Coordinator()
        self._owner = os.getpid()
        self.is_told_to_leave = False
        self.has_left = False

    def start(self) -> None:
        """Begins to read."""
        thread = threading.Thread(target=self._drive, name="headrace-prefetch", daemon=True)
        self._coordinator.register_thread(thread)  # before it begins: Ctrl-C may come between
        thread.start()

    @waits
    def take(self) -> tuple[BlockOrFailure, float] | None:
        """Returns what comes next, and how long it took to make; None where it has left, and at the end.

        Raises:
            CancelledError: it was stopped.
        """
        try:
            item, made_s, nbytes = self._channel.get()
        except OutOfRangeError:
            if self._coordinator.should_stop():  # a reader that keeps elements must not take this for the end
                raise CancelledError("the run was closed") from None
            return None
        if Recorder.active is not None:
            Recorder.active.takes((id(self), self._taken_elements), self._now_s())
        self._taken_elements += _elements_of(item)
        self._ahead.add(-nbytes)
        return item, made_s

    @property
    def ready(self) -> tuple[int, int]:
        """How many elements are ready, and how many bytes they have."""
        return max(0, self._put_elements - self._taken_elements), self._channel.nbytes

    @property
    def has_given_all(self) -> bool:
        """Whether it is known that nothing comes any more but the end."""
        return self._taken_elements == self._all_elements

    @property
    def blocks(self) -> int:
        """How many blocks are ready."""
        return len(self._channel)

    def bound_blocks(self, blocks: int) -> None:
        """Lets so many blocks be ready, where it counts these."""
        self._channel.bound_elements(blocks)

    def leave(self) -> None:
        """Makes it end after the block that it is at."""
        self.is_told_to_leave = True

    def _drive(self) -> None:
        """Reads what is upstream, in the thread."""
        try:
            while not (self._coordinator.should_stop() or self.is_told_to_leave):
                start = self._now_s()
                item = next(pulled_apart(self._source, self._pace.size))
                if item is None:
                    break
                # A copy of it that a function made, and in which it returned: nobody reads here.
                if os.getpid() != self._owner:
                    return
                let_go_of_frames_of_failed()
                made_s = self._now_s()
                if Recorder.active is not None:
                    Recorder.active.gives((id(self), self._put_elements), made_s)
                if is_spent := self._source.is_spent:
                    self._all_elements = self._put_elements + _elements_of(item)
                self._put(item, made_s - start)
                self._meter.count(input_wait_s=made_s - start, room_wait_s=self._now_s() - made_s)
                del item  # it must not live on beside the next one
                if is_spent:
                    break
            else:
                self.has_left = True
            self._channel.close()
        except (CancelledError, OutOfRangeError) as error:
            if not self._coordinator.should_stop():  # nobody stopped us, so it is a true failure
                self._channel.fail(error)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the consumer must hear of it
            self._channel.fail(error)

    def _put(self, item: BlockOrFailure, seconds: float) -> None:
        elements, nbytes = _elements_of(item), 0
        if isinstance(item, Block):
            nbytes = item.payload.nbytes
            self._pace.bytes_limit = self._most_bytes_a_block()
            self._pace.observe(elements, seconds, nbytes)
        self._ahead.add(nbytes)
        # Less than there is room for by one such block: the next one is held, too, while it waits for room.
        self._channel.bound_bytes(max(1, self._ahead.share_bytes - nbytes))
        self._put_elements += elements
        weight = 1 if self._buffer_size is None else elements
        self._channel.put((item, seconds, nbytes), elements=weight, nbytes=nbytes)

    def _most_bytes_a_block(self) -> int:
        """Returns a quarter of what may be ready, so that there is room to make the next one; but no more than is light."""
        asked_for = self._pace.element_nbytes * -(-(self._buffer_size or 0) // 4)
        return max(1, min(self._ahead.share_bytes // 4, max(asked_for, _LIGHT_BYTES)))

    def threads(self) -> list[threading.Thread]:
        """Returns its thread."""
        return self._coordinator.threads

    def stop(self) -> None:
        """Ends every wait; safe from any thread."""
        self._coordinator.request_stop()
        self._channel.close(cancel_pending_enqueues=True)

    def join(self) -> None:
        """Waits until its thread has ended."""
        self._coordinator.join()


def _elements_of(item: BlockOrFailure) -> int:
    return len(item) if isinstance(item, Block) else 1


def _any_holds(stages: Sequence[Stage]) -> bool:
    """Returns whether one of these, or one that they read, has elements that it has not given yet."""
    left = [*stages]  # in plans of thousands of operations stages that ask each other need too much of C's stack
    while left:
        stage = left.pop()
        if stage.holds_elements:
            return True
        left += stage.inputs
    return False
