"""Where a parallel interleave reads its datasets: in workers, or where their elements are asked for, which is quicker for small ones.

To hand a dataset to a worker and its elements back takes some tens of microseconds, and Python code runs in one thread at a time. So
datasets are read by workers first, and here as soon as several in a row took less than that; two in a row that take longer, or one
that takes much longer, go to workers again, and each time more is asked of those that are to come back. The next epoch goes on
with what was learned.
"""

from __future__ import annotations

from typing import Final

from headrace.physical.workers.lasting import Lasting

__all__ = ["LONG_S", "ReadingPlace", "reading_place_of"]

# What a dataset may take, from the call of the function to the end of its elements, so that nothing is gained by a worker.
_SHORT_S: Final = 2e-4
# Longer than another thread may keep Python's lock to itself, so it says something about the dataset.
LONG_S: Final = 2e-2
_SHORT_ONES: Final = 3
_MOST_SHORT_ONES: Final = 256


class ReadingPlace:
    """Chooses by what datasets took.

    Attributes:
        here: whether datasets that are opened now are read by the thread that wants their elements.
    """

    def __init__(self, _: object = None) -> None:
        self.here = False
        self._short = self._long = 0  # in a row
        self._needed = _SHORT_ONES

    def took(self, seconds: float) -> None:
        """Learns what one dataset took, from any thread."""
        if seconds < _SHORT_S:
            self._short, self._long = self._short + 1, 0
            if self._short >= self._needed:
                self.here = True
            return
        self._short, self._long = 0, self._long + 1
        if self.here and (self._long > 1 or seconds > LONG_S):
            self.here = False
            self._needed = min(2 * self._needed, _MOST_SHORT_ONES)


_PLACES: Final = Lasting(ReadingPlace)


def reading_place_of(operations: tuple[object, ...]) -> ReadingPlace:
    """Returns what is known of an operation."""
    return _PLACES.of(operations)
