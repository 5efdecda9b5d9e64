"""What a CSV file or record holds: its columns, their types and defaults, and how fields are told apart.

A ``CsvFormat`` is checked when it is made, so that the error's traceback points at the line that wrote it. The names,
defaults and rules are those of ``tf.data.experimental.CsvDataset`` and ``tf.io.decode_csv``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, Final

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.known_as import known_as

__all__ = ["Column", "CsvFormat", "DType"]

# What a column may be: NumPy's dtype of one of the four numbers, or the class ``str``.
DType = np.dtype[Any] | type[str]

_NUMBERS: Final = {name: np.dtype(name) for name in ("float32", "float64", "int32", "int64")}
_ALLOWED: Final = f"{', '.join(_NUMBERS)} and str"
# As TensorFlow reads Python's numbers: the narrow types, but for an int that does not fit.
_OF_PYTHON: Final[dict[type, DType]] = {float: _NUMBERS["float32"], int: _NUMBERS["int32"], str: str, bytes: str}
_INT32: Final = np.iinfo(np.int32)
_INT64: Final = np.iinfo(np.int64)


@known_as("column of CSV records")
@frozen
class Column:
    """The type of a column, and what an empty field of it means.

    Attributes:
        dtype: float32, float64, int32, int64, or ``str``.
        default: the value of an empty field, as a Python object; None when a field is required.
    """

    dtype: DType
    default: float | int | str | None = None

    @property
    def name(self) -> str:
        """The dtype as messages call it."""
        return "str" if isinstance(self.dtype, type) else self.dtype.name

    @classmethod
    def of(cls, default: Any) -> Column:
        """Returns the column that an entry of ``record_defaults`` describes.

        Raises:
            InvalidArgumentError: when it is none of the forms that ``CsvFormat`` lists.
        """
        if isinstance(default, Column):
            return default
        if isinstance(default, type | np.dtype) or (isinstance(default, str) and default in _NUMBERS):
            return cls(_dtype_of(default))
        if isinstance(default, list | tuple | np.ndarray):
            return _column_of_array(default)
        return _column_of_value(default)

    @classmethod
    def each_of(cls, defaults: np.ndarray[Any, Any]) -> Iterable[Any]:
        """Returns entries of ``record_defaults`` for each value of an array: its columns, where they can be."""
        dtype = _NUMBERS.get(defaults.dtype.name) if type(defaults) is np.ndarray else None
        if dtype is None or dtype != defaults.dtype:  # what is wrong with one is found by a look at each
            return defaults
        return [cls(dtype, value) for value in defaults.tolist()]


@known_as("format of CSV records")
@frozen
class CsvFormat:
    """How the fields of CSV become columns.

    Args:
        record_defaults: one entry for each column that is read. A value is the default of an empty field and gives the
            type: a Python float is float32, an int int32 (int64 where it does not fit), a str is text; NumPy scalars
            keep their type; a list of one value is that value. A required field is an empty list (float32), an empty
            array, or a type: ``np.float32``, ``"float32"``, ``np.dtype("int64")``, ``float`` (float32), ``int``
            (int32), ``str``. Types are float32, float64, int32, int64 and str.
        field_delim: the one ASCII character between fields.
        use_quote_delim: whether ``"`` can enclose a field; if not, it is a character like any other.
        na_value: text that means an empty field, beside the empty text.
        select_cols: which columns are read, increasing, from 0; all when None or empty.
        exclude_cols: which columns are not read, increasing, from 0.

    Raises:
        InvalidArgumentError: when an argument does not fit.

    Example:
        >>> import numpy as np
        >>> from headrace.io.csv.record_format import CsvFormat
        >>> CsvFormat([0.0, [], np.int64, "none"]).dtypes
        (dtype('float32'), dtype('float32'), dtype('int64'), <class 'str'>)
    """

    record_defaults: Sequence[Any]
    field_delim: str = ","
    use_quote_delim: bool = True
    na_value: str = ""
    select_cols: Iterable[int] | None = None
    exclude_cols: Iterable[int] | None = None
    columns: tuple[Column, ...] = field(init=False, repr=False)
    positions: tuple[int, ...] = field(init=False, repr=False)
    max_fields: int | None = field(init=False, repr=False)
    groups: tuple[tuple[DType, tuple[int, ...]], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Frozen after this: what was given in other forms is kept in one.
        selected = _increasing("select_cols", self.select_cols)
        excluded = _increasing("exclude_cols", self.exclude_cols)
        columns = _columns(self.record_defaults)
        _check_characters(self.field_delim, self.use_quote_delim, self.na_value)
        if selected and excluded:
            raise InvalidArgumentError("give select_cols or exclude_cols, not both")
        if selected and len(selected) != len(columns):
            raise InvalidArgumentError(f"select_cols names {len(selected)} columns, record_defaults {len(columns)}")
        positions = selected or _others(excluded, len(columns))
        for name, value in {
            "record_defaults": columns,
            "select_cols": selected or None,
            "exclude_cols": excluded or None,
            "columns": columns,
            "positions": positions,
            "max_fields": None if selected else _most_fields(positions, excluded),
            "groups": _groups(columns),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The type of each column that is read: a NumPy dtype, or ``str``."""
        return tuple(column.dtype for column in self.columns)

    @property
    def min_fields(self) -> int:
        """How many fields a record has at least."""
        return self.positions[-1] + 1

    @property
    def uniform(self) -> np.dtype[Any] | None:
        """The dtype of all columns, when they are numbers of one."""
        dtype = self.groups[0][0]
        return None if len(self.groups) > 1 or isinstance(dtype, type) else dtype

    def count_fault(self, fields: int, where: str) -> InvalidArgumentError | None:
        """Returns what is wrong with a record of that many fields, None when nothing is."""
        if self.min_fields <= fields and (self.max_fields is None or fields <= self.max_fields):
            return None
        exact = "" if self.max_fields == self.min_fields else "at least " if fields < self.min_fields else "at most "
        expected = self.min_fields if fields < self.min_fields else self.max_fields
        return InvalidArgumentError(f"Expect {exact}{expected} fields but have {fields}{where}")


