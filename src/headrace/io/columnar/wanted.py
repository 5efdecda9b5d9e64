"""What is wanted of files of columns, and what such a file must offer to be read; nothing here needs Arrow yet."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.file_format import Piece
from headrace.known_as import known_as

__all__ = ["Expected", "Filters", "RowGroups", "Selection", "checked_columns", "checked_filters", "in_parts"]

# Alternatives of conditions that hold together: (column, operator, value).
Filters = tuple[tuple[tuple[str, str, Any], ...], ...]
_OPERATORS: Final = ("=", "==", "!=", "<", ">", "<=", ">=", "in", "not in")


@known_as("expected columns")
@frozen
class Expected:
    """What the columns of all files are, and the file that says so.

    Attributes:
        path: the first file that could be read.
        spec: the structure of ``TensorSpec`` of one row, by column.
    """

    path: str
    spec: Mapping[str, Any]


@known_as("selection of columns")
@frozen(kw_only=True)
class Selection:
    """Which columns and rows are wanted.

    Attributes:
        columns: their names, in the order of the elements; None is all of them.
        filters: which rows, None is all of them.
        record_defaults: what stands for a null, by column.
        expected: what the columns are; None takes each file as it is.
    """

    columns: tuple[str, ...] | None = None
    filters: Filters | None = None
    record_defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    expected: Expected | None = None


class RowGroups(Protocol):
    """A file of columns that is open: rows in groups, each of which can be read without those before it."""

    says_where: ClassVar[bool]  # whether it has starts
    at: int  # the first row of the group that is read, or was read last

    @property
    def starts(self) -> Sequence[int]:
        """The row at which each group begins, and the number of all rows."""
        ...

    def batches(
        self, row: int, piece: Piece | None = None, stop: int | None = None, *, beside_others: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """Returns what is wanted of the rows from this one on: record batches, and the number of each row in the file.

        Of one group where there is a piece, and of the groups that begin before row ``stop`` where that is given.
        ``beside_others`` says that several threads read parts of files, so that each had better have none to help it.
        """
        ...

    def parts(self, row: int) -> list[int]:
        """Returns the rows from this one on at which a part begins that is worth a task, so that several threads can read them.

        The first may begin before the row; where the file cannot be read in parts, there is one at most.
        """
        ...

    def another(self) -> RowGroups:
        """Returns the same file opened once more, for another thread; of a file that has parts.

        Raises:
            HeadraceError: it cannot be opened any more.
        """
        ...

    def after(self, row: int) -> int | None:
        """Returns the first row of the group after that in which a row is; None after the last."""
        ...

    def close(self) -> None:
        """Closes the file."""
        ...


def in_parts(sizes: Sequence[int], nbytes: int) -> list[int]:
    """Puts neighbours together until they have so many bytes, and returns which is the first of each part."""
    firsts: list[int] = []
    held = nbytes
    for index, size in enumerate(sizes):
        if held >= nbytes:
            firsts.append(index)
            held = 0
        held += size
    return firsts


def checked_columns(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Returns the names of columns, once each.

    Raises:
        TypeError: they are no sequence of names.
        InvalidArgumentError: there is none, or one comes twice.
    """
    if columns is None:
        return None
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"columns must be a list of names, not {columns!r}")
    names = tuple(columns)
    if not names or len(set(names)) != len(names):
        raise InvalidArgumentError(f"columns must name at least one column, and each once; {list(names)} does not")
    return names


def checked_filters(filters: Any) -> Filters | None:
    """Conditions in the form that pyarrow takes, as plain data.

    Args:
        filters: a list of conditions that all hold, or a list of such lists, of which one holds.

    Raises:
        InvalidArgumentError: it is something else.
    """
    if filters is None:
        return None
    groups = [filters] if filters and all(_is_condition(part) for part in filters) else filters
    if not groups or not all(group and all(_is_condition(part) for part in group) for group in groups):
        raise InvalidArgumentError(
            f"filters must be a list of (column, operator, value), or a list of such lists, with an operator of "
            f"{', '.join(_OPERATORS)}; not {filters!r}"
        )
    return tuple(tuple((column, operator, _plain(value)) for column, operator, value in group) for group in groups)


def _is_condition(part: Any) -> bool:
    return isinstance(part, (tuple, list)) and len(part) == 3 and isinstance(part[0], str) and part[1] in _OPERATORS


def _plain(value: Any) -> Any:
    """Returns a value that stays as it is: of a set, the order is made one that another process would give as well."""
    if isinstance(value, (set, frozenset)):
        return tuple(sorted(value, key=repr))
    return tuple(value) if isinstance(value, list) else value
