"""What is wanted of files of columns, fitted to the columns that one file has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.columnar.arrow_specs import NUMBERS, difference, spec_of_type, storage_of
from headrace.io.columnar.wanted import Filters, Selection
from headrace.io.file_format import Piece
from headrace.io.files import says_which_file
from headrace.io.reader import Array

__all__ = ["BoundSelection", "bound", "check_piece", "check_reaches", "says_what_arrow_says"]


@frozen(eq=False)
class BoundSelection:
    """Which columns and rows of one file are wanted.

    Attributes:
        names: the columns of the elements, in order.
        read: those, and the columns that the filters look at, in the file's order.
        filters: which rows, None is all of them.
        expression: the filters as pyarrow takes them, None where there are none.
        judged: the columns that the filters look at.
        spec: the structure of ``TensorSpec`` of one row.
        widths: how many bytes a value has of each column that is read; 0 where they differ.
        dictionaries: those of the columns that are read which have a dictionary, however deep.
    """

    names: list[str]
    read: list[str]
    filters: Filters | None
    expression: Any
    judged: list[str]
    spec: Mapping[str, Any]
    widths: list[int]
    dictionaries: list[str]

    def wanted(self, batch: pa.RecordBatch, first: int) -> tuple[pa.RecordBatch, range | Array]:
        """Returns the rows of a batch that the filters let through, and their numbers; ``first`` is that of its first row."""
        chosen = batch.select(self.names)
        if self.expression is None:
            return chosen, range(first, first + batch.num_rows)
        positions = pa.array(np.arange(batch.num_rows))
        judged = pa.Table.from_arrays(
            [*(batch.column(name) for name in self.judged), positions], names=[*self.judged, "position of the row"]
        )
        kept = judged.filter(self.expression).column("position of the row").combine_chunks()
        rows = kept.to_numpy() + first
        return (chosen if len(kept) == batch.num_rows else chosen.take(kept)), rows


# What was wanted last, of which schema, and what that came to: files of one dataset have one schema.
_last: tuple[Selection, pa.Schema, BoundSelection] | None = None


def bound(selection: Selection, schema: pa.Schema, path: str) -> BoundSelection:
    """Returns what is wanted of a file with these columns.

    Raises:
        InvalidArgumentError: a column is not there, is not what it is in the first file, or is of a type that is no
            element's; or a filter or a default does not fit its column.
    """
    global _last  # noqa: PLW0603 - replaced as a whole, so it needs no lock
    known = _last
    if known is None or known[0] is not selection or not known[1].equals(schema):
        _last = known = (selection, schema, _bound(selection, schema, path))
    return known[2]


def _bound(selection: Selection, schema: pa.Schema, path: str) -> BoundSelection:
    if len(set(schema.names)) != len(schema.names):
        raise InvalidArgumentError(f"{path} has several columns of one name: {schema.names}")
    expected = selection.expected
    names = _names(selection, schema)
    judged = sorted({column for group in selection.filters or () for column, _, _ in group})
    _check_names(path, schema.names, [*names, *judged], expected.path if expected is not None else None)
    spec = {name: spec_of_type(schema.field(name).type, name) for name in names}
    if expected is not None and (other := difference(spec, expected.spec)) is not None:
        raise InvalidArgumentError(
            f"{path}: column '{other}' is {spec[other]}, and in {expected.path} it is {expected.spec[other]}"
        )
    _check_defaults(selection.record_defaults, schema, names)
    wanted = {*names, *judged}
    read = [name for name in schema.names if name in wanted]
    kinds = {name: schema.field(name).type for name in read}
    return BoundSelection(
        names=names,
        read=read,
        filters=selection.filters,
        expression=_expression(selection, schema, judged),
        judged=judged,
        spec=spec,
        widths=[_width(kind) for kind in kinds.values()],
        dictionaries=[name for name, kind in kinds.items() if kind not in NUMBERS and "dictionary" in str(kind)],
    )


def _width(kind: pa.DataType) -> int:
    """Returns how many bytes a value takes; 0 where they differ."""
    try:
        return max(1, int(storage_of(kind).bit_width) // 8)
    except ValueError:
        return 0


def _names(selection: Selection, schema: pa.Schema) -> list[str]:
    if selection.columns is not None:
        return list(selection.columns)
    return list(schema.names if selection.expected is None else selection.expected.spec)


def _check_names(path: str, there: list[str], wanted: list[str], like: str | None) -> None:
    missing = [name for name in dict.fromkeys(wanted) if name not in there]
    if missing or not there:
        wish = f"no column {', '.join(map(repr, missing))}" if missing else "no columns"
        other = f", which {like} has" if like is not None and like != path else ""
        raise InvalidArgumentError(f"{path} has {wish}{other}; its columns are {there}")


def _check_defaults(defaults: Mapping[str, Any], schema: pa.Schema, names: list[str]) -> None:
    for column, default in defaults.items():
        if column.partition(".")[0] not in names:
            raise InvalidArgumentError(f"record_defaults names column '{column}', which is not among {names}")
        if column not in names or isinstance(default, (list, tuple, np.ndarray)):
            continue
        kind = schema.field(column).type
        while pa.types.is_dictionary(kind) or (pa.types.is_nested(kind) and hasattr(kind, "value_type")):
            kind = kind.value_type
        try:
            pa.scalar(default, kind)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            message = f"record_defaults: {default!r} is no value of column '{column}', which is {kind}"
            raise InvalidArgumentError(message) from error


def _expression(selection: Selection, schema: pa.Schema, judged: list[str]) -> Any:
    if selection.filters is None:
        return None
    try:
        expression = pq.filters_to_expression([list(group) for group in selection.filters])
        schema.empty_table().select(judged).filter(expression)  # of no rows: it only tells whether the types fit
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the filters {list(selection.filters)} do not fit: {error}") from error
    return expression


def check_reaches(path: str, rows: int, row: int) -> None:
    """Refuses to go on in a file at a row that it has not.

    Raises:
        DataLossError: the file has fewer rows.
    """
    if row > rows:
        raise DataLossError(f"{path} has {rows} rows, and reading is to go on at row {row}: the file has changed")


def check_piece(path: str, piece: Piece, records: range) -> None:
    """Refuses to read a piece that is another one than when the file was dealt.

    Raises:
        DataLossError: the file has these records there.
    """
    if records != piece.records:
        expected = f"rows {piece.records.start} to {piece.records.stop}"
        raise DataLossError(
            f"{path} had {expected} in row group {piece.number} when it was dealt: the file has changed"
        )


@contextmanager
def says_what_arrow_says(path: str, form: str) -> Iterator[None]:
    """Turns Arrow's errors about a file into ours: what it refuses is not what was written."""
    try:
        with says_which_file(path):
            yield
    except HeadraceError:
        raise
    except (pa.ArrowException, MemoryError, UnicodeError, OverflowError, ValueError, LookupError) as error:
        # Arrow takes a hostile length for a wish for memory, and a broken name for no key.
        raise DataLossError(f"{path} cannot be read as {form}: {error}") from error
