"""How the elements of one batch become one: padded, or ragged. Shared by the reference and the stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.plan.grouping import PADS_NO_DATASETS, PaddedBatch, RaggedBatch
from headrace.ragged import RaggedTensor
from headrace.structure import Element, TreeDef, as_arrays, normalize, paths_of, stack, transpose, unflatten

__all__ = ["padded_batch", "ragged_batch"]


def padded_batch(node: PaddedBatch, rows: Sequence[Element]) -> Element:
    """The elements padded to one shape and stacked.

    Raises:
        InvalidArgumentError, DataLossError, TypeError: as ``Padding.stacked``.
    """
    treedef, columns = transpose(rows)
    if any(hasattr(type(column[0]), "__headrace_plan__") for column in columns):
        raise TypeError(PADS_NO_DATASETS)
    return unflatten(treedef, node.padding.stacked(treedef, [as_arrays(column) for column in columns]))


def ragged_batch(node: RaggedBatch, rows: Sequence[Element]) -> Element:
    """The elements with a ``RaggedTensor`` in place of each component that has an axis; scalars are stacked.

    Raises:
        InvalidArgumentError: structure, dtype, or an axis other than the first differ; the component is named.
    """
    treedef, columns = transpose(rows)
    made = [_ragged(treedef, number, column, node.row_splits_dtype) for number, column in enumerate(columns)]
    return normalize(unflatten(treedef, made))


def _ragged(treedef: TreeDef, number: int, column: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    arrays = as_arrays(column)
    first = arrays[0]
    path = paths_of(treedef)[number]
    prefix = f"component {path}: " if path else ""
    for other in arrays:
        if other.dtype != first.dtype:
            raise InvalidArgumentError(f"{prefix}dtypes differ: {first.dtype.name} and {other.dtype.name}")
        if other.ndim != first.ndim or other.shape[1:] != first.shape[1:]:
            message = f"shapes differ in more than their first axis: {list(first.shape)} and {list(other.shape)}"
            raise InvalidArgumentError(prefix + message)
    if not first.ndim:
        return stack(column)
    splits = np.cumsum([0, *map(len, arrays)], dtype=dtype)
    return RaggedTensor(np.concatenate(arrays), splits)
