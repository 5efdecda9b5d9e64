"""What all readers have in common: work units from a queue, records from the files that these name.

What always holds:
- A reader may be read by many threads; records come in the order of the files and, within one, of the file. While one
  thread waits for the next file name the others wait behind it, as in TensorFlow, and the thread that closes the queue wakes
  them all.
- A bad record, or file, is one error, with its file and line as the origin; the next ``read`` goes on after it.
- ``serialize_state`` says where the next record is; it is plain JSON text, and every reader has it (in TensorFlow only
  those that read whole files).
- The counts may be read at any time; they never wait.

Text is str, other records are bytes; all are bytes in TensorFlow.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numpy as np

from headrace.elements.structure import object_array
from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError
from headrace.io.files import path_of
from headrace.io.reader import Chunk, RecordPosition, RecordReader
from headrace.train.last_record import remember_record
from headrace.train.pulled import Pulled, pull
from headrace.train.reader_state import ReaderState

__all__ = ["ReaderBase"]

# Records that are taken from a file at once: they are cut out of its buffer already, so a call is the whole cost.
_RUN: Final = 64


@dataclass(slots=True)
class _Run:
    """Consecutive records of one file, the first ``taken`` of which were delivered."""

    position: RecordPosition = field(default_factory=RecordPosition)
    keys: Sequence[str] = ()
    values: Sequence[Any] = ()
    taken: int = 0

    @property
    def left(self) -> int:
        return len(self.values) - self.taken

    def take(self, count: int) -> list[tuple[str, Any]]:
        """Returns the next ``count`` records, or as many as are left, as keys and values."""
        until = self.taken + min(count, self.left)
        records = list(zip(self.keys[self.taken : until], self.values[self.taken : until], strict=True))
        self.taken = until
        return records


class ReaderBase(ABC):
    """The methods of every reader. Subclasses say how a file is opened, and what its records' keys are."""

    # Whether a file is one record, so that its work unit is completed with it.
    _is_one_record: ClassVar[bool] = False

    def __init__(self, name: str | None) -> None:
        self._name = name or type(self).__name__
        self._lock = threading.Lock()
        self._records_produced = 0
        self._work_units_completed = 0
        self._file: RecordReader | None = None
        self._run = _Run()
        self._fault: HeadraceError | None = None  # of the record after the run

    @abstractmethod
    def _open(self, path: str, position: RecordPosition | None) -> RecordReader:
        """Returns the file's reader, at ``position`` or, when None, at the first record that is to be delivered."""

    @abstractmethod
    def _keys(self, path: str, chunk: Chunk) -> Sequence[str]:
        """Returns the key of each record in a run."""

    # ---- reading

    def read(self, queue: Pulled, name: str | None = None) -> tuple[str, Any]:
        """Returns the next record.

        Args:
            queue: where the next file's name is taken from, once the current file is at its end: a queue, or a callable.
            name: accepted for the sake of ported programs.

        Returns:
            Its key and its value.

        Raises:
            OutOfRangeError: the queue is closed and empty, and the last file is at its end.
            HeadraceError: the next record or file is bad; the call after this one goes on after it.
        """
        with self._lock:
            while not self._run.left:
                self._fill(queue)
            ((key, value),) = self._run.take(1)
            self._records_produced += 1
        remember_record(key)
        return key, value

    def read_up_to(self, queue: Pulled, num_records: int, name: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Returns the next records of one file: ``num_records``, or fewer where the file ends or a bad record follows.

        Args:
            queue: as for ``read``.
            num_records: how many at most, 1 or more.
            name: accepted for the sake of ported programs.

        Returns:
            Their keys and their values, arrays of objects of shape (n,).

        Raises:
            InvalidArgumentError: ``num_records`` is below 1.
            HeadraceError: as for ``read``.
        """
        if num_records < 1:
            raise InvalidArgumentError(f"{self._name}: num_records is at least 1, not {num_records}")
        records: list[tuple[str, Any]] = []
        with self._lock:
            while not self._run.left:
                self._fill(queue)
            while len(records) < num_records and self._has_more_of_this_file():
                records += self._run.take(num_records - len(records))
            self._records_produced += len(records)
        keys, values = zip(*records, strict=True)
        remember_record(keys[0] if len(keys) == 1 else f"{keys[0]} to {keys[-1]}")
        return object_array(keys), object_array(values)

    def _has_more_of_this_file(self) -> bool:
        """Returns whether the current file has a next record. A bad one is kept for the next call."""
        while not self._run.left and self._file is not None and self._fault is None:
            try:
                self._next_run(self._file)
            except HeadraceError as error:
                self._fault = error
        return self._run.left > 0

    def _fill(self, queue: Pulled) -> None:
        """Takes one step towards the next record: raises a fault, opens a file, takes a run from it, or finishes it."""
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        if self._file is None:
            self._file = self._open(path_of(pull(queue)), None)
        self._next_run(self._file)

    def _next_run(self, file: RecordReader) -> None:
        self._run = _Run(file.position)
        chunk = file.read(_RUN)
        if chunk is not None:
            self._run = _Run(chunk.position, self._keys(file.path, chunk), chunk.columns[0].tolist())
        if chunk is None or self._is_one_record:
            self._finish(file)

    def _finish(self, file: RecordReader) -> None:
        if not file.position.ended:  # one that failed is not completed
            self._work_units_completed += 1
        file.close()
        self._file = None

    # ---- counting

    def num_records_produced(self, name: str | None = None) -> int:
        """Returns how many records were delivered, since it was made or reset."""
        return self._records_produced

    def num_work_units_completed(self, name: str | None = None) -> int:
        """Returns how many files came to their end, since it was made or reset."""
        return self._work_units_completed

    # ---- state

    @property
    def supports_serialize(self) -> bool:
        """Whether ``serialize_state`` is possible: it is."""
        return True

    def serialize_state(self, name: str | None = None) -> str:
        """Returns where it is, as text for ``restore_state``. What the queue holds is not part of it."""
        with self._lock:
            return self._state().to_text()

    def _state(self) -> ReaderState:
        state = ReaderState(
            reader=type(self).__name__,
            records_produced=self._records_produced,
            work_units_completed=self._work_units_completed,
        )
        if self._file is None:
            return state
        if not self._run.left and self._fault is None:
            return replace(state, file=self._file.path, place=self._file.position)
        return replace(state, file=self._file.path, place=self._run.position, taken=self._run.taken)

    def restore_state(self, state: str, name: str | None = None) -> None:
        """Goes on where the reader was that ``serialize_state`` was called on.

        Args:
            state: what it returned; of a reader of the same class, made with the same arguments.
            name: accepted for the sake of ported programs.

        Raises:
            InvalidArgumentError: ``state`` is no such text.
            HeadraceError: the file is not there any more, or not what it was.
        """
        known = ReaderState.from_text(state, type(self).__name__)
        with self._lock:
            self._start_over()
            self._records_produced = known.records_produced
            self._work_units_completed = known.work_units_completed
            if known.file is not None:
                self._file = self._open(known.file, known.place)
                self._drop(self._file, known.taken)

    def _drop(self, file: RecordReader, count: int) -> None:
        """Takes ``count`` records, which were good, and were delivered before the state was taken."""
        left = count
        while left:
            self._next_run(file)
            if not self._run.left:
                raise DataLossError(f"{file.path} ends before the record that was next; the file has changed")
            left -= len(self._run.take(left))

    def reset(self, name: str | None = None) -> None:
        """Makes it as new: closes the current file, and sets the counts to 0."""
        with self._lock:
            self._start_over()

    def _start_over(self) -> None:
        self._close_file()
        self._records_produced = self._work_units_completed = 0
        self._run = _Run()
        self._fault = None

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # an __init__ that raised has made none
            self._close_file()
