"""What the readers of streams of bytes have in common: checked arguments, a buffer that is read on, a failure raised once.

``StreamReader`` is for every reader of a file that may be compressed; ``BufferedReader`` also holds the bytes that were read
and are not records yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final

from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.io.compression import ByteStream, checked_compression_type, compression_of, open_stream
from headrace.io.files import path_of, read_file
from headrace.io.reader import Chunk, RecordPosition

__all__ = ["DEFAULT_BUFFER_BYTES", "MAX_RECORD_BYTES", "BufferedReader", "StreamReader"]

# Long enough that the cost of a call vanishes, and that a file of a hundred wide rows is one piece; short enough to hold
# for each file that is open.
DEFAULT_BUFFER_BYTES: Final = 1 << 21
# No record is this long by intent; a quote that is never closed, or a file without line breaks, is.
MAX_RECORD_BYTES: Final = 1 << 28


class StreamReader(ABC):
    """A ``RecordReader`` of a file that is a stream of bytes; the file is not touched before the first ``read``.

    Args:
        path: the file, local or with ``://``.
        compression_type: how the file is compressed, one of ``compression.COMPRESSION_TYPES``; None is none.
        buffer_size: bytes to read at once, or None for a good size.
        max_record_bytes: the longest record that is read.

    Raises:
        InvalidArgumentError: an argument does not fit.
    """

    # The largest buffer, and the longest record, that a subclass can hold.
    _most_bytes: ClassVar[int | None] = None

    def __init__(
        self, path: str, *, compression_type: str | None, buffer_size: int | None, max_record_bytes: int
    ) -> None:
        self._path = path_of(path)
        self._compression_type = checked_compression_type(compression_type)
        self._max_record_bytes = self._checked_size("max_record_bytes", max_record_bytes)
        self._buffer_size = self._checked_size(
            "buffer_size", DEFAULT_BUFFER_BYTES if buffer_size is None else buffer_size
        )

    @property
    def path(self) -> str:
        """The file, as the caller named it."""
        return self._path

    @property
    @abstractmethod
    def position(self) -> RecordPosition:
        """Where the next record that ``read`` returns begins."""

    def read(self, max_records: int) -> Chunk | None:
        """Returns the next 1 to ``max_records`` records, or None at the end of the file.

        Raises:
            HeadraceError: for the next record, or the file; the next call goes on after it.
        """
        if max_records < 1:
            raise InvalidArgumentError(f"max_records is at least 1, and not {max_records}")
        return self._read(max_records)

    @abstractmethod
    def _read(self, max_records: int) -> Chunk | None:
        """Does what ``read`` says."""

    @abstractmethod
    def close(self) -> None:
        """Closes the file; ``read`` then returns None. May be called twice."""

    def _at_line(self, error: HeadraceError, line: int) -> HeadraceError:
        return error.located(stage=None, origin=f"{self._path}:{line}")

    def _checked_size(self, name: str, size: int) -> int:
        most = self._most_bytes
        if size < 1 or (most is not None and size > most):
            bounds = "of at least 1" if most is None else f"from 1 to {most}"
            raise InvalidArgumentError(f"{name} is a number of bytes {bounds}, and not {size}")
        return size


class BufferedReader(StreamReader):
    """A ``StreamReader`` that cuts its records out of a buffer.

    Args:
        ended: whether reading ended already, because the file failed.
        path, compression_type, buffer_size, max_record_bytes: as for ``StreamReader``.
    """

    def __init__(
        self,
        path: str,
        *,
        compression_type: str | None,
        buffer_size: int | None,
        max_record_bytes: int,
        ended: bool,
    ) -> None:
        super().__init__(
            path, compression_type=compression_type, buffer_size=buffer_size, max_record_bytes=max_record_bytes
        )
        self._stream: ByteStream | None = None
        self._was_opened = False
        self._data = b""
        self._ended = ended  # nothing follows _data
        self._failure: HeadraceError | None = None  # what ended the file after _data

    def read_whole(self) -> None:
        """Reads a local file to its end in as few calls as can be, where it is not compressed; from its beginning, of one that is short.

        Raises:
            HeadraceError: it cannot be read.
        """
        kind = compression_of(self._path) if self._compression_type == "INFER" else self._compression_type
        if not kind:
            self._data, self._ended, self._was_opened = read_file(self._path), True, True

    def _read_on(self, left: bytes, offset: int) -> None:
        """Makes the buffer ``left``, and a buffer more or as much again; opens the file at ``offset`` first."""
        pieces = [left] if left else []
        wanted = max(self._buffer_size, len(left))
        try:
            if self._stream is None:
                self._stream = open_stream(self._path, self._compression_type, offset)
                self._was_opened = True
            while wanted and (piece := self._stream.read(wanted)):
                pieces.append(piece)
                wanted -= len(piece)
            self._ended = bool(wanted)
            if self._ended:
                self._close_stream()
        except HeadraceError as error:
            self._failure = error
        self._data = pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def _has_no_more(self) -> bool:
        """Whether nothing follows what was in the buffer, of which nothing is left."""
        return self._ended and self._failure is None

    def _told(self, error: HeadraceError, line: int) -> HeadraceError:
        """Returns the error with its line; one of opening the file names the file itself."""
        return self._at_line(error, line) if self._was_opened else error

    def _stop(self) -> None:
        """Closes the file and drops the buffer: nothing more is read."""
        self._close_stream()
        self._data = b""
        self._ended = True
        self._failure = None

    def _close_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None
