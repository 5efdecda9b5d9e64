"""What the types of Arrow's columns are in elements, stated once: readers convert to what this says.

numbers, bools            NumPy's dtype of the same width
text                      str; bytes and fixed-size bytes are bytes
timestamps, dates         datetime64 in the column's unit (a date is in days); with a time zone, the instant in UTC
times of day, durations   timedelta64
fixed-size lists, tensors arrays whose inner shape is the list's
lists                     arrays whose length varies; a list of lists is a RaggedTensor
structs                   dicts; a list of structs is a dict of lists, and a map is one of its keys and values
dictionaries, run ends    what they stand for
decimals                  Python's
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.elements.ragged import RaggedTensor
from headrace.elements.structure import flatten, normalize, unflatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError

__all__ = ["NUMBERS", "TEMPORAL", "difference", "dtype_of", "is_list", "spec_of_type", "storage_of", "temporal_dtype"]

_types: Final = pa.types
# Most columns are of these, and are known by a look.
NUMBERS: Final[Mapping[pa.DataType, np.dtype[Any]]] = {
    pa.from_numpy_dtype(code): np.dtype(code)
    for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
_TEXTS: Final = (_types.is_string, _types.is_large_string, _types.is_string_view)
_BYTES: Final = (_types.is_binary, _types.is_large_binary, _types.is_binary_view, _types.is_fixed_size_binary)
_LISTS: Final = (_types.is_list, _types.is_large_list, _types.is_list_view, _types.is_large_list_view)
_OBJECTS: Final = (_types.is_decimal, _types.is_null)
TEMPORAL: Final = (
    _types.is_timestamp,
    _types.is_date,
    _types.is_time,
    _types.is_duration,
)


def spec_of_type(kind: pa.DataType, column: str) -> Any:
    """Returns the structure of ``TensorSpec`` that one value of a column has.

    Raises:
        InvalidArgumentError: there is nothing that its values could be in an element.
    """
    dtype = NUMBERS.get(kind) or dtype_of(kind := storage_of(kind))
    if dtype is not None:
        return TensorSpec((), dtype)
    if _depth(kind) > 2:
        raise InvalidArgumentError(f"column '{column}' has lists in lists in lists; leave it out with columns=")
    return normalize(_nested_spec(kind, column))  # structures within it are known as such from now on


def _nested_spec(kind: pa.DataType, column: str) -> Any:
    if _types.is_struct(kind) and kind.num_fields:
        return {field.name: spec_of_type(field.type, f"{column}.{field.name}") for field in kind}
    if _types.is_fixed_size_list(kind):
        return _inside(spec_of_type(kind.value_type, column), kind.list_size)
    if is_list(kind):
        return _inside(spec_of_type(kind.value_type, column), None)
    if _types.is_map(kind):
        pair = {"key": kind.key_type, "value": kind.item_type}
        return {name: _inside(spec_of_type(part, f"{column}.{name}"), None) for name, part in pair.items()}
    if isinstance(kind, pa.FixedShapeTensorType):
        inner = spec_of_type(kind.value_type, column)
        return TensorSpec((*_logical_shape(kind), *inner.shape), inner.dtype)
    raise InvalidArgumentError(f"column '{column}' is {kind}, which no element can hold; leave it out with columns=")


def storage_of(kind: pa.DataType) -> pa.DataType:
    """Returns the type without what only says how its values are written."""
    if _types.is_dictionary(kind) or _types.is_run_end_encoded(kind):
        return storage_of(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType) and not isinstance(kind, pa.FixedShapeTensorType):
        return storage_of(kind.storage_type)
    return kind


def dtype_of(kind: pa.DataType) -> np.dtype[Any] | type | None:
    """Returns the type of a leaf: a dtype, str, bytes or object; None for what has an axis or fields of its own."""
    if kind in NUMBERS:
        return NUMBERS[kind]
    if _types.is_boolean(kind):
        return np.dtype(bool)
    families: dict[tuple[Callable[[pa.DataType], bool], ...], type] = {_TEXTS: str, _BYTES: bytes, _OBJECTS: object}
    for family, leaf in families.items():
        if any(belongs(kind) for belongs in family):
            return leaf
    return temporal_dtype(kind) if any(belongs(kind) for belongs in TEMPORAL) else None


def temporal_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """Returns the dtype of points and spans of time."""
    if _types.is_date(kind):
        return np.dtype("datetime64[D]" if _types.is_date32(kind) else "datetime64[ms]")
    return np.dtype(f"{'datetime64' if _types.is_timestamp(kind) else 'timedelta64'}[{kind.unit}]")


def is_list(kind: pa.DataType) -> bool:
    """Returns whether it is a list whose length varies."""
    return any(belongs(kind) for belongs in _LISTS)


def _logical_shape(kind: pa.FixedShapeTensorType) -> tuple[int, ...]:
    """Returns its shape as it is meant; it lies in memory in an order of its own."""
    order = kind.permutation
    return tuple(kind.shape if order is None else (kind.shape[axis] for axis in order))


def _depth(kind: pa.DataType) -> int:
    """Returns how many lists of varying length lie within each other."""
    inner = [_depth(kind.field(index).type) for index in range(kind.num_fields)]
    deepest = max(inner, default=0)
    if _types.is_map(kind) or is_list(kind):
        return deepest + 1
    return deepest + 1 if deepest and _types.is_fixed_size_list(kind) else deepest


def _inside(spec: Any, size: int | None) -> Any:
    """Returns what a list of such values is; its leaves have an axis more."""
    leaves, treedef = flatten(spec)
    return unflatten(treedef, [_with_axis(leaf, size) for leaf in leaves])


def _with_axis(spec: TensorSpec, size: int | None) -> Any:
    assert spec.shape is not None  # a column knows its rank
    if None not in spec.shape:
        return TensorSpec((size, *spec.shape), spec.dtype)
    return RaggedTensor(spec, TensorSpec((None if size is None else size + 1,), np.int64))


def difference(spec: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """Returns the first column that is something else in the other; None where all are alike."""
    return next((name for name in spec if name in other and not _same(spec[name], other[name])), None)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, TensorSpec) and isinstance(other, TensorSpec):
        return one == other
    (mine, treedef), (theirs, wanted) = flatten(normalize(one)), flatten(normalize(other))
    return bool(treedef == wanted and mine == theirs)
