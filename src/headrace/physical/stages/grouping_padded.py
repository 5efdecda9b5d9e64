"""Padded batches of short rows, several made at once: what all of them hold is put together and written to its places in one go.

What always holds: they are what ``padded_batch`` makes of each. Where that is not plain to see (a size or a value was given, rows
of several dtypes, of more axes or long ones, structure in structure), nothing is made here, and each is made by itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.elements.leaf_arrays import stack_scalars
from headrace.elements.ragged import padded_runs
from headrace.elements.rows_and_columns import transpose
from headrace.elements.structure import Element, TreeDef, unflatten
from headrace.plan.grouping import PaddedBatch

__all__ = ["padded_together"]


def padded_together(node: PaddedBatch, rows: Sequence[Element], size: int) -> list[Element] | None:
    """Returns the padded batches of each ``size`` rows; None where each is to be made by itself."""
    if node.padding.values is not None:
        return None
    # An element's own methods may raise anything; each by itself finds out which of them.
    with contextlib.suppress(Exception):
        treedef, columns = transpose(rows)
        if not _is_of_all(treedef, rows):
            return None
        shapes = None if node.padding.shapes is None else node.padding.shapes_of(treedef, [])
        made: list[list[np.ndarray]] = []
        for number, column in enumerate(columns):
            parts = _parts(column, size, None if shapes is None else shapes[number])
            if parts is None:
                return None
            made.append(parts)
        if treedef.is_leaf():
            return list(made[0])
        return [unflatten(treedef, leaves) for leaves in zip(*made, strict=True)]
    return None


def _is_of_all(treedef: TreeDef, rows: Sequence[Element]) -> bool:
    """Returns whether each part of the rows has this structure, also in the order of its keys."""
    if treedef.is_leaf():
        return True
    if not treedef.num_leaves or treedef.num_nodes != treedef.num_leaves + 1:
        return False
    return treedef.type is tuple or (treedef.type is dict and len(set(map(tuple, rows))) == 1)


def _parts(column: Sequence[Any], size: int, shape: tuple[int | None, ...] | None) -> list[np.ndarray] | None:
    """Returns one component of each batch; None where rows are padded to another shape than that of the longest."""
    kinds = set(map(type, column))
    if kinds == {np.ndarray}:
        return padded_runs(column, size) if shape in (None, (None,)) else None
    scalars = stack_scalars(column, kinds) if shape in (None, ()) else None
    return None if scalars is None else [scalars[start : start + size].copy() for start in range(0, len(scalars), size)]
