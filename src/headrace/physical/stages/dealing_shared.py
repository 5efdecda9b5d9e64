"""What all streams of a rank read from its beginning, as a generator, is read once for all of them.

Each stream keeps what is its own of the same blocks. A block is held until all streams had it, or there is no room for more: a stream that is
so far behind reads on by itself, and with the others again where it meets them. So what is held is bounded, and at the worst a source is
read once more for each stream. Positions are those of the blocks, whoever read them, so a state is the same.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State, input_state
from headrace.physical.budget import Ahead
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.dealing import Share

__all__ = ["SharedInput", "shared_input"]

# Of what the run may hold: a thousand elements of a stream at once are tens of thousands of what all read.
_MOST_BYTES: Final = 64 << 20
# Numbers have no bytes to speak of.
_MOST_BLOCKS: Final = 1024


class SharedReading:
    """The blocks that were read last, and who reads them.

    Args:
        expected: how many streams there are; what is read before all are here is for the others as well.
        ahead: says how much may be held of what all had not yet, and is told how much is.
    """

    def __init__(self, expected: int, ahead: Ahead) -> None:
        self._expected = expected
        self._held = ahead
        self._readers: list[SharedInput] = []
        self._source: Stage | None = None
        self._starts: list[int] = []
        self._items: list[Block | Failure] = []
        self._nbytes = 0
        self._front = 0  # the place after what was read
        self._ended = self._stopped = False

    def attach(self, reader: SharedInput) -> None:
        """Takes in another reader."""
        self._readers.append(reader)
        self._expected -= 1

    def detach(self, reader: SharedInput) -> bool:
        """Lets a reader go, and the source with the last one; returns whether nobody comes any more.

        In a turn of a repeat one stream may be through before others begin it.
        """
        if reader not in self._readers:  # it was closed before
            return False
        self._readers.remove(reader)
        if self._readers:
            return False
        self._held.release()
        if self._source is not None:
            self._source.close()
        return not self._ended or self._expected <= 0

    def stop(self) -> None:
        """Ends every wait; safe from any thread."""
        self._stopped = True
        if self._source is not None:
            self._source.stop()

    def threads(self) -> list[threading.Thread]:
        """Returns the threads of what is read."""
        return [] if self._source is None else self._source.threads()

    def held(self, place: int) -> Item:
        """Returns what is held from a place on; None where nothing is."""
        index = bisect.bisect_right(self._starts, place) - 1
        if index < 0 or place >= self._front:
            return None
        item, start = self._items[index], self._starts[index]
        return item.slice(place - start, len(item)) if isinstance(item, Block) else item

    def read_to(self, place: int, limit: int) -> None:
        """Reads on, until something of this place is there or the end is."""
        if self._source is None:
            first = min(self._readers, key=SharedInput.place_of)
            self._source, self._front = first.again(), first.place_of()
            if self._stopped:  # meanwhile
                self._source.stop()
        while self._front <= place and not self._ended:
            item = self._source.pull(max(limit, place - self._front))
            if item is None:
                self._ended = True
                return
            self._forget()
            self._starts.append(self._front)
            self._items.append(item)
            self._front += _length(item)
            self._nbytes += _nbytes(item)
            self._held.set(self._nbytes)

    def was_read(self, place: int) -> bool:
        """Returns whether what follows a place was read, so that it comes again where it is not held."""
        return place < self._front

    def _forget(self) -> None:
        """Forgets what all had, and what there is no room for."""
        least = (
            self._starts[0] if self._expected > 0 and self._starts else min(map(SharedInput.place_of, self._readers))
        )
        count, most_bytes = max(0, len(self._items) - _MOST_BLOCKS), min(_MOST_BYTES, self._held.share_bytes)
        self._nbytes -= sum(map(_nbytes, self._items[:count]))
        while count < len(self._items) and (
            self._starts[count] + _length(self._items[count]) <= least or self._nbytes > most_bytes
        ):
            self._nbytes -= _nbytes(self._items[count])
            count += 1
        del self._starts[:count], self._items[:count]


class SharedInput(Stage):
    """What one stream reads of it.

    Args:
        own: the same, where the stream reads it by itself.
        reading: what all read together.
        place: how many elements come before the next one.
        again: makes what ``own`` is once more.
        closed: is called when no stream reads any more.
    """

    times_pulls = False

    def __init__(
        self, own: Stage, reading: SharedReading, place: int, again: Callable[[], Stage], closed: Callable[[], object]
    ) -> None:
        super().__init__(own.meter, (own,), own.cursor)
        self.is_numbers = own.is_numbers
        self._reading = reading
        self._place = self._own_place = place
        self._closed = closed
        self.again = again
        reading.attach(self)

    def place_of(self) -> int:
        """Returns how many elements come before the next one."""
        return self._place

    def pull(self, limit: int) -> Item:
        """Returns the next block of at most ``limit`` elements, a failure, or None at the end; who made it has counted it."""
        item = self._next(limit)
        if item is None:
            return None
        if isinstance(item, Block):
            item = item.slice(0, limit)
        self.cursor = item.after
        self._place += _length(item)
        return item

    def _next(self, limit: int) -> Item:
        self._reading.read_to(self._place, limit)
        held = self._reading.held(self._place)
        return self._alone(limit) if held is None and self._reading.was_read(self._place) else held

    def _alone(self, limit: int) -> Item:
        """Returns the next block where it is not held any more."""
        own = self.inputs[0]
        while self._own_place < self._place:
            passed = own.pull(self._place - self._own_place)
            if passed is None:
                return None
            self._own_place += _length(passed)
        item = own.pull(limit)
        self._own_place += 0 if item is None else _length(item)
        return item

    def _holds_elements(self) -> bool:
        return True  # another stream may have read them

    def threads(self) -> list[threading.Thread]:
        return [*self._reading.threads(), *super().threads()]

    def stop(self) -> None:
        self._reading.stop()
        super().stop()

    def close(self) -> None:
        try:
            if self._reading.detach(self):
                self._closed()
        finally:
            super().close()


def shared_input(node: Share, state: State | None, context: StageContext) -> Stage:
    """Makes what the streams read that have a part of it, for one of them."""
    upstream = context.of_all_streams()

    def opened() -> Stage:
        return lower(node.input, input_state(state), upstream)

    own = opened()
    if own.numbered is not None or context.streams < 2:
        return own
    readings, key = context.learned, (id(node), upstream.epoch, upstream.within, upstream.downstream_maps)
    reading = readings.get(key)
    if reading is None:
        reading = readings[key] = SharedReading(context.streams, context.ahead(node))
    return SharedInput(own, reading, state["seen"] if state else 0, opened, lambda: readings.pop(key, None))


def _length(item: Block | Failure) -> int:
    return len(item) if isinstance(item, Block) else 1


def _nbytes(item: Block | Failure) -> int:
    return item.payload.nbytes if isinstance(item, Block) else 0
