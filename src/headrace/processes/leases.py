"""The reader's side of shared memory: arrays on it, whose places go back to the writer when nobody holds them any more, copies of the process included."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from headrace.processes.arena import Place
from headrace.processes.forks import FORKS, Returns
from headrace.processes.segment import Segment
from headrace.reused_memory import Pages

__all__ = ["Lease", "Leases"]


class Lease:
    """A place in use: the arrays on it keep it.

    Args:
        part: its bytes.
        place: it.
        back: where it is put when the last array on it is gone.
        home: the memory of which it is a part.
    """

    __slots__ = ("__array_interface__", "_back", "_bytes", "_copies", "_place", "home")

    def __init__(self, part: np.ndarray, place: Place, back: Returns, home: Pages | None = None) -> None:
        self._bytes = part
        self.home = home
        self._place = place
        self._back = back
        self._copies = FORKS.noted()
        self.__array_interface__: dict[str, Any] = part.__array_interface__

    def __del__(self) -> None:
        self._back.put(self._place, self._copies)


class Leases:
    """What one reader holds of one writer's segments."""

    def __init__(self) -> None:
        self._segments: list[Segment | None] = []
        self._back = Returns()
        self._taken_bytes = 0

    def add(self, descriptors: list[int]) -> None:
        """Maps the segments of which descriptors came, in their order."""
        self._segments += map(Segment.received, descriptors)

    def drop(self, numbers: Iterable[int]) -> None:
        """Lets segments go in which the writer has nothing any more."""
        for number in numbers:
            self._segments[number] = None

    def bytes_at(self, place: Place, nbytes: int) -> np.ndarray:
        """Returns the first bytes of a place (uint8); it goes back when the last array on it is gone."""
        segment = self._segments[place.segment]
        assert segment is not None  # the writer has a place in it
        self._taken_bytes += place.nbytes
        part = segment.bytes[place.start : place.start + nbytes]
        return np.asarray(Lease(part, place, self._back, segment.pages))

    def gone(self, most: int | None = None) -> list[Place]:
        """Returns the places that nobody has held since it was asked last, or that many of them."""
        gone = list(islice(self._back.free(), most))
        self._taken_bytes -= sum(place.nbytes for place in gone)
        return gone

    @property
    def free_bytes(self) -> int:
        """How much of the segments nobody has had since ``gone`` was asked last."""
        return sum(segment.nbytes for segment in self._segments if segment is not None) - self._taken_bytes
