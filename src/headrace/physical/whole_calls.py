"""How a vectorized function is called: with the columns of a block, whose results are columns again."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.blocks.payload import Columns, Payload, Rows
from headrace.errors import InvalidArgumentError
from headrace.ownership import owned
from headrace.physical.handing_out import read_only_columns
from headrace.plan.fetching import FetchMany
from headrace.plan.vectorized import Vectorized
from headrace.structure import flatten, needs_rows, normalize, paths_of, unflatten

__all__ = ["call_whole"]


def call_whole(function: Vectorized, payload: Payload) -> Columns | Rows:
    """What the function makes of all elements at once.

    Raises:
        InvalidArgumentError: the elements are no columns, or what it returned is none of as many elements.
    """
    columns = read_only_columns(payload.columns())  # it may be called again on a part, and must find what was there
    if isinstance(function, FetchMany):
        return _fetched(function, columns)
    whole = unflatten(columns.treedef, columns.arrays)
    result = function(*whole) if type(whole) is tuple else function(whole)
    result = owned(result, whole, slots=2)
    leaves, treedef = flatten(normalize(tuple(result) if type(result) is list else result))
    for path, leaf in zip(paths_of(treedef), leaves, strict=True):
        if not isinstance(leaf, np.ndarray) or leaf.shape[:1] != (len(payload),):
            raise InvalidArgumentError(
                f"a vectorized function returns an array of as many elements as it gets: {len(payload)} came, and "
                f"{f'component {path}' if path else 'the result'} is {_shown(leaf)}"
            )
    if not leaves:
        raise InvalidArgumentError("a vectorized function returns arrays, and it returned nothing")
    made = Columns(treedef, leaves)
    return Rows(list(map(normalize, made.rows()))) if needs_rows(leaves) else made


def _fetched(function: FetchMany, numbers: Columns) -> Rows:
    elements = function(numbers.arrays[0])
    elements = owned(elements)
    if len(elements) != len(numbers):
        raise InvalidArgumentError(f"__getitems__ was asked for {len(numbers)} elements, and gave {len(elements)}")
    return Rows(list(elements))


def _shown(leaf: Any) -> str:
    return f"an array of shape {list(leaf.shape)}" if isinstance(leaf, np.ndarray) else f"of type {type(leaf).__name__}"
