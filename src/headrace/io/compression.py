"""Bytes of a file in order, decompressed on the way: none, GZIP or ZLIB, by tf.data's names.

What always holds: what was read is right, and an end is the true end. A stream that breaks off, or whose checksum or
structure is wrong, raises DataLossError after the bytes before the fault have been read. (TensorFlow takes a GZIP
file that was cut short for a complete one.) Where exactly the bytes before a fault end does not depend on who reads
them in what portions: compressed bytes enter, and decompressed ones leave zlib, in portions of fixed size.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO, Final, Protocol

from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.files import open_at, says_which_file

__all__ = ["COMPRESSION_TYPES", "ByteStream", "checked_compression_type", "open_stream"]

COMPRESSION_TYPES: Final = ("", "GZIP", "ZLIB")

# What zlib calls the two formats: the window's bits, and 16 more for the header and checksum of gzip.
_WINDOW_BITS: Final = {"GZIP": 16 + zlib.MAX_WBITS, "ZLIB": zlib.MAX_WBITS}
# Large enough that zlib's work, not the calls, is the cost; small enough to stay in a core's own cache.
_PORTION_BYTES: Final = 1 << 17


class ByteStream(Protocol):
    """The bytes of one file, in order."""

    def read(self, size: int, /) -> bytes:
        """The next 1 to ``size`` bytes, or b"" at the end."""
        ...

    def close(self) -> None:
        """Closes the file."""
        ...


def checked_compression_type(compression_type: str | None) -> str:
    """The name as tf.data writes it, "" for none.

    Raises:
        InvalidArgumentError: for a name that is not one of tf.data's (which ignores such a name in places).
    """
    name = compression_type or ""
    if name not in COMPRESSION_TYPES:
        raise InvalidArgumentError(f"compression_type is None, '', 'GZIP' or 'ZLIB', and not {compression_type!r}")
    return name


def open_stream(path: str, compression_type: str = "", offset: int = 0) -> ByteStream:
    """Opens a file to be read from ``offset`` bytes into its content on.

    A plain file is read from there; a compressed one is decompressed from its beginning.

    Raises:
        NotFoundError, FailedPreconditionError, DataLossError: as ``files.open_at`` says.
    """
    if not compression_type:
        return _Plain(open_at(path, offset), path)
    stream = _Inflating(open_at(path), path, compression_type)
    try:
        _skip(stream, path, offset)
    except BaseException:
        stream.close()
        raise
    return stream


class _Plain:
    """A file as it is."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path
        self.close = file.close

    def read(self, size: int, /) -> bytes:
        with says_which_file(self._path):
            return self._file.read(size)


class _Inflating:
    """A compressed file; several streams one after the other, as ``cat a.gz b.gz`` writes them, are one."""

    def __init__(self, file: BinaryIO, path: str, compression_type: str) -> None:
        self._raw = _Plain(file, path)
        self._path = path
        self._kind = compression_type
        self._decoder = zlib.decompressobj(_WINDOW_BITS[compression_type])
        self._begun = False  # whether the decoder was given anything
        self._waiting = b""  # decompressed, not read
        self.close = file.close

    def read(self, size: int, /) -> bytes:
        if not self._waiting:
            self._waiting = self._inflate()
        taken, self._waiting = self._waiting[:size], self._waiting[size:]
        return taken

    def _inflate(self) -> bytes:
        """The next decompressed bytes, b"" at the end."""
        while True:
            source = self._source()
            self._begun = self._begun or bool(source)
            try:
                # Without a source as well: zlib may hold output for which there was no room.
                inflated = self._decoder.decompress(source, _PORTION_BYTES)
            except zlib.error as error:
                raise DataLossError(
                    f"{self._path} is no {self._kind} stream, or a corrupt one ({error}); check compression_type"
                ) from error
            if inflated:
                return inflated
            if not source:
                return self._at_the_end()

    def _source(self) -> bytes:
        """The next compressed bytes, b"" at the end of the file."""
        if not self._decoder.eof:
            return self._decoder.unconsumed_tail or self._raw.read(_PORTION_BYTES)
        # Zeros may pad a gzip file to a block of a tape or disk.
        left = self._decoder.unused_data.lstrip(b"\0")
        while not left and (more := self._raw.read(_PORTION_BYTES)):
            left = more.lstrip(b"\0")
        self._decoder = zlib.decompressobj(_WINDOW_BITS[self._kind])
        self._begun = False
        return left

    def _at_the_end(self) -> bytes:
        if self._begun and not self._decoder.eof:
            raise DataLossError(f"{self._path} ends in the middle of its {self._kind} stream; it was cut short")
        return b""


def _skip(stream: ByteStream, path: str, offset: int) -> None:
    left = offset
    while left:
        skipped = len(stream.read(min(left, _PORTION_BYTES)))
        if not skipped:
            raise DataLossError(
                f"{path} has {offset - left} bytes, and reading is to go on at byte {offset}: the file has changed"
            )
        left -= skipped
