"""Bytes of a file in order, decompressed on the way: by tf.data's names and those of the field, or by the file's suffix.

What always holds: what was read is right, and an end is the true end. A stream that breaks off, or whose checksum or
structure is wrong, raises DataLossError after the bytes before the fault have been read; so does a file that became
shorter while it was read. (TensorFlow takes a GZIP file that was cut short for a complete one.) Where exactly the bytes
before a fault end does not depend on who reads them in what portions, see ``decoding``.
"""

from __future__ import annotations

import os
from typing import BinaryIO, Final

from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.decoding import PORTION_BYTES, ByteStream, decoded
from headrace.io.files import open_at, says_which_file, size_when_opened
from headrace.io.http_file import is_http

__all__ = ["COMPRESSION_TYPES", "ByteStream", "checked_compression_type", "compression_of", "open_stream"]

# "" is none, as in tf.data; INFER takes each file's own from its suffix.
COMPRESSION_TYPES: Final = ("", "GZIP", "ZLIB", "BZ2", "XZ", "ZSTD", "LZ4", "INFER")

_BY_SUFFIX: Final = {
    ".gz": "GZIP",
    ".zz": "ZLIB",
    ".zlib": "ZLIB",
    ".bz2": "BZ2",
    ".xz": "XZ",
    ".zst": "ZSTD",
    ".lz4": "LZ4",
}


def checked_compression_type(compression_type: str | None) -> str:
    """Returns the name as tf.data writes it, in upper case; "" for none.

    Raises:
        InvalidArgumentError: for a name that is not known (tf.data ignores such a name in places).
    """
    name: object = "" if compression_type is None else compression_type
    name = name.upper() if isinstance(name, str) else name
    if name not in COMPRESSION_TYPES:
        known = ", ".join(map(repr, COMPRESSION_TYPES))
        raise InvalidArgumentError(f"compression_type is None or one of {known}, and not {compression_type!r}")
    return str(name)


def compression_of(path: str) -> str:
    """Returns the name of the compression that a file's suffix stands for, "" for none.

    Example:
        >>> from headrace.io.compression import compression_of
        >>> compression_of("rows.csv.zst"), compression_of("https://host/rows.csv.GZ?part=1"), compression_of("a.csv")
        ('ZSTD', 'GZIP', '')
    """
    name = _path_on_server(path) if is_http(path) else path
    return _BY_SUFFIX.get(os.path.splitext(name)[1].lower(), "")


def _path_on_server(address: str) -> str:
    without_query = address.partition("#")[0].partition("?")[0]
    return "/".join(without_query.split("/")[3:])  # after "https:", "" and the host


def open_stream(path: str, compression_type: str = "", offset: int = 0) -> ByteStream:
    """Opens a file to be read from ``offset`` bytes into its content on.

    A plain file is read from there; a compressed one is decompressed from its beginning.

    Raises:
        NotFoundError, FailedPreconditionError, DataLossError: as ``files.open_at`` says.
    """
    kind = compression_of(path) if compression_type == "INFER" else compression_type
    if not kind:
        return _Plain(open_at(path, offset), path, offset)
    stream = decoded(_Plain(open_at(path), path), path, kind)
    try:
        _skip(stream, path, offset)
    except BaseException:
        stream.close()
        raise
    return stream


class _Plain:
    """A file as it is."""

    def __init__(self, file: BinaryIO, path: str, offset: int = 0) -> None:
        self._file = file
        self._path = path
        self._at = offset
        self._size = size_when_opened(file)
        self.close = file.close

    def read(self, size: int, /) -> bytes:
        with says_which_file(self._path):
            portion = self._file.read(size)
        self._at += len(portion)
        if not portion and self._size is not None and self._at < self._size:
            raise DataLossError(
                f"{self._path} had {self._size} bytes when it was opened, and ends at byte {self._at}: it became "
                "shorter while it was read"
            )
        return portion


def _skip(stream: ByteStream, path: str, offset: int) -> None:
    left = offset
    while left:
        skipped = len(stream.read(min(left, PORTION_BYTES)))
        if not skipped:
            raise DataLossError(
                f"{path} has {offset - left} bytes, and reading is to go on at byte {offset}: the file has changed"
            )
        left -= skipped
