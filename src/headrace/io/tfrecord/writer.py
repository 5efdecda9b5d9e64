"""Writes TFRecord files, as ``tf.io.TFRecordWriter`` writes them, byte for byte."""

from __future__ import annotations

import os
import struct
import zlib
from typing import Final, Self

from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.io.atomic_file import AtomicFile
from headrace.io.tfrecord.reader import crc32c_function, masked

__all__ = ["TFRecordWriter"]

# What zlib calls the formats: the window's bits, and 16 more for the header and checksum of gzip.
_WINDOW_BITS: Final = {"GZIP": 16 + zlib.MAX_WBITS, "ZLIB": zlib.MAX_WBITS}


class TFRecordWriter:
    """Writes a TFRecord file, which appears under its name when it is complete.

    An exception in the ``with`` block leaves nothing behind, and what stood under the name before stays.

    Args:
        path: where it will stand: a local path, whose folder is made, or an address with ``://`` that fsspec knows.
        compression_type: ``None``, ``"GZIP"`` or ``"ZLIB"``.

    Raises:
        MissingExtraError: google-crc32c is not installed.
        InvalidArgumentError: an unknown compression.
        FailedPreconditionError: nothing can be written there; or, from ``write``, the writer is closed.
        TypeError: from ``write``, for what is not bytes.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "numbers.tfrecord"
        >>> with hr.io.TFRecordWriter(path) as writer:
        ...     for number in range(3):
        ...         writer.write(number.to_bytes(4, "little"))
        >>> hr.TFRecordDataset(path).map(lambda record: int.from_bytes(record, "little")).reduce(0, lambda a, b: a + b)
        3
    """

    def __init__(self, path: str | os.PathLike[str], compression_type: str | None = None) -> None:
        if compression_type and compression_type not in _WINDOW_BITS:
            raise InvalidArgumentError(f"compression_type is None, '', 'GZIP' or 'ZLIB', and not {compression_type!r}")
        self._crc32c = crc32c_function()
        self._deflate = zlib.compressobj(wbits=_WINDOW_BITS[compression_type]) if compression_type else None
        self._file = AtomicFile(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._file.abandon()

    def write(self, record: bytes | bytearray | memoryview) -> None:
        """Writes a record."""
        if not isinstance(record, bytes | bytearray | memoryview):
            raise TypeError(f"a record is bytes, and not {type(record).__name__}")
        if not self._file.is_open:
            raise FailedPreconditionError(f"{self._file.path}: the writer is closed")
        payload = bytes(record)
        length = struct.pack("<Q", len(payload))
        frame = b"".join((length, masked(self._crc32c(length)), payload, masked(self._crc32c(payload))))
        self._file.write(self._deflate.compress(frame) if self._deflate else frame)

    def close(self) -> None:
        """Completes the file; may be called twice."""
        if self._deflate is not None and self._file.is_open:
            self._file.write(self._deflate.flush())
        self._file.complete()
