"""How much to read where not all of it is let through."""

from __future__ import annotations

import math
from typing import Final

from headrace.physical.pace import FADING

__all__ = ["MOMENT_S", "Passing"]

# While little is let through, blocks of the input are read for about so long.
MOMENT_S: Final = 1e-3
# Where nothing at all is let through, a report of stalls must still see blocks go by.
_MOST_READ: Final = 1 << 16


class Passing:
    """What part of elements is let through, and what it takes to read one; the latest count most."""

    __slots__ = ("_passed", "_read", "_read_s")

    def __init__(self) -> None:
        self._read = self._passed = 1.0
        self._read_s = 0.0

    def observe(self, read: int, read_s: float, passed: int) -> None:
        """Learns from one block."""
        self._read = self._read * FADING + read
        self._read_s = self._read_s * FADING + read_s
        self._passed = self._passed * FADING + passed

    def to_read(self, wanted: int, *, is_free: bool) -> int:
        """Returns how many elements to read for so many: what is mostly enough, as a second read costs more than what is left over."""
        rate = max(self._passed, 1e-3) / self._read
        needed = int((wanted + math.sqrt(wanted * max(1 - rate, 0.0))) / rate)
        if not is_free:
            needed = min(needed, int(MOMENT_S * self._read / max(self._read_s, 1e-9)))
        return min(max(wanted, needed), _MOST_READ)
