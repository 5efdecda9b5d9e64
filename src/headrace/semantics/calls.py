"""How a user's function is called, and what its result is as an element.

A vectorized function is called with the columns of a block, and its results are columns again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.handing_out import read_only_columns
from headrace.blocks.payload import Payload, Rows
from headrace.elements.function_results import owned
from headrace.elements.ownership import copied
from headrace.elements.rows_and_columns import needs_rows
from headrace.elements.structure import Element, flatten, normalize, paths_of, unflatten
from headrace.errors import InvalidArgumentError
from headrace.plan.fetching import FetchMany
from headrace.plan.vectorized import Vectorized

__all__ = ["call_function", "call_on", "call_whole", "is_true", "packed"]


def call_whole(function: Vectorized, payload: Payload) -> Columns | Rows:
    """Calls a function with all elements at once.

    Raises:
        InvalidArgumentError: the elements are no columns, or have their keys in different orders; or what it returned is none of as
            many elements.
    """
    columns = payload.columns()
    # Then it is called for each element, as where it fails, so that each keeps its own order.
    if not columns.keys_in_order:
        raise InvalidArgumentError("the keys of the elements' dicts are in different orders")
    columns = read_only_columns(columns)  # it may be called again on a part, and must find what was there
    if isinstance(function, FetchMany):
        return _fetched(function, columns)
    whole = unflatten(columns.treedef, columns.arrays)
    result = function(*whole) if type(whole) is tuple else function(whole)
    result = owned(result, whole, slots=2)
    leaves, treedef = flatten(normalize(tuple(result) if type(result) is list else result))
    for number, leaf in enumerate(leaves):
        if not isinstance(leaf, np.ndarray) or leaf.shape[:1] != (len(payload),):
            path = paths_of(treedef)[number]
            raise InvalidArgumentError(
                f"a vectorized function returns an array of as many elements as it gets: {len(payload)} came, and "
                f"{f'component {path}' if path else 'the result'} is {_shown(leaf)}"
            )
    if not leaves:
        raise InvalidArgumentError("a vectorized function returns arrays, and it returned nothing")
    made = Columns(treedef, leaves)
    return Rows(list(map(normalize, made.rows()))) if needs_rows(leaves) else made


def _fetched(function: FetchMany, indices: Columns) -> Rows:
    elements = function(indices.arrays[0])
    if len(elements) != len(indices):
        raise InvalidArgumentError(f"__getitems__ was asked for {len(indices)} elements, and gave {len(elements)}")
    rows = []
    elements.reverse()
    while elements:
        element = elements.pop()  # out of the list, which is ours, so that who has it is counted as for a single one
        element = owned(element)
        rows.append(element)
    return Rows(rows)


def _shown(leaf: Any) -> str:
    return f"an array of shape {list(leaf.shape)}" if isinstance(leaf, np.ndarray) else f"of type {type(leaf).__name__}"


def call_on(function: Callable[..., Any], element: Element) -> Any:
    """Calls the user's function on one element; a tuple is unpacked into its arguments."""
    return function(*element) if type(element) is tuple else function(element)


def call_function(function: Callable[..., Any], element: Element) -> Any:
    """Calls a function, vectorized or not, with one element."""
    if isinstance(function, Vectorized):
        (row,) = call_whole(function, Rows([element])).rows()
        return row
    # In this order: a class that is new is known by then, and its own code copies nothing.
    return copied(packed(call_on(function, element)))


def packed(value: Any) -> Element:
    """Makes an element of a function's result: a list at the top is a tuple, as in tf.data; others are arrays."""
    return normalize(tuple(value) if type(value) is list else value)


def is_true(answer: Any) -> bool:
    """Returns the truth of a predicate's answer.

    Raises:
        InvalidArgumentError: it is not a bool.
    """
    if isinstance(answer, (bool, np.bool_)):
        return bool(answer)
    if isinstance(answer, np.ndarray) and answer.shape == () and answer.dtype == bool:
        return bool(answer)
    raise InvalidArgumentError(f"the predicate must return a bool, but returned {type(answer).__name__}")
