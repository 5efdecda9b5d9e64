"""The formats whose records can be read by their number."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from headrace.frozen import frozen
from headrace.io.indexing.index import Scan
from headrace.io.indexing.scans import scan_frames, scan_lines
from headrace.io.tar.elements import decode_element, scan_elements
from headrace.io.text.reader import not_utf8
from headrace.io.tfrecord.reader import crc32c_function, masked, wrong_checksum

__all__ = ["INDEXED_FORMATS", "IndexedFormat"]


@frozen
class IndexedFormat:
    """A format whose records can be read by their number.

    Attributes:
        kind: its name in an index.
        scan: where the records of a file lie.
        decode: what the bytes of a record in a file are; raises what is wrong with them.
        after_bytes: how many bytes after a record ``decode`` needs, too.
    """

    kind: str
    scan: Scan
    decode: Callable[[bytes, str], Any]
    after_bytes: int = 0


def _decoded_line(data: bytes, _: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(error) from error


_crc32c = functools.cache(crc32c_function)


def _checked_record(data: bytes, _: str) -> bytes:
    record = data[:-4]
    if data[-4:] != masked(_crc32c()(record)):
        raise wrong_checksum()
    return record


INDEXED_FORMATS: Final = {
    "tar": IndexedFormat("tar", scan_elements, decode_element),
    "text": IndexedFormat("text", scan_lines, _decoded_line),
    "tfrecord": IndexedFormat("tfrecord", scan_frames, _checked_record, after_bytes=4),
}
