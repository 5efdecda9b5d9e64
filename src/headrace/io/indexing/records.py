"""The records of files by their number: what ``Dataset.source`` reads, and ``build_index``, which prepares it.

What always holds.
- They are the records that reading the files in order gives, and where that ends in an error, the last one is that error.
- Nothing is read but the records that are asked for; neighbours in a file are read at once. Any number of threads may read.
- A file that changed since its records were counted is told, and not read.
"""

from __future__ import annotations

import io
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final

import numpy as np

from headrace.elements.structure import object_array
from headrace.errors import (
    DataLossError,
    FailedPreconditionError,
    HeadraceError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    without_frames,
)
from headrace.frozen import frozen
from headrace.io.compression import checked_compression_type, compression_of
from headrace.io.files import open_at, paths_of_files, says_which_file, version_of
from headrace.io.indexing.formats import INDEXED_FORMATS, IndexedFormat
from headrace.io.indexing.index import index_of
from headrace.io.reader import Array
from headrace.io.stream_reader import MAX_RECORD_BYTES
from headrace.known_as import known_as

__all__ = ["IndexedRecords", "build_index"]

# Records that are no farther apart are read at once: a system call costs as much as a page.
_GAP_BYTES: Final = 1 << 12
# Files that are kept open: as many as most systems allow a process several times over.
_OPEN_FILES: Final = 64
# Reads at an offset whatever the file's place is; Windows has no such call.
_PREAD: Final[Callable[[int, int, int], bytes] | None] = getattr(os, "pread", None)


def build_index(paths: Any, format: str) -> list[int]:
    r"""Finds out where the records of files lie, for ``random_access=True``, and writes it beside each as ``<name>.index``.

    Such a dataset does so itself when it finds no index; this does it before, where the data is prepared. Where the data's folder
    may not be written to, or the data is not local, the index lies in ``$XDG_CACHE_HOME/headrace``, by default
    ``~/.cache/headrace``. It counts as long as the file has the same size and time of change.

    Args:
        paths: a path, or several; not compressed.
        format: ``"tar"``, ``"text"`` or ``"tfrecord"``.

    Returns:
        How many records each file has.

    Raises:
        InvalidArgumentError: an unknown format, or a compressed file.
        NotFoundError: a file that is not there.
        DataLossError: a file that breaks off; the record is named.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "lines.txt"
        >>> _ = path.write_text("one\ntwo\n")
        >>> hr.io.build_index(path, format="text")
        [2]
        >>> hr.TextLineDataset(path, random_access=True).shuffle(2, seed=1).cardinality()
        2
    """
    if format not in INDEXED_FORMATS:
        raise InvalidArgumentError(f"format is one of {', '.join(map(repr, INDEXED_FORMATS))}, and not {format!r}")
    counts = []
    for path in paths_of_files(paths, stage="build_index"):
        _refuse_compressed(path, "INFER")
        index = index_of(path, INDEXED_FORMATS[format].kind, INDEXED_FORMATS[format].scan)
        if index.fault is not None:
            raise index.fault
        counts.append(len(index))
    return counts


def _refuse_compressed(path: str, compression_type: str | None) -> None:
    name = checked_compression_type(compression_type)
    kind = compression_of(path) if name == "INFER" else name
    if kind:
        raise InvalidArgumentError(
            f"{path}: records of a file that is compressed ({kind}) cannot be read by their number"
        )