def _columns(record_defaults: Any) -> tuple[Column, ...]:
    if isinstance(record_defaults, str | bytes) or not isinstance(record_defaults, Iterable):
        raise InvalidArgumentError(f"record_defaults is a list with an entry for each column, not {record_defaults!r}")
    columns = []
    for index, default in enumerate(record_defaults):
        try:
            columns.append(Column.of(default))
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"record_defaults[{index}]: {error}") from None
    if not columns:
        raise InvalidArgumentError("record_defaults is empty; it has an entry for each column that is read")
    return tuple(columns)


def _groups(columns: tuple[Column, ...]) -> tuple[tuple[DType, tuple[int, ...]], ...]:
    """Returns the dtypes, each with the indices of its columns."""
    indices: dict[DType, list[int]] = {}
    for index, column in enumerate(columns):
        indices.setdefault(column.dtype, []).append(index)
    return tuple((dtype, tuple(members)) for dtype, members in indices.items())


def _dtype_of(kind: Any) -> DType:
    if isinstance(kind, type) and kind in _OF_PYTHON:
        return _OF_PYTHON[kind]
    try:
        dtype: np.dtype[Any] = np.dtype(kind)
    except TypeError:
        raise InvalidArgumentError(f"{kind!r} is no dtype; there are {_ALLOWED}") from None
    # NumPy takes any other class for an object, too, such as ``dict``, which here is a mistake.
    if dtype.kind in "SU" or kind is object or (isinstance(kind, np.dtype) and dtype.kind == "O"):
        return str
    if dtype not in _NUMBERS.values():
        raise InvalidArgumentError(f"a column cannot be {dtype}; there are {_ALLOWED}")
    return dtype


def _column_of_array(default: list[Any] | tuple[Any, ...] | np.ndarray[Any, Any]) -> Column:
    if isinstance(default, np.ndarray) and default.ndim == 0:
        return _column_of_value(default[()])
    if len(default) == 1 and not isinstance(default[0], list | tuple | np.ndarray):
        return _column_of_value(default[0])
    if len(default):
        raise InvalidArgumentError(f"a default is one value, or a list of one, and not {default!r}")
    # As in TensorFlow, where an empty list is an empty float32 tensor.
    return Column(_dtype_of(default.dtype)) if isinstance(default, np.ndarray) else Column(_NUMBERS["float32"])


def _column_of_value(value: Any) -> Column:
    if isinstance(value, bytes | str):
        return Column(str, _text(value))
    if isinstance(value, np.generic):
        return Column(_dtype_of(value.dtype), value.item())
    if type(value) is int and _INT64.min <= value <= _INT64.max:
        return Column(_NUMBERS["int32" if _INT32.min <= value <= _INT32.max else "int64"], value)
    if type(value) is float:
        return Column(_NUMBERS["float32"], value)
    raise InvalidArgumentError(f"{value!r} is no default; there are {_ALLOWED}")


def _text(value: str | bytes) -> str:
    if isinstance(value, str):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"the default {value!r} is not UTF-8") from error


def _increasing(name: str, columns: Iterable[int] | None) -> tuple[int, ...]:
    given = tuple(columns or ()) if not isinstance(columns, np.ndarray) else tuple(columns.tolist())
    if not all(isinstance(column, int | np.integer) for column in given):
        raise InvalidArgumentError(f"{name} holds column numbers, not {given}")
    if any(left >= right for left, right in pairwise(given)):
        raise InvalidArgumentError(f"{name} is to be strictly increasing, and {given} is not")
    if given and given[0] < 0:
        raise InvalidArgumentError(f"{name} is to hold column numbers from 0 on, and {given} has a negative one")
    return tuple(int(column) for column in given)


def _check_characters(field_delim: object, use_quote_delim: bool, na_value: object) -> None:
    if not isinstance(field_delim, str) or len(field_delim) != 1 or not field_delim.isascii():
        raise InvalidArgumentError(f"field_delim should be only 1 char, an ASCII one, and not {field_delim!r}")
    if field_delim in "\r\n" or (use_quote_delim and field_delim == '"'):
        raise InvalidArgumentError(
            f"field_delim {field_delim!r} ends lines or encloses fields; it cannot part them, too"
        )
    if not isinstance(na_value, str):
        raise InvalidArgumentError(f"na_value is a str, and not {na_value!r}")


def _others(excluded: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Returns the first ``count`` column numbers that are not excluded."""
    barred = frozenset(excluded)
    return tuple(column for column in range(count + len(excluded)) if column not in barred)[:count]


def _most_fields(positions: tuple[int, ...], excluded: tuple[int, ...]) -> int:
    """Returns how many fields a record may have: those read, and excluded ones before, between and right after them."""
    fields = positions[-1] + 1
    while fields in excluded:
        fields += 1
    return fields
