"""The fields of JSON objects as columns, one value at a time: the reference, and what words the errors.

What fits what. A bool field takes true and false; an int field whole numbers written without point and exponent, in its
range; a float field any number (one that is finite stays so); a str field strings; an array lists of these, of its
shape, without null. A missing field, or null in its place, is its default. Fields that are not asked for are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from headrace.elements.structure import object_array
from headrace.errors import InvalidArgumentError
from headrace.io.json_lines.fields import JsonField, JsonFields
from headrace.io.reader import Array

__all__ = ["column_of_values", "fits_float", "placeholder", "row_of_object"]

_FITTING: Final[dict[str, set[type]]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}
# A message shows so much of what does not fit.
_SHOWN_CHARACTERS: Final = 60


def row_of_object(record: Mapping[str, Any], fields: JsonFields) -> list[Any]:
    """Returns the fields of one record: a value as Python has it, or an array, for each.

    Raises:
        InvalidArgumentError: a field is missing and required, or does not fit; named.
    """
    return [_value(record, field) for field in fields]


def column_of_values(values: Sequence[Any], field: JsonField) -> Array:
    """Returns the values of one field as an array, records along the first axis; an object array where they vary in shape."""
    if field.varies or (isinstance(field.dtype, type) and not field.shape):
        return object_array(list(values))
    if field.shape:
        return np.stack(values) if values else placeholder(field)[None][:0]
    return _numbers(values, field)


def placeholder(field: JsonField) -> Any:
    """Returns anything that fits, for a record that is told to be bad."""
    if field.shape:
        dtype = np.dtype(object) if isinstance(field.dtype, type) else field.dtype
        return np.zeros(tuple(size or 0 for size in field.shape), dtype)
    return "" if isinstance(field.dtype, type) else field.dtype.type(0)


def fits_float(exact: Array, dtype: np.dtype[Any]) -> bool:
    """Returns whether all finite numbers among some of float64 stay finite."""
    if dtype.itemsize == exact.itemsize:
        return True
    with np.errstate(over="ignore"):
        return bool((np.isfinite(exact.astype(dtype)) | ~np.isfinite(exact)).all())


def _value(record: Mapping[str, Any], field: JsonField) -> Any:
    value: Any = record
    for depth, key in enumerate(field.path):
        if value is None:
            break
        if not isinstance(value, Mapping):
            inner = ".".join(field.path[:depth])
            raise InvalidArgumentError(f"field {inner!r} is no object, but {_shown(value)}")
        value = value.get(key)
    if value is None:
        return _default(field)
    sizes, items = _flattened(value, field.shape, field)
    if not _fit(items, field):
        _refuse(value, field)
    return _array(items, field).reshape(sizes) if field.shape else items[0]


def _default(field: JsonField) -> Any:
    if field.default is None:
        raise InvalidArgumentError(
            f"field {field.name!r} is missing, or null; give a default in record_defaults if it may be"
        )
    return field.default.copy() if field.shape else field.default


def _flattened(value: Any, shape: tuple[int | None, ...], field: JsonField) -> tuple[tuple[int, ...], list[Any]]:
    """Returns the sizes of nested lists, and what is in the innermost."""
    if not shape:
        return (), [value]
    if type(value) is not list or shape[0] not in (None, len(value)):
        _refuse(value, field)
    if len(shape) == 1:
        return (len(value),), value
    parts = [_flattened(item, shape[1:], field) for item in value]
    if not parts:
        return (0, *(size or 0 for size in shape[1:])), []
    if any(sizes != parts[0][0] for sizes, _ in parts):
        _refuse(value, field)
    return (len(parts), *parts[0][0]), [item for _, items in parts for item in items]


def _fit(items: list[Any], field: JsonField) -> bool:
    """Returns whether these are of the field's type, and stay what they are in it."""
    kinds = set(map(type, items))
    if isinstance(field.dtype, type):
        return kinds <= {str}
    if not kinds <= _FITTING[field.dtype.kind]:
        return False
    if field.dtype.kind == "f":
        return _fit_float(items, field.dtype)
    if field.dtype.kind == "b" or not items:
        return True
    info = np.iinfo(field.dtype)
    return bool(info.min <= min(items) and max(items) <= info.max)


def _fit_float(items: list[Any], dtype: np.dtype[Any]) -> bool:
    try:
        return fits_float(np.array(items, np.float64), dtype)
    except OverflowError:  # a whole number beyond what is finite
        return False


def _array(items: list[Any], field: JsonField) -> Array:
    return object_array(items) if isinstance(field.dtype, type) else _numbers(items, field)


def _numbers(values: Sequence[Any], field: JsonField) -> Array:
    if isinstance(field.dtype, type) or field.dtype.kind != "f":
        return np.array(values, field.dtype)
    # By way of float64, as JSON's numbers are: a whole number is rounded as one with a point is.
    return np.array(values, np.float64).astype(field.dtype)


def _refuse(value: Any, field: JsonField) -> NoReturn:
    shape = f" array of shape {field.shape}".replace("None", "any") if field.shape else ""
    raise InvalidArgumentError(f"field {field.name!r}: {_shown(value)} is not a valid {field.type_name}{shape}")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"