@known_as("indexed records")
class IndexedRecords:
    """The records of files by their number, file after file.

    Args:
        paths: the files, not compressed.
        record_format: what their records are.
        compression_type: as of the format's dataset; must come to none.
        stage: what errors call the operation.

    A file that is not there, or cannot be read, counts as one record, which is its error; so does what breaks off.

    Raises:
        InvalidArgumentError: a file is compressed.
        IndexError: from reading, a number that is not one of a record.
        DataLossError, InvalidArgumentError: from reading, what is wrong with a record; the file and its number are named.
    """

    def __init__(
        self,
        paths: Sequence[str],
        record_format: IndexedFormat,
        *,
        compression_type: str | None = None,
        stage: str | None = None,
    ) -> None:
        for path in paths:
            _refuse_compressed(path, compression_type)
        self._format = record_format
        self._stage = stage
        self._files = [_File.of(path, record_format) for path in paths]
        self._ends = np.cumsum([0, *(len(file) for file in self._files)], dtype=np.int64)
        self._open = _OpenFiles()

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: int) -> Any:
        number = index.__index__()
        return self.__getitems__([number + len(self) if number < 0 else number])[0]

    def __getitems__(self, indices: Sequence[int] | Array) -> list[Any]:
        """Returns the records of these numbers, in this order.

        Raises:
            IndexError: a number that is not one of a record.
            HeadraceError: a record that cannot be read; the file and its number are named.
        """
        numbers = np.asarray(indices, np.int64)
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(self)):
            raise IndexError(f"there are {len(self)} records, numbered from 0")
        records: list[Any] = [None] * len(numbers)
        files = np.searchsorted(self._ends, numbers, side="right") - 1
        for file in np.unique(files).tolist():
            places = np.flatnonzero(files == file)
            rows = numbers[places] - self._ends[file]
            for place, record in zip(places.tolist(), self._of_file(self._files[file], rows), strict=True):
                records[place] = record
        return records

    def columns(self, indices: Array) -> Array:
        """Returns the records of these numbers, as one array."""
        return object_array(self.__getitems__(indices))

    @property
    def versions(self) -> list[tuple[int, str] | None]:
        """For each file its size and what changes with its content; None where it cannot be read."""
        return [file.version for file in self._files]

    def __headrace_fingerprint__(self) -> Any:
        paths = [file.path for file in self._files]
        return ("IndexedRecords", self._format.kind, paths, self.versions)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, ([file.path for file in self._files], self._format, self._stage, self.versions)

    def _of_file(self, file: _File, rows: Array) -> list[Any]:
        records = []
        for row, data in zip(rows.tolist(), self._read(file, rows), strict=True):
            try:
                records.append(self._format.decode(data, file.path))
            except HeadraceError as error:
                placed = error.located(stage=self._stage, origin=f"{file.path}:{row + 1}")
                raise placed from error.__cause__
        return records

    def _read(self, file: _File, rows: Array) -> Iterable[bytes]:
        """Returns the bytes of records of a file."""
        if file.fault is not None and rows.max() >= len(file.spans):
            raise file.fault.located(stage=self._stage, origin=file.path)
        begins, lengths = file.spans[rows].T
        if lengths.max() > MAX_RECORD_BYTES:
            row = int(rows[lengths.argmax()])
            message = f"the record has {lengths.max()} bytes, and the limit is {MAX_RECORD_BYTES}"
            raise ResourceExhaustedError(message, stage=self._stage, origin=f"{file.path}:{row + 1}")
        ends = begins + lengths + self._format.after_bytes
        reader = self._open.reader(file)
        try:
            return _read_together(reader, begins, ends)
        except HeadraceError as error:
            raise error.located(stage=self._stage, origin=file.path) from error.__cause__


@frozen(eq=False)
class _File:
    """What is known of a file: where its records lie, and what is wrong after them."""

    path: str
    version: tuple[int, str] | None
    spans: Array
    fault: HeadraceError | None

    @classmethod
    def of(cls, path: str, record_format: IndexedFormat) -> _File:
        """Returns a file that cannot be read has no records but its error."""
        try:
            index = index_of(path, record_format.kind, record_format.scan)
        except (NotFoundError, FailedPreconditionError, DataLossError) as error:
            return cls(path, None, np.empty((0, 2), np.int64), without_frames(error))
        return cls(path, index.version, index.spans, index.fault)

    def __len__(self) -> int:
        return len(self.spans) + (self.fault is not None)


def _reopened(
    paths: list[str], record_format: IndexedFormat, stage: str | None, versions: list[tuple[int, str] | None]
) -> IndexedRecords:
    """Returns the same records in another process.

    Raises:
        DataLossError: a file changed in between, so that numbers mean something else.
    """
    records = IndexedRecords(paths, record_format, stage=stage)
    for path, version, now in zip(paths, versions, records.versions, strict=True):
        if version != now:
            raise _changed(path)
    return records


def _changed(path: str) -> HeadraceError:
    return DataLossError(f"{path} changed since its records were counted; build the dataset anew")


