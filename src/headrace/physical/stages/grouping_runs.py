"""Padded and ragged batches, several made at once: their rows are taken apart together, and short ones written to their places in one go.

What always holds: they are what ``padded_batch`` and ``ragged_batch`` make of each, and share no memory. Where that is not plain to see
(texts, rows of several dtypes, classes of the user's), nothing is made here, and each is made by itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.elements.leaf_arrays import stack_scalars
from headrace.elements.ragged import padded_runs, ragged_runs
from headrace.elements.rows_and_columns import transpose
from headrace.elements.structure import Element, TreeDef, unflatten
from headrace.plan.grouping import PaddedBatch, RaggedBatch
from headrace.plan.padding import check_kind

__all__ = ["padded_together", "ragged_together"]

# Makes one component of each batch: (the component of all rows, its number among the components) -> those, or None where it cannot.
Make = Callable[[Sequence[Any], int], Sequence[Any] | None]


def padded_together(node: PaddedBatch, rows: Sequence[Element], size: int) -> list[Element] | None:
    """Returns the padded batches of each ``size`` rows; None where each is to be made by itself."""

    def made(treedef: TreeDef, columns: Sequence[Sequence[Any]]) -> Make:
        padding = node.padding
        known = [(None,) * np.ndim(column[0]) for column in columns] if padding.shapes is None else []
        shapes, values = padding.shapes_of(treedef, known), padding.values_of(treedef)

        def one(column: Sequence[Any], index: int) -> Sequence[Any] | None:
            shape, value = shapes[index], values[index]
            if set(map(type, column)) == {np.ndarray}:
                check_kind(value, column[0].dtype)
                return padded_runs(column, size, shape, value)
            made = _scalar_runs(column, size) if shape == () else None
            if made is not None:
                check_kind(value, str if made[0].dtype == object else made[0].dtype)
            return made

        return one

    return _together(rows, made)


def ragged_together(node: RaggedBatch, rows: Sequence[Element], size: int) -> list[Element] | None:
    """Returns the ragged batches of each ``size`` rows; None where each is to be made by itself."""

    def one(column: Sequence[Any], _: int) -> Sequence[Any] | None:
        if set(map(type, column)) == {np.ndarray}:
            return ragged_runs(column, size, node.row_splits_dtype)
        return _scalar_runs(column, size)

    return _together(rows, lambda *_: one)


def _together(
    rows: Sequence[Element], make: Callable[[TreeDef, Sequence[Sequence[Any]]], Make]
) -> list[Element] | None:
    # An element's own methods may raise anything; each batch by itself finds out which of them, and what does not fit.
    with contextlib.suppress(Exception):
        treedef, columns = transpose(rows)
        if not treedef.num_leaves or not _is_of_all(treedef, rows):
            return None
        one = make(treedef, columns)
        made: list[Sequence[Any]] = []
        for number, column in enumerate(columns):
            parts = one(column, number)
            if parts is None:
                return None
            made.append(parts)
        if treedef.is_leaf():
            return list(made[0])
        return [unflatten(treedef, leaves) for leaves in zip(*made, strict=True)]
    return None


def _is_of_all(treedef: TreeDef, rows: Sequence[Element]) -> bool:
    """Returns whether each part of the rows has this structure, also in the order of its keys, and nothing but tuples and dicts has parts."""
    if treedef.is_leaf():
        return True
    children = treedef.children()
    if treedef.type is tuple:
        keys: Sequence[Any] = range(len(children))
    elif treedef.type is dict and len(set(map(tuple, rows))) == 1:
        keys = treedef.entries()
    else:
        return False
    parts = zip(keys, children, strict=True)
    return all(child.is_leaf() or _is_of_all(child, [row[key] for row in rows]) for key, child in parts)


def _scalar_runs(column: Sequence[Any], size: int) -> list[np.ndarray] | None:
    """Returns each ``size`` scalars as an array; None where they are not plainly scalars of one kind."""
    scalars = stack_scalars(column, set(map(type, column)))
    return None if scalars is None else [scalars[start : start + size].copy() for start in range(0, len(scalars), size)]
