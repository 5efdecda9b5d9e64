"""Arrow's columns as NumPy's: numbers where they lie, and everything else a column at a time.

What always holds.
- A column becomes what ``arrow_specs`` says of its type, whatever way it is written in.
- A null of a float is NaN, and one of a point or span of time is NaT, as these types have a value for what is not there.
  Any other null is a fault of its row, unless its column has a default; so is text that is not UTF-8.
- An array that is no copy may be written into exactly where Arrow made its memory for it; a mapped file's never is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.elements.ragged import RaggedTensor
from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import Element, TreeDef, flatten, normalize, object_array, unflatten
from headrace.frozen import frozen
from headrace.io.columnar.arrow_specs import NUMBERS, TEMPORAL, dtype_of, is_list, temporal_dtype
from headrace.io.reader import Array

__all__ = ["Leaf", "Ragged", "Values", "values_of"]

_types: Final = pa.types
# What a fault's message adds for a null.
_REMEDY: Final = "give it a default with record_defaults, or leave such rows out with on_error='skip'"

normalize(RaggedTensor(0, 0))  # from here on it is known as structure, so that columns need not be searched for one


class Ragged:
    """Arrays of several lengths, one after the other in one array: a column, and no structure as a dataclass would be.

    Args:
        values: all of their items.
        offsets: where each begins in it, and where the last one ends (int64).
    """

    __slots__ = ("offsets", "values")

    def __init__(self, values: Array, offsets: Array) -> None:
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def slice(self, start: int, stop: int) -> Ragged:
        """Returns those from ``start`` to before ``stop``."""
        return Ragged(self.values, self.offsets[start : stop + 1])

    def stacked(self) -> Array | None:
        """Returns one array with an axis more, if they are of one length."""
        lengths = np.diff(self.offsets)
        if not len(lengths) or (lengths != lengths[0]).any():
            return None
        whole = self.values[self.offsets[0] : self.offsets[-1]]
        return whole.reshape(len(lengths), int(lengths[0]), *whole.shape[1:])

    def objects(self) -> Array:
        """Returns an object array of them."""
        bounds = self.offsets.tolist()
        return object_array([self.values[a:b] for a, b in itertools.pairwise(bounds)])


Leaf = Array | Ragged


@frozen(eq=False)
class Values:
    """Rows as columns.

    Attributes:
        structure: of one row.
        leaves: a column for each of its leaves.
        faults: what is wrong with single rows, by their numbers.
    """

    structure: TreeDef
    leaves: list[Leaf]
    faults: Mapping[int, str]

    def arrays(self, start: int, stop: int) -> list[Array] | None:
        """Returns the rows from ``start`` to before ``stop``, an array a leaf; None where arrays of several lengths are in them."""
        columns: list[Array] = []
        for leaf in self.leaves:
            array = leaf[start:stop] if isinstance(leaf, np.ndarray) else leaf.slice(start, stop).stacked()
            if array is None:
                return None
            columns.append(array)
        return columns

    def rows(self, start: int, stop: int) -> list[Element]:
        """Returns the same rows, one by one."""
        columns = [
            leaf[start:stop] if isinstance(leaf, np.ndarray) else leaf.slice(start, stop).objects()
            for leaf in self.leaves
        ]
        return rows_of(self.structure, columns)


@frozen
class _Faults:
    """Where faults are told, from however deep in a column.

    Attributes:
        found: by row.
        defaults: by column, as Arrow's scalars or Python's values.
        row_of: which rows positions in the array at hand belong to.
    """

    found: dict[int, str]
    defaults: Mapping[str, Any]
    row_of: Callable[[Array], Array] = lambda positions: positions

    def tell(self, column: str, positions: Array, reason: str) -> None:
        for row in self.row_of(positions).tolist():
            self.found.setdefault(row, f"column '{column}' {reason}")

    def within(self, outer_of: Callable[[Array], Array]) -> _Faults:
        """Returns the faults of lists whose items have these faults, by the positions of the lists."""
        return _Faults(self.found, self.defaults, lambda positions: self.row_of(outer_of(positions)))


def values_of(batch: pa.RecordBatch, defaults: Mapping[str, Any]) -> Values:
    """Returns the rows of a record batch.

    Args:
        batch: columns that all have a place in elements.
        defaults: what stands for a null, by column; that of a struct's field is called ``struct.field``, and an empty
            list stands for a list that is null.
    """
    found: dict[int, str] = {}
    faults = _Faults(found, defaults)
    whole = {
        name: _converted(column, name, faults) for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    leaves, structure = flatten(whole)
    return Values(structure, leaves, found)


def _converted(array: pa.Array, column: str, faults: _Faults) -> Any:
    """Returns a column, or a dict of the columns of its fields."""
    kind = array.type
    if kind in NUMBERS and not array.null_count:
        return _memory_of(array, NUMBERS[kind])
    array = _filled(array, column, faults.defaults)
    kind = array.type
    if _types.is_dictionary(kind):
        return _looked_up(array, column, faults)
    if _types.is_run_end_encoded(kind):
        return _converted(pc.run_end_decode(array), column, faults)
    if isinstance(kind, pa.FixedShapeTensorType):
        return _tensors(array, column, faults)
    if isinstance(kind, pa.BaseExtensionType):
        return _converted(array.storage, column, faults)
    if _types.is_struct(kind):
        fields = zip(kind, array.flatten(), strict=True)  # flattening, a null struct has null fields
        return {field.name: _converted(part, f"{column}.{field.name}", faults) for field, part in fields}
    if _types.is_fixed_size_list(kind):
        return _fixed_lists(array, column, faults)
    if _types.is_map(kind):
        return _maps(array, column, faults)
    if is_list(kind):
        return _lists(array, column, faults)
    return _plain(array, column, faults)


def _filled(array: pa.Array, column: str, defaults: Mapping[str, Any]) -> pa.Array:
    """Returns the array with its column's default in place of nulls: a list for lists, a value for those in them."""
    default = defaults.get(column)
    if default is None or not array.null_count:
        return array
    kind = array.type
    is_whole = (is_list(kind) or _types.is_fixed_size_list(kind)) == isinstance(default, (list, tuple, np.ndarray))
    if not is_whole or _types.is_struct(kind) or _types.is_map(kind) or isinstance(kind, pa.BaseExtensionType):
        return array
    if _types.is_dictionary(kind):
        return _filled(array.dictionary_decode(), column, defaults)
    return pc.fill_null(array, pa.scalar(default, kind))