# --- reading ---------------------------------------------------------------------------------------------------------


def _read_together(reader: _Local | _Remote, begins: Array, ends: Array) -> Iterator[bytes]:
    """Returns the bytes between these offsets, in this order; those that are near each other are read at once."""
    order = np.argsort(begins, kind="stable")
    highest = np.maximum.accumulate(ends[order])
    starts_run = np.concatenate([[True], begins[order][1:] > highest[:-1] + _GAP_BYTES])
    firsts = np.flatnonzero(starts_run)
    run_begins = begins[order][firsts]
    run_ends = highest[np.append(firsts[1:], len(order)) - 1]
    if len(firsts) == len(order):  # the usual case where the order is random
        return iter(reader.read(begins.tolist(), ends.tolist()))
    runs = reader.read(run_begins.tolist(), run_ends.tolist())
    run_of = np.empty(len(order), np.int64)
    run_of[order] = np.cumsum(starts_run) - 1
    shifts = run_begins[run_of]
    pieces = zip(run_of.tolist(), (begins - shifts).tolist(), (ends - shifts).tolist(), strict=True)
    return (runs[run][begin:end] for run, begin, end in pieces)


class _OpenFiles:
    """The files that were used last. One that is dropped stays open until the thread that reads from it is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[str, _Local | _Remote] = {}

    def reader(self, file: _File) -> _Local | _Remote:
        """Returns a reader of the file as it was when its records were counted.

        Raises:
            DataLossError: it changed.
        """
        with self._lock:
            reader = self._readers.pop(file.path, None)
            if reader is None:
                reader = _Remote(file.path) if "://" in file.path else _Local(file.path)
            self._readers[file.path] = reader  # after the others: the first one is the one not used for longest
            if len(self._readers) > _OPEN_FILES:
                self._readers.pop(next(iter(self._readers)))
        if reader.version() != file.version:
            with self._lock:
                self._readers.pop(file.path, None)
            raise _changed(file.path)
        return reader


class _Local:
    """Reads a local file at any offset, from any thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        with says_which_file(path):
            self._file = io.FileIO(path)  # no bare descriptor: Ctrl-C between these lines would lose it
        weakref.finalize(self, self._file.close)
        self._turn = threading.Lock()

    def version(self) -> tuple[int, str]:
        found = os.fstat(self._file.fileno())
        return found.st_size, str(found.st_mtime_ns)

    def read(self, begins: list[int], ends: list[int]) -> list[bytes]:
        """Returns the bytes between these offsets."""
        with says_which_file(self._path):
            data = self._read_at(begins, ends)
        wanted = [end - begin for begin, end in zip(begins, ends, strict=True)]
        if list(map(len, data)) != wanted:
            data = [self._rest(*one) for one in zip(data, begins, ends, strict=True)]
        return data

    def _read_at(self, begins: list[int], ends: list[int]) -> list[bytes]:
        places = zip(begins, ends, strict=True)
        if _PREAD is not None:
            read, descriptor = _PREAD, self._file.fileno()
            return [read(descriptor, end - begin, begin) for begin, end in places]
        with self._turn:  # a file has one place, which all threads share
            return [self._file.read(end - begin) or b"" for begin, end in places if self._file.seek(begin) >= 0]

    def _rest(self, data: bytes, begin: int, end: int) -> bytes:
        """Returns all that was asked for: the system gives two gigabytes at once, at most."""
        while len(data) < end - begin:
            with says_which_file(self._path):
                (more,) = self._read_at([begin + len(data)], [end])
            if not more:
                raise _changed(self._path)
            data += more
        return data


class _Remote:
    """Reads a file of fsspec's at any offset, by a request of its own."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._version = version_of(path)

    def version(self) -> tuple[int, str]:
        return self._version

    def read(self, begins: list[int], ends: list[int]) -> list[bytes]:
        """Returns the bytes between these offsets."""
        return [self._read(begin, end) for begin, end in zip(begins, ends, strict=True)]

    def _read(self, begin: int, end: int) -> bytes:
        data = b""
        with says_which_file(self._path), closing(open_at(self._path, begin)) as file:
            while len(data) < end - begin:
                more = file.read(end - begin - len(data))
                if not more:
                    raise _changed(self._path)
                data += more
        return data
