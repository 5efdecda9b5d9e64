"""Rows of a database as elements: tuples or dicts, of the driver's values or of stated types.

What always holds: whole numbers stay exact or are refused, whatever the width that is stated; text never becomes a number,
and a float is rounded as its type wants. NULL is None, or what its column's default says. The error of a row names its column.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.rows_and_columns import normalize_rows
from headrace.elements.structure import Element, object_array
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.known_as import known_as

__all__ = ["Row", "RowForm", "RowReading"]

Row = tuple[Any, ...]

_MISSING: Final = object()
# Values that are as elements carry them, and not NULL.
_PLAIN: Final = frozenset((int, float, str, bytes))


@known_as("form of rows")
@frozen(kw_only=True)
class RowForm:
    """What elements are made of rows.

    Attributes:
        as_dict: whether an element is a dict by the names of columns, or a tuple.
        output_types: the type of each column, in order or by name (then of those that are wanted, as a dict): a NumPy dtype
            or its name, ``str``, ``bytes`` or ``object``. None leaves values as the driver gives them.
        record_defaults: what stands for NULL, in order (None for no default) or by name. Without one NULL is None, or,
            where types are stated, an error.
    """

    as_dict: bool = False
    output_types: Sequence[Any] | Mapping[str, Any] | None = None
    record_defaults: Sequence[Any] | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _check_columns("output_types", self.output_types)
        _check_columns("record_defaults", self.record_defaults)
        if isinstance(self.output_types, Mapping):
            object.__setattr__(self, "as_dict", True)
        elif self.output_types is not None and self.as_dict:
            raise InvalidArgumentError("with as_dict=True, output_types is a dict by the names of columns")
        if self.output_types is not None and not self.output_types:
            raise InvalidArgumentError("output_types names no column")
        self.spec()  # refuses what is no type

    def spec(self) -> Any:
        """Returns the structure of ``TensorSpec`` of an element; None where types are not stated."""
        types = self.output_types
        if types is None:
            return None
        if isinstance(types, Mapping):
            return {name: TensorSpec((), kind) for name, kind in types.items()}
        return tuple(TensorSpec((), kind) for kind in types)

    def reading(self, names: Sequence[str]) -> RowReading:
        """Returns the form of the rows of a query with these columns.

        Raises:
            InvalidArgumentError: columns that are named are not there, or their number is another.
        """
        return RowReading(self, names)


def _check_columns(argument: str, value: object) -> None:
    if value is not None and (isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, Mapping))):
        raise InvalidArgumentError(
            f"{argument} is a tuple, one entry a column, or a dict by the names of columns, and not {value!r}"
        )


class RowReading:
    """Makes elements of the rows of one query; see ``RowForm``."""

    def __init__(self, form: RowForm, names: Sequence[str]) -> None:
        self._names = list(names)
        twins = {name for name in self._names if self._names.count(name) > 1}
        if twins and (form.as_dict or isinstance(form.record_defaults, Mapping)):
            raise InvalidArgumentError(f"the query has several columns {sorted(twins)}; name them apart with AS")
        self._as_dict = form.as_dict
        self._typed = form.output_types is not None
        defaults = _by_place(form.record_defaults, self._names, "record_defaults")
        self._defaults = [_MISSING if value is None else value for value in defaults]
        kinds = _by_place(form.output_types, self._names, "output_types")
        # Which column, and as what; of a dict only those that are wanted.
        wanted = self._names if form.output_types is None else form.output_types
        places = map(self._names.index, wanted) if isinstance(wanted, Mapping) else range(len(self._names))
        self._columns = [
            (place, None if kinds[place] is None else TensorSpec((), kinds[place]).dtype) for place in places
        ]

    def elements(self, rows: Sequence[Row]) -> list[Element]:
        """Returns the elements of these rows, as the driver's values.

        Raises:
            InvalidArgumentError: a value fits no element.
        """
        kinds = map(type, itertools.chain.from_iterable(rows))
        if _PLAIN.issuperset(kinds):  # mostly, and seen for all of them at once
            return [dict(zip(self._names, row, strict=True)) for row in rows] if self._as_dict else list(rows)
        columns = [self._value_column(place, column) for place, column in enumerate(zip(*rows, strict=True))]
        table = list(zip(*columns, strict=True))
        if not self._as_dict:
            return normalize_rows(table, {tuple})
        return normalize_rows([dict(zip(self._names, row, strict=True)) for row in table], {dict})

    def arrays(self, rows: Sequence[Row]) -> Any:
        """Returns a structure of arrays with the rows along their first axis; None where types are not stated.

        Raises:
            InvalidArgumentError: a value is not of its column's type, or NULL without a default.
        """
        if not self._typed:
            return None
        table = list(zip(*rows, strict=True))
        arrays = [self._typed_column(place, table[place], kind) for place, kind in self._columns]
        if not self._as_dict:
            return tuple(arrays)
        return {self._names[place]: array for (place, _), array in zip(self._columns, arrays, strict=True)}

    def _value_column(self, place: int, column: Sequence[Any]) -> Sequence[Any]:
        kinds = set(map(type, column))
        if type(None) in kinds and self._defaults[place] is not _MISSING:
            column = [self._defaults[place] if value is None else value for value in column]
        if kinds & {memoryview, bytearray}:
            column = [bytes(value) if isinstance(value, (memoryview, bytearray)) else value for value in column]
        return column

    def _typed_column(self, place: int, column: Sequence[Any], kind: Any) -> np.ndarray:
        name = self._names[place]
        values = self._value_column(place, column)
        if kind is not object and any(value is None for value in values):
            raise InvalidArgumentError(f"column {name!r} is NULL, and has no default; give one in record_defaults")
        try:
            return _array(values, kind)
        except (TypeError, ValueError, OverflowError) as error:
            shown = kind if isinstance(kind, np.dtype) else kind.__name__
            raise InvalidArgumentError(f"column {name!r} is not of the type {shown}: {error}") from None


def _by_place(given: Sequence[Any] | Mapping[str, Any] | None, names: Sequence[str], argument: str) -> list[Any]:
    """Returns what is given for each column, None where nothing is."""
    if given is None:
        return [None] * len(names)
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise InvalidArgumentError(f"{argument} names {unknown}, and the query's columns are {list(names)}")
        return [given.get(name) for name in names]
    if len(given) != len(names):
        raise InvalidArgumentError(f"{argument} has {len(given)} entries, and the query's columns are {list(names)}")
    return list(given)


def _array(values: Sequence[Any], kind: Any) -> np.ndarray:
    """Returns the values as an array of a type that holds each of them."""
    if kind is object:
        return object_array(values)
    if kind in (str, bytes):
        odd = next((value for value in values if not isinstance(value, kind)), None)
        if odd is not None:
            raise TypeError(f"{odd!r} is a {type(odd).__name__}")
        return object_array(values)
    return _numbers(values, kind)


def _numbers(values: Sequence[Any], dtype: np.dtype[Any]) -> np.ndarray:
    from decimal import Decimal

    if dtype.kind in "mM":
        return np.array(values, dtype)
    array = np.array([float(value) if isinstance(value, Decimal) else value for value in values])
    if array.ndim > 1:
        raise TypeError(f"{values[0]!r} is an array")
    if array.dtype.kind not in "biuf":
        odd = next((value for value in values if not isinstance(value, (bool, int, float, Decimal))), None)
        raise OverflowError("a number is too large") if odd is None else TypeError(f"{odd!r} is a {type(odd).__name__}")
    with np.errstate(all="ignore"):  # what does not fit is found by comparison
        converted: np.ndarray = array.astype(dtype)
    if dtype.kind in "biu":
        # Whole numbers of very unlike size came as floats: then Python compares them with what they were.
        whole = array if array.dtype.kind in "biu" else object_array(values)
        fits = np.asarray(converted == whole)
    else:
        fits = np.isfinite(converted) | ~np.isfinite(array)
        if int in set(map(type, values)):
            fits &= _are_exact(values, converted)
    if not fits.all():
        raise OverflowError(f"{values[int(np.argmin(fits))]} does not fit")
    return converted


def _are_exact(values: Sequence[Any], converted: np.ndarray) -> np.ndarray:
    """Returns which of the values are the same as floats, if they are whole numbers; of the others, any float is right."""
    if (np.abs(converted) < 2.0 ** (np.finfo(converted.dtype).nmant + 1)).all():  # these bits hold every whole number
        return np.ones(len(values), bool)
    return np.array(
        [type(value) is not int or value == one for value, one in zip(values, converted.tolist(), strict=True)]
    )
