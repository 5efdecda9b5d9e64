"""Files that workers open and decode before they are read: a few parts ahead, in order.

What always holds. The thread that reads waits for a part only while a worker has it; one that no worker has begun it loads
itself. What they hold is within the stage's share of the budget. Whoever begins
a part, its records, its failures and its positions are the same.
"""

from __future__ import annotations

import functools
import sys
import time
from collections import deque
from typing import Final

from headrace.io.reader import AheadReader, RecordPosition
from headrace.observe.frames import holds, since, waits
from headrace.observe.meter import Meter
from headrace.observe.recorder import Recorder
from headrace.physical.budget import Ahead
from headrace.physical.workers.gates import Gate
from headrace.plan.files import Files
from headrace.queues.channel import EMPTY, Channel

__all__ = ["FilesAhead"]

# To open a file takes half a millisecond, with Python's lock most of the time: several threads do that slower than one. So much is
# decoded in as long, without it.
_WORTH_BYTES: Final = 1 << 20
# A file that waits for longer than that, for a disk or a network, is as well opened ahead, whatever is in it.
_LONG_S: Final = 1e-3


class _Part:
    """A part of a file on its way through the workers.

    Attributes:
        file: the number of its file.
        reader: of its records, and of no others.
        nbytes: how many bytes count for it: those that are expected while a worker has it, then those that it has.
        is_submitted: whether the workers were told of it.
        is_there: whether it was loaded and its driver knows.
        was_loaded: whether it was loaded.
        loaded_nbytes: how many bytes that came to.
        seconds: how long that took.
        cpu_s: of these, with a processor.
    """

    __slots__ = (
        "_closes",
        "_takes",
        "cpu_s",
        "file",
        "is_submitted",
        "is_there",
        "loaded_nbytes",
        "nbytes",
        "reader",
        "seconds",
        "was_loaded",
    )

    def __init__(self, file: int, reader: AheadReader) -> None:
        self.file = file
        self.reader = reader
        self.nbytes = self.loaded_nbytes = 0
        self.seconds = self.cpu_s = 0.0
        self.is_submitted = self.is_there = self.was_loaded = False
        self._takes: deque[None] = deque([None])
        self._closes: deque[None] = deque([None])

    def take(self) -> bool:
        """Returns whether it is the caller who loads it: the first who asks."""
        return _is_first(self._takes)

    def close(self) -> None:
        """Closes it, unless somebody does."""
        if _is_first(self._closes):
            self.reader.close()


def _is_first(turns: deque[None]) -> bool:
    try:
        turns.pop()
    except IndexError:
        return False
    return True


