"""NumPy's columns as Arrow's: the other way round of ``arrow_values``, for what is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.elements.ragged import RaggedTensor
from headrace.errors import InvalidArgumentError
from headrace.io.reader import Array

__all__ = ["record_batch_of"]


def record_batch_of(batch: Any) -> pa.RecordBatch:
    """Returns a batch, a dict of columns, as Arrow's.

    Raises:
        InvalidArgumentError: it is no dict of columns of one length, or a column has a kind that Arrow has no type for.
    """
    if not isinstance(batch, Mapping) or not batch or not all(isinstance(name, str) for name in batch):
        raise InvalidArgumentError(f"a batch is a dict of columns by name, and not {_shown(batch)}")
    columns = {name: _column(value, name) for name, value in batch.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidArgumentError(f"the columns of a batch have one length, and these have {lengths}")
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _shown(batch: Any) -> str:
    if isinstance(batch, Mapping):
        return f"one with the keys {list(batch)}"
    return f"of type {type(batch).__name__}"


def _column(value: Any, name: str) -> pa.Array:
    if isinstance(value, Mapping):
        fields = {field: _column(part, f"{name}.{field}") for field, part in value.items()}
        if not fields or len({len(part) for part in fields.values()}) > 1:
            raise InvalidArgumentError(f"column '{name}' is a dict of columns, which have no one length")
        return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    if isinstance(value, RaggedTensor):
        return _lists(np.asarray(value.row_splits), np.asarray(value.values), name)
    array = np.asarray(value)
    if not array.ndim:
        raise InvalidArgumentError(f"column '{name}' is one {type(value).__name__}, and has no axis for its rows")
    if array.dtype.kind == "O" and len(array) and all(isinstance(item, np.ndarray) for item in array.flat):
        return _of_arrays(array, name)
    return _plain(array, name)


def _of_arrays(array: Array, name: str) -> pa.Array:
    """Arrays of several lengths, which are objects of an array of their own."""
    items = array.tolist()
    if array.ndim > 1 or len({(item.dtype, item.shape[1:]) for item in items}) > 1 or not items[0].ndim:
        raise InvalidArgumentError(f"column '{name}' has arrays that are not alike but for their lengths")
    splits = np.cumsum([0, *map(len, items)])
    return _lists(splits, np.concatenate(items), name)


def _lists(splits: Array, values: Array, name: str) -> pa.Array:
    items = _plain(values, name)
    if splits[-1] > np.iinfo(np.int32).max:
        return pa.LargeListArray.from_arrays(pa.array(splits, pa.int64()), items)
    return pa.ListArray.from_arrays(pa.array(splits, pa.int32()), items)


def _plain(array: Array, name: str) -> pa.Array:
    """Returns numbers, times and texts; what has inner axes is a list of fixed size for each of them."""
    if 0 in array.shape[1:]:
        raise InvalidArgumentError(f"column '{name}' has rows of shape {list(array.shape[1:])}, in which is nothing")
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.byteorder not in "=|":
        flat = flat.astype(flat.dtype.newbyteorder("="))
    try:
        if flat.dtype.kind in "USO":
            found = pa.array(flat.tolist(), None if len(flat) else pa.string())
        else:
            found = pa.array(flat)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise InvalidArgumentError(f"column '{name}' of {array.dtype} has no type in Arrow: {error}") from error
    for size in reversed(array.shape[1:]):
        found = pa.FixedSizeListArray.from_arrays(found, size)
    return found
