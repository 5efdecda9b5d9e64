"""Where a parallel interleave reads its datasets: in workers, or where their elements are asked for, which is quicker for small ones.

To hand a dataset to a worker and its elements back takes some tens of microseconds, and Python code runs in one thread at a time. So
datasets are read by workers first, and here as soon as several in a row took less than that; two in a row that take longer, or one
that takes much longer, go to workers again, and each time more is asked of those that are to come back. The next epoch goes on
with what was learned.

Workers that take turns, with each other and with who wants the elements, gain nothing, however long a dataset takes: by the
processor's clock no more is done in the whole process than one thread could do, and who wants the elements spends as much time on
having them handed over as it would on reading them. Those datasets are read here as well, while they do
not wait; from time to time workers read some of them, as that is where it can be seen. One that takes much longer goes on in a
worker all the same, because it may wait later.
"""

from __future__ import annotations

from typing import Final

from headrace.observe.tables import duration
from headrace.physical.workers.lasting import Lasting

__all__ = ["LONG_S", "InWorkers", "ReadingPlace", "reading_place_of"]

# What a dataset may take, from the call of the function to the end of its elements, so that nothing is gained by a worker.
_SHORT_S: Final = 2e-4
# Longer than another thread may keep Python's lock to itself, so it says something about the dataset.
LONG_S: Final = 2e-2
_SHORT_ONES: Final = 3
_MOST_SHORT_ONES: Final = 256
# Reads of workers that tell whether they take turns: several of each dataset, so that they were on their way at once.
_TOLD_BY: Final = 16
# Work by the processor's clock as a part of the time: less is waiting, more is done at once.
_BUSY: Final = 0.8
_AT_ONCE: Final = 1.1
# Who wants elements spends as long on them as their reading takes, where it is such a part of it.
_AS_LONG: Final = 0.9
# What waits for a larger part of its time than this is better read by a worker.
_WAITS: Final = 0.3
# Datasets until workers read some again. Each time that nothing has changed there are four times as many.
_FIRST_INTERVAL: Final = 64
_LAST_INTERVAL: Final = 4096

_Read = tuple[float, float, float, float, float]


class ReadingPlace:
    """Chooses by what datasets took.

    Attributes:
        here: whether datasets that are opened now are read by the thread that wants their elements.
        wanting_s: how long that thread has spent on getting elements, with its waits; it counts that itself.
        reason: why it changed its mind last, in words.
    """

    def __init__(self, _: object = None) -> None:
        self.here = False
        self.wanting_s = 0.0
        self.reason = ""
        self._short = self._long = 0  # in a row
        self._needed = _SHORT_ONES
        # Of the latest reads of workers: from when to when, how long they had the processor, and at the end, how long all threads had had
        # it, and who wants elements had spent on them. Several threads write.
        self._reads: list[_Read] = []
        self._next_read = 0
        self._is_turns = False  # whether they are read here because workers took turns
        self._interval = self._left = _FIRST_INTERVAL

    def read(self, start_s: float, end_s: float, cpu_s: float, process_s: float) -> None:
        """Learns from a read of a part of a dataset by a worker, from any thread.

        Args:
            start_s: when it began.
            end_s: when it ended.
            cpu_s: how long the worker had the processor for it.
            process_s: how long all threads of the process had had it at the end.
        """
        read = (start_s, end_s, cpu_s, process_s, self.wanting_s)
        if len(self._reads) < _TOLD_BY:
            self._reads.append(read)
        else:
            self._reads[self._next_read % _TOLD_BY] = read
            self._next_read += 1

    def took(self, seconds: float, waited_s: float = 0.0) -> None:
        """Learns what one dataset took, and how much of that it waited where it was read here; from any thread."""
        if seconds < _SHORT_S or (seconds < LONG_S and self._gains_nothing(seconds, waited_s)):
            self._took_short(seconds)
            return
        self._short, self._long = 0, self._long + 1
        if self.here and (self._long > 1 or seconds > LONG_S):
            self.here, self.reason = False, f"a dataset took {duration(seconds)}"
            self._needed = min(2 * self._needed, _MOST_SHORT_ONES)

    def _took_short(self, seconds: float) -> None:
        self._short, self._long = self._short + 1, 0
        if not self.here:
            if self._short >= self._needed:
                is_long = seconds >= _SHORT_S
                if is_long or len(self._reads) == _TOLD_BY:  # else what was known of workers still is
                    self._is_turns = is_long or self._take_turns()
                self.here, self._left = True, self._interval
                why = ", and workers took turns" if self._is_turns else ", less than a worker would gain"
                self.reason = f"a dataset took {duration(seconds)}{why}"
        elif self._is_turns:
            self._left -= 1
            if self._left <= 0:
                self.here, self._short, self.reason = False, 0, "a trial: whether workers still take turns"
                self._reads = []
                self._interval = min(4 * self._interval, _LAST_INTERVAL)

    def _gains_nothing(self, seconds: float, waited_s: float) -> bool:
        """Returns whether workers would be no quicker than one thread for a dataset that is not small."""
        return self._is_turns and waited_s < _WAITS * seconds if self.here else self._take_turns()

    def _take_turns(self) -> bool:
        """Returns whether workers, and who wants the elements, do no more than one thread would, and do not wait."""
        reads = sorted(self._reads)
        if len(reads) < _TOLD_BY:
            return False
        # A read waits for Python's lock as it waits for a disk, so only the process as a whole tells whether anything waits.
        (_, first_end_s, _, first_s, first_wanting_s), (_, last_end_s, _, last_s, last_wanting_s) = reads[0], reads[-1]
        read_s = sum(cpu_s for _, _, cpu_s, *_ in reads[1:])
        busy = (last_s - first_s) / max(last_end_s - first_end_s, 1e-9)
        return _BUSY < busy < _AT_ONCE and _AS_LONG * read_s < last_wanting_s - first_wanting_s


class InWorkers(ReadingPlace):
    """Has workers read all datasets, as each waits for a process of its own."""

    def took(self, seconds: float, waited_s: float = 0.0) -> None:
        """Learns nothing."""


_PLACES: Final = Lasting(ReadingPlace)


def reading_place_of(operations: tuple[object, ...]) -> ReadingPlace:
    """Returns what is known of an operation."""
    return _PLACES.of(operations)