class FilesAhead:
    """Gives the readers of files, part after part, loaded.

    Args:
        node: the files.
        file: the number of the file to begin with.
        position: where in it.
        gate: the way to the workers.
        ahead: is told what was read ahead.
        meter: counts the workers' time.

    Attributes:
        wait_s: for how long its driver has waited for workers; whoever reads it sets it to 0.
    """

    def __init__(
        self, node: Files, file: int, position: RecordPosition, *, gate: Gate, ahead: Ahead, meter: Meter
    ) -> None:
        self._node = node
        self._next_file = file
        self._position = position
        self._gate = gate
        self._ahead = ahead
        self._meter = meter
        meter.calls = gate.calls + 1  # the thread that reads loads parts as well
        self._parts: deque[_Part] = deque()  # in order, the one that is read first
        self._left: list[_Part] = []  # which workers had when the rest of their file was given up
        self._expected_bytes = 0
        self._waits = False  # whether files are waited for
        # Without a bound of its own: the parts that were submitted bound what is in it.
        self._done: Channel[_Part] = Channel(capacity=sys.maxsize, name=meter.name)
        self._closed = False
        self.wait_s = 0.0

    @property
    def _most(self) -> int:
        """How many parts may be with the workers, or wait, beside the one that is read: one more than there are workers."""
        return self._gate.calls + 1

    def reader(self) -> AheadReader:
        """Returns the reader of the part that is read, and has workers go on with those after it.

        They begin when it is asked for the second time: who wants a first element alone gets no more.
        """
        self._collect()
        if self._parts:
            self._fill()
        else:
            self._append()
        part = self._parts[0]
        if not part.is_there:
            self._get(part)
        self._hold(part, 0)  # who reads it holds it now
        return part.reader

    def finish(self, *, is_lost: bool) -> bool:
        """Goes on to the next part; returns whether it is of the same file.

        Args:
            is_lost: whether nothing more of the file can be read.
        """
        done = self._parts.popleft()
        done.close()
        while is_lost and self._parts and self._parts[0].file == done.file:
            self._give_up(self._parts.popleft())
        return bool(self._parts) and self._parts[0].file == done.file

    def _give_up(self, part: _Part) -> None:
        if part.is_there or part.take():
            self._hold(part, 0)
            part.close()
        else:
            self._left.append(part)

    def _append(self) -> None:
        """Adds the next file, which is one part until it is open."""
        reader = self._node.open_ahead(self._next_file, self._position)
        self._parts.append(_Part(self._next_file, reader))
        self._next_file, self._position = self._next_file + 1, RecordPosition()

    def _fill(self) -> None:
        """Gives the workers what there is room for, where that is worth it."""
        if self._expected_bytes < _WORTH_BYTES and not self._waits:
            return
        for index in range(1, self._most + 1):
            if index == len(self._parts):
                if self._next_file == len(self._node.paths):
                    return
                self._append()
            part = self._parts[index]
            if part.is_submitted:
                continue
            if self._ahead.nbytes + self._expected_bytes > self._ahead.share_bytes:
                return
            part.is_submitted = True
            self._hold(part, self._expected_bytes)
            self._gate.submit(functools.partial(self._work, part))

    def _get(self, part: _Part) -> None:
        """Has a part be there: loads it, if no worker has begun."""
        if part.take():
            alone = len(self._parts) == 1
            self._load(part, alone=alone)
            if alone:  # else it has waited for other threads, and of a large part for Arrow's
                is_small = part.loaded_nbytes < _WORTH_BYTES
                self._waits = is_small and part.seconds - part.cpu_s > max(_LONG_S, part.cpu_s)
            self._take_in(part)
        else:
            self._wait(part)

    @waits
    def _wait(self, part: _Part) -> None:
        start = time.perf_counter()
        while not part.is_there:
            self._account(self._done.get())
        self.wait_s += time.perf_counter() - start

    def _collect(self) -> None:
        while (part := self._done.get_nowait()) is not EMPTY:
            self._account(part)

    def _account(self, part: _Part) -> None:
        """Takes in what a worker has loaded."""
        self._meter.count(busy_s=part.seconds)
        self._meter.count_cpu(part.cpu_s, part.seconds)
        if part in self._left:
            self._left.remove(part)
            self._hold(part, 0)
            part.close()
        else:
            self._take_in(part)

    def _take_in(self, part: _Part) -> None:
        part.is_there = True
        self._expected_bytes = max(1, part.loaded_nbytes)
        self._hold(part, part.loaded_nbytes)
        place = self._parts.index(part)
        for offset, reader in enumerate(part.reader.rest, start=1):
            self._parts.insert(place + offset, _Part(part.file, reader))

    def _hold(self, part: _Part, nbytes: int) -> None:
        """Counts so many bytes for a part."""
        self._ahead.add(nbytes - part.nbytes)
        part.nbytes = nbytes

    def _work(self, part: _Part) -> None:
        """Loads a part, in a worker."""
        if not part.take():  # somebody else loads it, or nobody wants it any more
            return
        self._load(part, alone=False)
        try:
            self._done.put_nowait(part)  # which was closed if the run ends
        finally:
            if self._closed:
                part.close()

    @holds(lambda at, _: (at["name"], at["part"].reader.path))
    @since("start")
    def _load(self, part: _Part, *, alone: bool) -> None:
        name = self._meter.name
        start, start_cpu_s = time.perf_counter(), time.thread_time()
        try:
            part.loaded_nbytes = part.reader.load(alone=alone)
        finally:
            part.was_loaded = True  # as far as it came: whoever closes all may close it
        part.seconds, part.cpu_s = time.perf_counter() - start, time.thread_time() - start_cpu_s
        if Recorder.active is not None:
            Recorder.active.did(name, start, start + part.seconds, 1)

    def stop(self) -> None:
        """Ends the wait for workers; safe from any thread."""
        self._done.close(cancel_pending_enqueues=True)

    def close(self) -> None:
        """Closes what is open; a worker that still loads a part closes that."""
        self._closed = True
        for part in (*self._parts, *self._left):
            if part.take() or part.was_loaded:
                part.close()
        self._parts.clear()
        self._left.clear()
        self._ahead.release()
