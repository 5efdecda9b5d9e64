r"""Lines of text, as tf.data's TextLineDataset delivers them, as str.

A line ends with ``\n`` or ``\r\n``, which is not part of it, or with the file; an empty line counts. Any other ``\r``
is data and stays (TensorFlow silently drops every one). A line that is not UTF-8 is a bad record.
"""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.io.block_reader import NO_RECORDS, BlockReader, Header, Records
from headrace.io.reader import Array, RecordPosition
from headrace.io.stream_reader import MAX_RECORD_BYTES

__all__ = ["LineParser", "LineReader", "line_ends", "not_utf8", "whole_lines"]

_LINE_FEED = ord("\n")


class LineReader(BlockReader):
    r"""Reads the lines of one file: a ``RecordReader`` with one component, an object array of str.

    Args:
        path: the file, local or with ``://``.
        compression_type: how the file is compressed, one of ``compression.COMPRESSION_TYPES``; None is none.
        buffer_size: bytes to read at once, or None for a good size.
        position: where to begin.
        max_record_bytes: the longest line that is read.

    Raises:
        InvalidArgumentError: when an argument does not fit; from ``read``, for a line that is not UTF-8.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.io.text.reader import LineReader
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "poem.txt")
        ...     _ = path.write_text("one\n\nthree")
        ...     LineReader(str(path)).read(max_records=10).columns
        (array(['one', '', 'three'], dtype=object),)
    """

    def __init__(
        self,
        path: str,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        position: RecordPosition | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(
            path,
            LineParser(),
            compression_type=compression_type,
            buffer_size=buffer_size,
            position=position,
            max_record_bytes=max_record_bytes,
        )


class LineParser:
    """A record is a line."""

    has_header = False

    def header(self, data: bytes, *, last: bool) -> Header | None:
        """Returns an empty header: nothing comes before the first line."""
        return Header(0, 0)

    def parse(self, data: bytes, *, last: bool) -> Records:
        """Returns the lines, all decoded at once; one by one only where that fails."""
        body = whole_lines(data, last=last)
        if not body:
            return NO_RECORDS
        faults: dict[int, InvalidArgumentError] = {}
        try:
            lines = _lines(body)
        except UnicodeDecodeError:
            lines = _decodable_lines(body, faults)
        column = np.empty(len(lines), object)
        column[:] = lines
        ends = line_ends(body)
        line_breaks = len(ends) if body.endswith(b"\n") else len(ends) - 1
        return Records((column,), None, ends, range(len(ends)), line_breaks, faults)


def whole_lines(data: bytes, *, last: bool) -> bytes:
    """Returns the lines that are complete; all of it when nothing follows."""
    return data if last else data[: data.rfind(b"\n") + 1]


def not_utf8(error: UnicodeDecodeError) -> InvalidArgumentError:
    """Returns the error of text that is not UTF-8, which says what to do."""
    byte = error.object[error.start]
    reason = f"not UTF-8 ({error.reason}: byte 0x{byte:02x}); convert the file, or read it as bytes"
    fault = InvalidArgumentError(reason)
    fault.__cause__ = error.with_traceback(None)
    return fault


def _lines(body: bytes) -> list[str]:
    text = body.decode()
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()  # the file, or the buffer, ends with a line break
    return lines


def _decodable_lines(body: bytes, faults: dict[int, InvalidArgumentError]) -> list[str]:
    lines = body.replace(b"\r\n", b"\n").split(b"\n")
    if not lines[-1]:
        lines.pop()
    decoded = []
    for index, line in enumerate(lines):
        try:
            decoded.append(line.decode())
        except UnicodeDecodeError as error:
            decoded.append("")
            faults[index] = not_utf8(error)
    return decoded


def line_ends(body: bytes) -> Array:
    """Returns where each line ends, line break included."""
    ends = (np.frombuffer(body, np.uint8) == _LINE_FEED).nonzero()[0] + 1
    return ends if body.endswith(b"\n") else np.append(ends, len(body))
