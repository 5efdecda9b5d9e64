"""The two ways of the documents that have no Dataset: batches made in the training thread, and by runners of a queue.

Both take the rows in the order of the files. What the queue adds is threads: while the model computes, two runners make
the next batches, and no more than the queue has room for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from headrace.cli.demo.csv_folder import CsvFolder
from headrace.coordination import Coordinator, QueueRunner
from headrace.errors import DataLossError, InvalidArgumentError, OutOfRangeError
from headrace.io import decode_csv
from headrace.queues import FIFOQueue

__all__ = ["BatchMaker", "fed_batches", "queued_batches"]

Batch = tuple[NDArray[np.float32], NDArray[np.float32]]
# A row with where it stands, for messages.
_Line = tuple[str, str]

# As in the documents: two threads fill a queue that has room for five batches.
_RUNNERS = 2
_CAPACITY = 5


class BatchMaker:
    """Makes batches of the rows of files, each row ``epochs`` times; several threads may ask it for them."""

    def __init__(self, folder: CsvFolder, *, epochs: int, batch_size: int) -> None:
        self._components = [np.zeros(folder.features, np.float32), np.zeros((), np.float32)]
        self._lines = _lines(folder, epochs)
        self._batch_size = batch_size
        self._rest: list[_Line] = []
        self._reading = threading.Lock()

    def whole(self) -> Batch:
        """Returns the next batch that is full.

        Raises:
            OutOfRangeError: fewer rows are left than make a batch; ``rest`` makes what they do.
            InvalidArgumentError: a row does not have the columns that it should, or no number in one.
            DataLossError: a file is not UTF-8 text.
        """
        with self._reading:
            lines = list(islice(self._lines, self._batch_size))
            if len(lines) < self._batch_size:
                self._rest = self._rest or lines
                raise OutOfRangeError("fewer rows are left than make a batch")
        return self._parsed(lines)

    def rest(self) -> Batch | None:
        """Returns the last batch, smaller than the others, where the rows leave one."""
        return self._parsed(self._rest) if self._rest else None

    def _parsed(self, lines: list[_Line]) -> Batch:
        try:
            features, labels = decode_csv([line for _, line in lines], self._components)
        except InvalidArgumentError:
            for origin, line in lines:
                self._check(origin, line)
            raise
        return features, labels[:, np.newaxis]

    def _check(self, origin: str, line: str) -> None:
        try:
            decode_csv(line, self._components)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(error.reason.replace(" in record 0", ""), origin=origin) from None


def _lines(folder: CsvFolder, epochs: int) -> Iterator[_Line]:
    for _ in range(epochs):
        for path in folder.paths:
            try:
                with path.open(encoding="utf-8") as file:
                    for number, line in enumerate(file, start=1):
                        yield f"{path}, row {number}", line.rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise DataLossError("the file is not UTF-8 text", origin=str(path)) from error


def fed_batches(maker: BatchMaker) -> Iterator[Batch]:
    """Yields one batch after the other, each made when it is asked for."""
    while True:
        try:
            yield maker.whole()
        except OutOfRangeError:
            break
    rest = maker.rest()
    if rest is not None:
        yield rest


@contextmanager
def queued_batches(maker: BatchMaker) -> Iterator[Iterator[Batch]]:
    """Yields batches that two runners make ahead, into a queue with room for five; leaving the context ends them.

    Raises:
        HeadraceError: what a runner failed with, when the batches before it have been taken.
    """
    coord = Coordinator()
    queue = FIFOQueue(_CAPACITY, name="batches")

    def enqueue() -> None:
        queue.enqueue(maker.whole())

    def close() -> None:
        # The smaller batch comes last: when both runners have ended, and before the queue is closed.
        with coord.stop_on_exception():
            rest = maker.rest()
            if rest is not None:
                queue.enqueue(rest)
        queue.close()

    runner = QueueRunner(queue, [enqueue] * _RUNNERS, close_op=close)
    threads = runner.create_threads(coord, daemon=True, start=True)
    try:
        yield _dequeued(queue, coord)
    finally:
        coord.request_stop()
        coord.join(threads)


def _dequeued(queue: FIFOQueue, coord: Coordinator) -> Iterator[Batch]:
    while True:
        try:
            batch: Batch = queue.dequeue()
        except OutOfRangeError:
            coord.raise_requested_exception()  # a failure of a runner also ends the queue
            return
        yield batch
