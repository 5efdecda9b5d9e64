"""How the elements of one batch become one (stacked, padded, ragged), how one is taken apart, and whose turn it is in a rebatch."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.cursor import State
from headrace.blocks.payload import Payload, Rows
from headrace.elements.leaf_arrays import as_arrays, plain_array, stack_scalars
from headrace.elements.ragged import RaggedTensor
from headrace.elements.rows_and_columns import needs_rows, transpose
from headrace.elements.structure import (
    Element,
    TreeDef,
    flatten,
    may_refuse,
    normalize,
    paths_of,
    stack,
    unflatten,
)
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.plan.grouping import PADS_NO_DATASETS, CyclingBatch, PaddedBatch, RaggedBatch

BATCH_REMEDY: Final = "Take a smaller batch_size"

_dtype: Final = operator.attrgetter("dtype")
_shape: Final = operator.attrgetter("shape")

__all__ = [
    "BATCH_REMEDY",
    "element_like",
    "emptied",
    "padded_batch",
    "ragged_batch",
    "sliced",
    "slices_of",
    "specified",
    "stacked",
    "turn_after",
    "turn_state",
]


def padded_batch(node: PaddedBatch, rows: Sequence[Element]) -> Element:
    """Pads the elements to one shape and stacks them.

    Raises:
        InvalidArgumentError, DataLossError, TypeError: as ``Padding.stacked``.
    """
    treedef, columns = transpose(rows)
    if any(hasattr(type(column[0]), "__headrace_plan__") for column in columns):
        raise TypeError(PADS_NO_DATASETS)
    return unflatten(treedef, node.padding.stacked(treedef, list(map(_scalars_or_arrays, columns)), node.input.spec))


def _scalars_or_arrays(column: Sequence[Any]) -> np.ndarray | list[np.ndarray]:
    """Returns the leaves as one array, where they plainly are scalars; else each as an array."""
    kinds = set(map(type, column))
    scalars = stack_scalars(column, kinds)
    return as_arrays(column, kinds) if scalars is None else scalars


def ragged_batch(node: RaggedBatch, rows: Sequence[Element]) -> Element:
    """Makes a ``RaggedTensor`` of each component that has an axis; scalars are stacked.

    Raises:
        InvalidArgumentError: structure, dtype, or an axis other than the first differ; the component is named.
    """
    treedef, columns = transpose(rows)
    made = [_ragged(treedef, index, column, node.row_splits_dtype) for index, column in enumerate(columns)]
    return normalize(unflatten(treedef, made))


def _ragged(treedef: TreeDef, index: int, column: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    arrays = _scalars_or_arrays(column)
    if isinstance(arrays, np.ndarray):
        return arrays
    first = arrays[0]
    path = paths_of(treedef)[index]
    prefix = f"component {path}: " if path else ""
    if len(set(map(_dtype, arrays))) > 1 or len({(len(shape), shape[1:]) for shape in map(_shape, arrays)}) > 1:
        _check_alike(arrays, prefix)
    if not first.ndim:
        return stack(column)
    splits = np.cumsum([0, *map(len, arrays)], dtype=dtype)
    return RaggedTensor(np.concatenate(arrays), splits)


def _check_alike(arrays: Sequence[np.ndarray], prefix: str) -> None:
    first = arrays[0]
    for other in arrays:
        if other.dtype != first.dtype:
            raise InvalidArgumentError(f"{prefix}dtypes differ: {first.dtype.name} and {other.dtype.name}")
        if other.ndim != first.ndim or other.shape[1:] != first.shape[1:]:
            message = f"shapes differ in more than their first axis: {list(first.shape)} and {list(other.shape)}"
            raise InvalidArgumentError(prefix + message)


def stacked(payload: Payload) -> Element:
    """Stacks elements into a batch: along a new first axis, in arrays of its own.

    Raises:
        InvalidArgumentError: they differ in structure, shape or dtype.
    """
    columns = payload.columns()
    return unflatten(columns.treedef, columns.arrays)


def sliced(element: Element) -> Columns | Rows:
    """Slices an element along its first axis, into arrays of their own: their receiver may change them.

    Raises:
        InvalidArgumentError: a component is a scalar, or the lengths differ.
    """
    leaves, treedef = flatten(element)
    arrays = [_array_of_its_own(leaf) for leaf in leaves]
    if not arrays:
        raise InvalidArgumentError("there is no component to unbatch")
    for index, array in enumerate(arrays):
        if array.ndim and len(array) == len(arrays[0]):
            continue
        path = paths_of(treedef)[index]
        if not array.ndim:
            raise InvalidArgumentError(f"a scalar cannot be unbatched{f' (component {path})' if path else ''}")
        message = f"component {path} has {len(array)} slices, the first component has {len(arrays[0])}"
        raise InvalidArgumentError(message)
    return _as_elements(Columns(treedef, arrays))


def slices_of(columns: Columns) -> Columns | Rows | None:
    """Returns the slices of all these elements along their first axis, as ``sliced``; None where it must look at each of them."""
    arrays = columns.arrays
    if not arrays or arrays[0].ndim < 2 or not arrays[0].shape[1]:
        return None
    if any(array.ndim < 2 or array.shape[1] != arrays[0].shape[1] for array in arrays):
        return None
    made = [
        (array.copy() if lock or not array.flags.writeable else array).reshape(
            array.shape[0] * array.shape[1], *array.shape[2:]
        )
        for array, lock in zip(arrays, columns.locked, strict=True)
    ]
    return _as_elements(Columns(columns.treedef, made))


def _as_elements(columns: Columns) -> Columns | Rows:
    """Returns the elements in arrays, one by one where as items they are something else."""
    if needs_rows(columns.arrays) or may_refuse(columns.treedef):
        return Rows(list(map(normalize, columns.rows())))
    return columns


def _array_of_its_own(leaf: Any) -> np.ndarray:
    """Returns a leaf as an array that nobody else can write to.

    What is writable is its receiver's alone, and so is an array that has its own memory: what others see comes in views.
    """
    if type(leaf) is not np.ndarray or not (leaf.flags.writeable or leaf.flags.owndata):
        return np.array(plain_array(leaf, "slices"))
    leaf.flags.writeable = True
    return leaf


def turn_state(sizes: tuple[int, ...], turn: int, position: State, like: Element | None) -> State:
    """Writes down the state before a batch; ``like`` is an element, or None where none was read yet."""
    state: State = {"turn": turn, "input": position}
    if 0 not in sizes:
        return state
    from headrace.io.elements.json import element_to_json

    return {**state, "like": None if like is None else element_to_json(emptied(like))}


def turn_after(sizes: tuple[int, ...], turn: int, *, short: bool) -> int:
    """Returns whose turn it is after a batch. After a short one, the last, a size of 0 has no turn."""
    turn = (turn + 1) % len(sizes)
    while short and not sizes[turn]:
        turn = (turn + 1) % len(sizes)
    return turn


def specified(node: CyclingBatch) -> Element | None:
    """Makes an element of a specification, if there is one. A size that it does not know is 0, as in tf.data."""
    leaves, treedef = flatten(node.input.spec())
    if not leaves or any(leaf.shape is None for leaf in leaves):
        return None
    return unflatten(treedef, [_zeros(leaf) for leaf in leaves])


def element_like(state: State | None) -> Element | None:
    """Makes an element like the last one that had been read when a state was saved."""
    saved = state.get("like") if state else None
    if saved is None:
        return None
    from headrace.io.elements.json import element_from_json

    leaves, treedef = flatten(element_from_json(saved))
    return unflatten(treedef, [_zeros(TensorSpec(leaf.shape[1:], leaf.dtype)) for leaf in leaves])


def _zeros(spec: TensorSpec) -> Any:
    shape = [size or 0 for size in spec.shape or ()]
    if isinstance(spec.dtype, np.dtype) and not spec.dtype.hasobject:
        return np.zeros(shape, spec.dtype)[()]
    return np.full(shape, "", object)[()]  # of texts and bytes alike, no element has the same column


def emptied(element: Element) -> Element:
    """Makes a batch of the element's kind that has no element."""
    columns = Rows([element]).columns()
    leaves = [array[:0] for array in columns.arrays]
    return unflatten(columns.treedef, leaves) if leaves else unflatten(flatten(element)[1], [])