# ------------------------------------------------------------------ leaves


def _plain(array: pa.Array, column: str, faults: _Faults) -> Array:
    kind = array.type
    if any(belongs(kind) for belongs in TEMPORAL):
        return _times(array)
    if _types.is_floating(kind):
        return _floats(array)
    if array.null_count:
        faults.tell(column, _null_positions(array), f"is null; {_REMEDY}")
    dtype = dtype_of(kind)
    if dtype is str:
        return _texts(array, column, faults)
    if isinstance(dtype, np.dtype) and dtype.kind != "b":
        return _memory_of(array, dtype)
    if isinstance(dtype, np.dtype):
        array = pc.fill_null(array, False)  # of a row that fails anyway
    if dtype is object and not _types.is_decimal(kind):
        return object_array(array.to_pylist())
    found: Array = array.to_numpy(zero_copy_only=False)
    return found


def _memory_of(array: pa.Array, dtype: np.dtype[Any]) -> Array:
    """Returns the array's own memory; whatever lies there in place of a null."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype, count=len(array), offset=array.offset * dtype.itemsize)


def _floats(array: pa.Array) -> Array:
    values = _memory_of(array, NUMBERS[array.type])
    return _with(values, array, np.nan) if array.null_count else values


def _times(array: pa.Array) -> Array:
    dtype = temporal_dtype(array.type)
    stored = _memory_of(array, np.dtype(f"i{array.type.bit_width // 8}"))
    values = stored.view(dtype) if stored.itemsize == dtype.itemsize else stored.astype(np.int64).view(dtype)
    return _with(values, array, np.array("NaT", dtype)) if array.null_count else values


def _with(values: Array, array: pa.Array, missing: Any) -> Array:
    copied = values.copy()
    copied[_null_positions(array)] = missing
    return copied


def _null_positions(array: pa.Array) -> Array:
    return np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))


def _texts(array: pa.Array, column: str, faults: _Faults) -> Array:
    try:
        found: Array = array.to_numpy(zero_copy_only=False)
    except (UnicodeDecodeError, pa.ArrowException):
        found = object_array([_text_or_fault(item) for item in array.cast(_bytes_like(array.type)).to_pylist()])
        wrong = np.fromiter((isinstance(item, UnicodeDecodeError) for item in found), bool, len(found))
        faults.tell(column, np.flatnonzero(wrong), "is not UTF-8; the file should say that it is binary")
    return found


def _bytes_like(kind: pa.DataType) -> pa.DataType:
    return pa.binary() if _types.is_string(kind) else pa.large_binary()


def _text_or_fault(item: bytes | None) -> Any:
    try:
        return None if item is None else item.decode()
    except UnicodeDecodeError as error:
        return error.with_traceback(None)


def _looked_up(array: pa.Array, column: str, faults: _Faults) -> Any:
    """Returns each value of the dictionary converted once, and taken as often as it comes."""
    known = array.dictionary
    if array.null_count or known.null_count or dtype_of(known.type) is None:
        return _converted(array.dictionary_decode(), column, faults)
    local: dict[int, str] = {}
    values = _converted(known, column, _Faults(local, {}))
    numbers = _memory_of(array.indices, NUMBERS[array.indices.type])
    for position, reason in local.items():
        rows = faults.row_of(np.flatnonzero(numbers == position)).tolist()
        faults.found.update((row, reason) for row in rows if row not in faults.found)
    return values.take(numbers)


# ------------------------------------------------------------------ lists


def _fixed_lists(array: pa.Array, column: str, faults: _Faults) -> Any:
    count, size = len(array), array.type.list_size
    if array.null_count:
        faults.tell(column, _null_positions(array), f"is a null list; {_REMEDY}")
    items = array.values[array.offset * size : (array.offset + count) * size]
    found = _converted(items, column, faults.within(lambda positions: positions // max(1, size)))
    starts = np.arange(count + 1) * size

    def listed(leaf: Leaf) -> Any:
        # Of what lies in it some may have one length, and some not: the fields of a struct, a map's keys and values.
        return leaf.reshape(count, size, *leaf.shape[1:]) if isinstance(leaf, np.ndarray) else _list_of(leaf, starts)

    return _on_leaves(found, listed)


def _tensors(array: pa.Array, column: str, faults: _Faults) -> Array:
    flat: Array = _fixed_lists(array.storage, column, faults)
    shaped = flat.reshape(len(array), *array.type.shape)
    order = array.type.permutation
    return shaped if order is None else shaped.transpose(0, *(axis + 1 for axis in order))


def _lists(array: pa.Array, column: str, faults: _Faults) -> Any:
    kind = array.type
    if _types.is_list_view(kind) or _types.is_large_list_view(kind):  # which lie in any order
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        return _cut(array, pa.array(np.cumsum([0, *lengths])), {None: array.flatten()}, column, faults)
    return _cut(array, array.offsets, {None: array.values}, column, faults)


def _maps(array: pa.Array, column: str, faults: _Faults) -> Any:
    return _cut(array, array.offsets, {"key": array.keys, "value": array.items}, column, faults)


def _cut(array: pa.Array, stored: pa.Array, parts: Mapping[str | None, pa.Array], column: str, faults: _Faults) -> Any:
    """Lists as arrays of several lengths; of a map, its keys and its values by name."""
    offsets = stored.to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = offsets if len(offsets) else np.zeros(1, np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    starts = offsets - first
    if array.null_count:
        faults.tell(column, _null_positions(array), f"is a null list; {_REMEDY}")
    inner = faults.within(lambda positions: np.searchsorted(starts, positions, side="right") - 1)
    found = {
        name: _on_leaves(
            _converted(items[first:last], column if name is None else f"{column}.{name}", inner),
            lambda leaf: _list_of(leaf, starts),
        )
        for name, items in parts.items()
    }
    return found.get(None, found)


def _list_of(leaf: Leaf, starts: Array) -> Any:
    """Lists of the items in a column; lists of lists are a ``RaggedTensor`` each."""
    if isinstance(leaf, np.ndarray):
        return Ragged(leaf, starts)
    lengths = np.diff(starts) + 1  # of splits there is one more than of rows
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    places = np.arange(bounds[-1]) - np.repeat(np.arange(len(lengths)), lengths)
    splits = leaf.offsets[places] - np.repeat(leaf.offsets[starts[:-1]], lengths)
    return RaggedTensor(Ragged(leaf.values, leaf.offsets[starts]), Ragged(splits, bounds))


def _on_leaves(converted: Any, function: Callable[[Any], Any]) -> Any:
    leaves, structure = flatten(converted)
    return unflatten(structure, [function(leaf) for leaf in leaves])
