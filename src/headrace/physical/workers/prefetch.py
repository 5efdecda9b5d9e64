"""The one stage with a thread of its own: it drives what is upstream, and fills a bounded channel with blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from headrace.blocks.block import Block, Failure
from headrace.coordination import Coordinator
from headrace.coordination.closing import close_all
from headrace.errors import CancelledError, OutOfRangeError
from headrace.observe.frames import waits
from headrace.observe.meter import Meter
from headrace.physical.budget import Budget
from headrace.physical.stage import Item, Pace, Stage
from headrace.queues.channel import Channel

__all__ = ["PrefetchStage"]

# With AUTOTUNE blocks are counted, not elements: eight are about eight milliseconds of work ahead.
_AUTOTUNED_BLOCKS = 8


class PrefetchStage(Stage):
    """Blocks, made before they are asked for.

    Args:
        buffer_size: how many elements may be ready; None leaves the choice to the stage.
        budget: says how many bytes may be ready.
        pace: makes what says how many elements to read at once.
    """

    def __init__(
        self,
        input_stage: Stage,
        meter: Meter,
        *,
        buffer_size: int | None,
        budget: Budget,
        pace: Callable[..., Pace],
    ) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._budget = budget
        self._counts_blocks = buffer_size is None
        capacity = _AUTOTUNED_BLOCKS if buffer_size is None else buffer_size
        self._channel: Channel[Block | Failure] = Channel(
            capacity=capacity, capacity_bytes=budget.share_bytes, name="prefetch"
        )
        # A quarter of the buffer at once, so that there is room to make the next block while one is consumed.
        self._pace = pace(
            limit=1 << 16 if buffer_size is None else -(-buffer_size // 4), bytes_limit=max(1, budget.share_bytes // 4)
        )
        self._coordinator = Coordinator()
        self._begun = False
        self._head: Block | None = None

    def _pull(self, limit: int) -> Item:
        item: Item
        if self._head is not None:
            item, self._head = self._head, None
        else:
            item = self._next()
        if isinstance(item, Block) and len(item) > limit:
            self._head = item.slice(limit, len(item))
            return item.slice(0, limit)
        return item

    @waits
    def _next(self) -> Item:
        if not self._begun:
            self._begun = True
            driver = threading.Thread(target=self._drive, name="headrace-prefetch", daemon=True)
            self._coordinator.register_thread(driver)  # before it begins: Ctrl-C may come between
            driver.start()
        start = time.perf_counter()
        try:
            return self._channel.get()
        except OutOfRangeError:
            if self._coordinator.should_stop():  # a reader that keeps elements must not take this for the end
                raise CancelledError("the run was closed") from None
            return None
        finally:
            self.meter.waited(time.perf_counter() - start)
            self.meter.buffered = self._channel.elements

    def _drive(self) -> None:
        """Reads what is upstream, in the thread, until its end or until it is stopped."""
        try:
            while not self._coordinator.should_stop():
                item = self._make()
                if item is None:
                    break
                elements = len(item) if isinstance(item, Block) else 1
                nbytes = item.payload.nbytes if isinstance(item, Block) else 0
                self._channel.bound_bytes(self._budget.share_bytes)
                self._channel.put(item, elements=1 if self._counts_blocks else elements, nbytes=nbytes)
            self._channel.close()
        except (CancelledError, OutOfRangeError) as error:
            if not self._coordinator.should_stop():  # nobody stopped us, so it is a true failure
                self._channel.fail(error)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the consumer must hear of it
            self._channel.fail(error)

    def _make(self) -> Item:
        start = time.perf_counter()
        item = self.inputs[0].pull(self._pace.size)
        if isinstance(item, Block):
            self._pace.bytes_limit = max(1, self._budget.share_bytes // 4)
            self._pace.observe(len(item), time.perf_counter() - start, item.payload.nbytes)
        return item

    def threads(self) -> list[threading.Thread]:
        return [*self._coordinator.threads, *super().threads()]

    def stop(self) -> None:
        self._coordinator.request_stop()
        self._channel.close(cancel_pending_enqueues=True)
        super().stop()

    def close(self) -> None:
        self.stop()
        close_all([self._coordinator.join, super().close])
