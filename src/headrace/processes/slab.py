"""Memory that a process shares with one reader, in which its batches are made: what lies there already is sent by saying where.

A place has as many holders as there are arrays on it here and readers that were sent it. It is free when the last of them is gone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from headrace.errors import ResourceExhaustedError
from headrace.processes.arena import Arena, Place
from headrace.processes.forks import FORKS, Returns
from headrace.processes.leases import Lease

__all__ = ["Slab"]


class Slab:
    """Places that several threads of the writer take, fill, and send to one reader."""

    def __init__(self) -> None:
        self._arena = Arena()
        self._lock = threading.Lock()  # held for a moment each; what a garbage collection gives back wants none
        self._back = Returns()
        self._made: dict[int, Place] = {}  # by address, those that arrays of this process lie on
        self._holders: dict[Place, int] = {}  # of those that have more than one

    def array(self, nbytes: int) -> np.ndarray | None:
        """Returns new memory (uint8), free again when no array is on it and no reader has it; None where the system has none."""
        with self._lock:
            self._settle()
            try:
                place = self._arena.take(nbytes)
            except ResourceExhaustedError:
                return None
            part = self._arena.bytes_at(place)[:nbytes]
            self._made[_address(part)] = place
            return np.asarray(Lease(part, place, self._back))

    def placed(self, raw: memoryview) -> Place:
        """Returns where the reader finds these bytes: where they lie, or where they were copied to.

        Raises:
            ResourceExhaustedError: the system has no more memory.
        """
        flat: np.ndarray = np.frombuffer(raw, np.uint8)
        with self._lock:
            self._settle()
            lies = self._made.get(_address(flat))
            if lies is not None and flat.nbytes <= lies.nbytes:
                self._holders[lies] = self._holders.get(lies, 1) + 1
                return lies
            place = self._arena.take(flat.nbytes)
            part = self._arena.bytes_at(place)
        part[: flat.nbytes] = flat
        return place

    def give(self, places: Iterable[Place]) -> None:
        """Takes places back that the reader has no more."""
        for place in places:
            self._back.put(place, FORKS.count)

    def _settle(self) -> None:
        for place in self._back.free():
            holders = self._holders.pop(place, 1) - 1
            if holders > 1:
                self._holders[place] = holders
            elif not holders:
                self._made.pop(_address(self._arena.bytes_at(place)), None)
                self._arena.give(place)

    def use_segments_of(self, nbytes: int) -> None:
        """Has segments be so large, or less where that is less than usual."""
        with self._lock:
            self._arena.segment_bytes = nbytes

    @property
    def free_bytes(self) -> int:
        """How much memory it has that holds nothing."""
        with self._lock:
            self._settle()
            return self._arena.free_bytes

    def fresh(self) -> list[int]:
        """Returns the descriptors of the segments that were made since it was asked last; the caller sends and closes them."""
        with self._lock:
            return self._arena.fresh()

    def dropped(self) -> tuple[int, ...]:
        """Returns the numbers of the segments that were let go since it was asked last; the caller tells the reader."""
        with self._lock:
            return self._arena.dropped()

    def close(self) -> None:
        """Closes the descriptors that nobody was sent."""
        with self._lock:
            self._arena.close()

    def let_go(self) -> None:
        """Lets all of it go, but what arrays lie on: what knows of it may wait for a garbage collection, and that is not to be waited for."""
        with self._lock:
            self._arena.close()
            self._arena, self._back = Arena(), Returns()
            self._made.clear()
            self._holders.clear()


def _address(part: np.ndarray) -> int:
    address: int = part.__array_interface__["data"][0]
    return address
