"""Where a process puts what another one is to read: places in few large segments, given back in any order.

A ring would wait for its oldest batch, which its reader may keep for ever; here a batch that is kept keeps its own place alone.
"""

from __future__ import annotations

import bisect
import os
from typing import Final, NamedTuple

import numpy as np

from headrace.errors import ResourceExhaustedError
from headrace.processes.segment import Segment

__all__ = ["Arena", "Place"]

_ALIGNED: Final = 64
# The system takes a third of a millisecond for each megabyte that it hands out: who sends little has little, and each segment that comes is several
# times as large as all before, up to what is usual.
_FIRST: Final = 1 << 20
_GROWTH: Final = 4
_USUAL: Final = 16 << 20
# Each takes a descriptor on either side, of which a process has about a thousand: one that comes is at least this part of all that are there, so
# a hundred gigabytes of batches that somebody keeps take about sixty.
_PART: Final = 8
_PAGE: Final = 4096


class Place(NamedTuple):
    """A part of a segment.

    Attributes:
        segment: the number of the segment.
        start: its first byte.
        nbytes: how many are taken.
    """

    segment: int
    start: int
    nbytes: int


class Arena:
    """The segments of one writer.

    Args:
        segment_bytes: how large a segment is at least that comes behind the first ones, or less where that is less than usual.

    Attributes:
        taken_bytes: how much of them is taken.
    """

    def __init__(self, segment_bytes: int = _USUAL) -> None:
        self.segment_bytes = segment_bytes
        self.taken_bytes = 0
        self._segments: list[Segment | None] = []  # None where one was let go
        # Of each segment the parts that are free, in order: where they begin and where they end.
        self._free: list[list[tuple[int, int]]] = []
        self._fresh: list[int] = []
        self._dropped: list[int] = []

    def take(self, nbytes: int) -> Place:
        """Returns a place for so many bytes.

        Raises:
            ResourceExhaustedError: the system has no more memory.
        """
        wanted = max(_ALIGNED, -(-nbytes // _ALIGNED) * _ALIGNED)
        for number, free in enumerate(self._free):
            for index, (start, stop) in enumerate(free):
                if stop - start >= wanted:
                    self.taken_bytes += wanted
                    free[index : index + 1] = [(start + wanted, stop)] if stop - start > wanted else []
                    return Place(number, start, wanted)
        self._drop_unused()
        segment, descriptor = self._made(-(-wanted // _PAGE) * _PAGE)
        size = segment.nbytes
        self._fresh.append(descriptor)
        self._segments.append(segment)
        self._free.append([(wanted, size)] if size > wanted else [])
        self.taken_bytes += wanted
        return Place(len(self._segments) - 1, 0, wanted)

    def placed(self, raw: memoryview) -> Place:
        """Returns where these bytes were copied to.

        Raises:
            ResourceExhaustedError: the system has no more memory.
        """
        place = self.take(raw.nbytes)
        self.bytes_at(place)[: raw.nbytes] = np.frombuffer(raw, np.uint8)
        return place

    def _made(self, least: int) -> tuple[Segment, int]:
        part = self.held_bytes // _PART // _PAGE * _PAGE
        try:
            return Segment.made(max(self._least_segment, least, part))
        except ResourceExhaustedError:
            if least >= part:
                raise
        return Segment.made(max(self._least_segment, least))

    @property
    def _least_segment(self) -> int:
        grown = max(_FIRST, _GROWTH * self.held_bytes)
        return max(1, min(_USUAL, grown, self.segment_bytes) // _PAGE) * _PAGE

    def _drop_unused(self) -> None:
        """Lets segments go that hold nothing: none of them had room, and those of ever larger batches would add up."""
        for number, segment in enumerate(self._segments):
            if segment is not None and self._free[number] == [(0, segment.nbytes)]:
                self._segments[number], self._free[number] = None, []
                self._dropped.append(number)

    def give(self, place: Place) -> None:
        """Takes a place back."""
        self.taken_bytes -= place.nbytes
        free = self._free[place.segment]
        start, stop = place.start, place.start + place.nbytes
        index = bisect.bisect(free, (start, stop))
        if index < len(free) and free[index][0] == stop:
            stop = free.pop(index)[1]
        if index and free[index - 1][1] == start:
            index -= 1
            start = free.pop(index)[0]
        free.insert(index, (start, stop))

    def bytes_at(self, place: Place) -> np.ndarray:
        """Returns the bytes of a place (uint8), to be written."""
        segment = self._segments[place.segment]
        assert segment is not None  # a place in it is taken
        return segment.bytes[place.start : place.start + place.nbytes]

    @property
    def held_bytes(self) -> int:
        """How much memory its segments take."""
        return sum(segment.nbytes for segment in self._segments if segment is not None)

    @property
    def free_bytes(self) -> int:
        """How much of that holds nothing."""
        return self.held_bytes - self.taken_bytes

    def fresh(self) -> list[int]:
        """Returns the descriptors of the segments that were made since it was asked last; the caller sends and closes them."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def dropped(self) -> tuple[int, ...]:
        """Returns the numbers of the segments that were let go since it was asked last; the caller tells the reader."""
        dropped, self._dropped = self._dropped, []
        return tuple(dropped)

    def close(self) -> None:
        """Closes the descriptors that nobody was sent."""
        for descriptor in self.fresh():
            os.close(descriptor)
