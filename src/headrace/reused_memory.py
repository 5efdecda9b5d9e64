"""Memory that is used again and again: that of a batch which nobody holds any more becomes that of a later one, of the same run or of the next epoch.

The system hands out fresh pages one by one, which for a batch of pictures takes as long as writing them. And a device copies from
pages that it was told of without a copy in between: to tell it once pays where they are used again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

__all__ = ["Pages", "reused"]

# Of all that waits to be used again, in the whole process: bytes, and pieces, because they are looked through.
_MOST_SPARE_BYTES: Final = 256 << 20
_MOST_SPARE: Final = 64
_PAGE: Final = 4096
# A smaller one shares its first and last page with others: no device is told of it, as it is copied in no time.
_LEAST_OWN_PAGES: Final = 256 << 10


class Pages:
    """Memory that holds one lot of elements after the other.

    Args:
        part: its bytes (uint8).
        are_own: whether nothing else lies in its first and last page.

    Attributes:
        bytes: the same.
        are_own: the same.
        leaving: called once before the memory goes: what a device that was told of it has to hear.
        lots: how many have been brought to a device from it.
    """

    __slots__ = ("__weakref__", "are_own", "bytes", "leaving", "lots")

    def __init__(self, part: np.ndarray, *, are_own: bool) -> None:
        self.bytes = part
        self.are_own = are_own
        self.leaving: Callable[[], None] | None = None
        self.lots = 0

    def __del__(self) -> None:
        if self.leaving is not None:
            with contextlib.suppress(Exception):  # at the interpreter's exit the device is gone before
                self.leaving()


def _made(nbytes: int) -> Pages:
    if nbytes < _LEAST_OWN_PAGES:
        return Pages(np.empty(nbytes, np.uint8), are_own=False)
    whole = np.empty(-(-nbytes // _PAGE) * _PAGE + _PAGE, np.uint8)
    start = -whole.ctypes.data % _PAGE
    return Pages(whole[start : start + nbytes], are_own=True)


class _Spare:
    """Memory that waits to be used again, the latest last."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a garbage collection may give memory back in the middle of anything
        self._pieces: list[Pages] = []

    def take(self, nbytes: int) -> Pages | None:
        """Returns memory of this size, if there is some."""
        with self._lock:
            found = next((piece for piece in reversed(self._pieces) if piece.bytes.nbytes == nbytes), None)
            if found is not None:
                self._pieces = [piece for piece in self._pieces if piece is not found]
            return found

    def give(self, piece: Pages, most_bytes: int) -> None:
        """Keeps it for a while, up to a bound on all: what has waited longest makes room."""
        most_bytes = min(most_bytes, _MOST_SPARE_BYTES)
        if piece.bytes.nbytes > most_bytes:
            return
        with self._lock:
            kept = [*self._pieces, piece][-_MOST_SPARE:]
            while sum(one.bytes.nbytes for one in kept) > most_bytes:
                kept = kept[1:]
            self._pieces = kept


_SPARE: Final = _Spare()


class _Lease:
    """Memory in use. The arrays on it keep it; when the last of them is gone, it is there for another batch.

    Attributes:
        home: the memory.
    """

    __slots__ = ("__array_interface__", "_most_spare_bytes", "home")

    def __init__(self, nbytes: int, most_spare_bytes: int) -> None:
        self._most_spare_bytes = most_spare_bytes
        self.home = _SPARE.take(nbytes) or _made(nbytes)
        self.__array_interface__: dict[str, Any] = self.home.bytes.__array_interface__

    # At the interpreter's exit no name is left.
    def __del__(self, give: Callable[[Pages, int], None] = _SPARE.give) -> None:
        give(self.home, self._most_spare_bytes)


def reused(nbytes: int, most_spare_bytes: int) -> np.ndarray:
    """Returns memory (uint8) that may have been another's before, and may be again when the last array on it is gone.

    Args:
        nbytes: how much.
        most_spare_bytes: how much of such memory its user has wait at most, this included; the process has a bound of its own.
    """
    return np.asarray(_Lease(nbytes, most_spare_bytes))
