"""JSON Lines: a JSON object a line, as dicts of what Python's json makes of it, or as columns of fields that are named.

A line ends as a line of text does (see ``text``). A line of nothing but whitespace holds no record and is passed over. Any
other that is no JSON object, or lacks a field or has one that does not fit, is a bad record.

Without fields a record is its object as it is written: keys in their order, null as None, lists as arrays (as anywhere
in an element; a list whose items differ in shape is a bad record), whole numbers as int and others as float.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.elements.rows_and_columns import normalize_rows, rows_of
from headrace.elements.structure import Element, normalize, object_array
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.io.block_reader import NO_RECORDS, BlockReader, Header, Records
from headrace.io.json_lines.columns import columns_of_lines
from headrace.io.json_lines.fields import JsonFields
from headrace.io.json_lines.objects import object_of_line
from headrace.io.json_lines.values import column_of_values, placeholder, row_of_object
from headrace.io.reader import Array, RecordPosition
from headrace.io.stream_reader import MAX_RECORD_BYTES
from headrace.io.text.reader import LineParser, line_ends, whole_lines

__all__ = ["JsonLinesParser", "JsonLinesReader"]

# What JSON calls whitespace; a line has no line feed in it.
_WHITESPACE = " \t\r"


class JsonLinesReader(BlockReader):
    r"""Reads the records of one file: a ``RecordReader``.

    Its components are the fields, in the order of the element's leaves. Where none are named, or one is an array whose
    shape varies, there are no columns but the elements one by one.

    Args:
        path: the file, local or with ``://``.
        fields: what is read of each record; None for all that is there.
        compression_type: how the file is compressed, one of ``compression.COMPRESSION_TYPES``; None is none.
        buffer_size: bytes to read at once, or None for a good size.
        position: where to begin.
        max_record_bytes: the longest line that is read, with blank lines after it.

    Raises:
        InvalidArgumentError: when an argument does not fit; from ``read``, for a line that does not.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.io.json_lines.fields import JsonFields
        >>> from headrace.io.json_lines.reader import JsonLinesReader
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.jsonl")
        ...     _ = path.write_text('{"id": 7, "text": "a"}\n{"text": "b"}\n')
        ...     JsonLinesReader(str(path), JsonFields.of({"id": 0, "text": str})).read(max_records=10).columns
        (array([7, 0], dtype=int32), array(['a', 'b'], dtype=object))
    """

    def __init__(
        self,
        path: str,
        fields: JsonFields | None = None,
        *,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        position: RecordPosition | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(
            path,
            JsonLinesParser(fields),
            compression_type=compression_type,
            buffer_size=buffer_size,
            position=position,
            max_record_bytes=max_record_bytes,
        )


class JsonLinesParser:
    """A record is a line that is not blank."""

    has_header = False

    def __init__(self, fields: JsonFields | None) -> None:
        self._fields = fields

    def header(self, data: bytes, *, last: bool) -> Header | None:
        """Returns an empty header: nothing comes before the first line."""
        return Header(0, 0)

    def parse(self, data: bytes, *, last: bool) -> Records:
        """Returns the records of the complete lines: fast, and carefully where that does not do."""
        body = whole_lines(data, last=last)
        if not body:
            return NO_RECORDS
        if self._fields is not None:
            ends = line_ends(body)
            columns = columns_of_lines(body, ends, self._fields)
            if columns is not None:
                return self._records(columns, ends, range(len(ends)), body.count(b"\n"), {})
        return self.parse_carefully(body)

    def parse_carefully(self, body: bytes) -> Records:
        """Returns the same of whole lines, a record at a time: the reference, and what words the errors."""
        text = LineParser().parse(body, last=True)
        lines: list[str] = text.arrays[0].tolist()
        kept = [index for index, line in enumerate(lines) if index in text.faults or line.strip(_WHITESPACE)]
        if not kept:
            return Records((), None, NO_RECORDS.ends, range(0), text.line_breaks, {}, blank_bytes=len(body))
        faults = {nth: text.faults[index] for nth, index in enumerate(kept) if index in text.faults}
        columns = self._columns([lines[index] for index in kept], faults)
        # Blank lines belong to the record before them, so that the next one begins where its line does.
        numbers = np.array(kept)
        ends = text.ends[np.append(numbers[1:] - 1, len(lines) - 1)]
        return self._records(columns, ends, numbers, text.line_breaks, faults)

    def _records(
        self,
        columns: list[Array],
        ends: Array,
        lines: range | Array,
        line_breaks: int,
        faults: Mapping[int, HeadraceError],
    ) -> Records:
        fields = self._fields
        if fields is None:
            return Records((), None, ends, lines, line_breaks, faults, rows=columns[0].tolist())
        if fields.vary:
            return Records((), None, ends, lines, line_breaks, faults, rows=rows_of(fields.treedef, columns))
        return Records(tuple(columns), None, ends, lines, line_breaks, faults)

    def _columns(self, lines: list[str], faults: dict[int, HeadraceError]) -> list[Array]:
        """Returns the columns of these lines; what is wrong with those that are not known to be bad is added to ``faults``."""
        fields = self._fields
        if fields is None:
            objects = _parsed(lines, object_of_line, dict, faults)
            return [object_array(_normalized(objects, faults))]
        rows = _parsed(
            lines,
            lambda line: row_of_object(object_of_line(line), fields),
            lambda: [placeholder(field) for field in fields],
            faults,
        )
        return [column_of_values(values, field) for values, field in zip(zip(*rows, strict=True), fields, strict=True)]


def _parsed(
    lines: list[str], parse: Callable[[str], Any], instead: Callable[[], Any], faults: dict[int, HeadraceError]
) -> list[Any]:
    parsed = []
    for nth, line in enumerate(lines):
        try:
            parsed.append(instead() if nth in faults else parse(line))
        except InvalidArgumentError as error:
            parsed.append(instead())
            faults[nth] = error.with_traceback(None)
    return parsed


def _normalized(objects: list[Element], faults: dict[int, HeadraceError]) -> list[Element]:
    """Objects with their lists as arrays: all at once, and one by one only where one of them is none."""
    try:
        return normalize_rows(objects, {dict})
    except InvalidArgumentError:
        return _parsed(objects, normalize, dict, faults)
