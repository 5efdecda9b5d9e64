"""What elements are: the specification of a leaf, of an element, and of many elements together."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.leaf_arrays import NORMAL_LEAVES, NUMPYS_TEXTS, OF_MANY_DTYPES, PYTHON_NUMBERS
from headrace.elements.rows_and_columns import transpose
from headrace.elements.structure import Element, flatten_as_written, normalize, unflatten
from headrace.elements.tensor_spec import TensorSpec, dataset_spec, general
from headrace.errors import InvalidArgumentError

__all__ = ["general_spec", "leaf_spec", "spec_of"]

_SCALARS: Final = NORMAL_LEAVES - {np.ndarray}
_dtype: Final = operator.attrgetter("dtype")


def spec_of(element: Element) -> Any:
    """Returns the structure of ``TensorSpec`` that this one element has, also as it was written."""
    leaves, treedef = flatten_as_written(element)
    return unflatten(treedef, [_spec_as_written(leaf) for leaf in leaves])


def general_spec(rows: Sequence[Element]) -> Any:
    """Returns the narrowest specification that all these elements fit; None where structure or dtypes differ, and of none."""
    if not rows:
        return None
    try:
        treedef, columns = transpose(rows)
    except InvalidArgumentError:
        return None
    specs = [_general_leaf(column) for column in columns]
    return None if None in specs else unflatten(treedef, specs)


def _general_leaf(column: Sequence[Any]) -> TensorSpec | None:
    """Returns the specification of a component; leaves that are plainly alike are not looked at one by one."""
    kinds = set(map(type, column))
    if len(kinds) == 1 and kinds < _SCALARS and kinds.isdisjoint(OF_MANY_DTYPES):
        return leaf_spec(column[0])
    if kinds == {np.ndarray} and len(dtypes := set(map(_dtype, column))) == 1 and column[0].dtype.kind != "O":
        shapes = {leaf.shape for leaf in column}
        axes = {len(shape) for shape in shapes}
        sizes = [set(along) for along in zip(*shapes, strict=True)] if len(axes) == 1 else None
        shape = None if sizes is None else tuple(along.pop() if len(along) == 1 else None for along in sizes)
        return TensorSpec(shape, dtypes.pop())
    wide: TensorSpec | None = functools.reduce(general, map(leaf_spec, column))
    return wide


def _spec_as_written(leaf: Any) -> TensorSpec:
    spec = leaf_spec(normalize(leaf))
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in NUMPYS_TEXTS:
        return TensorSpec(spec.shape, leaf.dtype)  # where it holds nothing, its dtype alone says of what
    return spec


def leaf_spec(leaf: Any) -> TensorSpec:
    """Returns the shape and type of one leaf, as it would be in an array."""
    if isinstance(leaf, np.ndarray):
        dtype = _content_type(leaf)
        return (dataset_spec(leaf) if dtype is object else None) or TensorSpec(leaf.shape, dtype)
    dtype = _scalar_dtype(leaf)
    return (dataset_spec(leaf) if dtype is object else None) or TensorSpec((), dtype)


def _content_type(array: np.ndarray) -> Any:
    if array.dtype.kind != "O":
        return array.dtype
    kinds = set(map(type, array.ravel().tolist()))
    return kinds.pop() if len(kinds) == 1 and kinds <= {str, bytes} else object


def _scalar_dtype(leaf: Any) -> Any:
    kind = type(leaf)
    if kind in PYTHON_NUMBERS:
        return PYTHON_NUMBERS[kind]
    if isinstance(leaf, (str, bytes)):
        return str if isinstance(leaf, str) else bytes
    if isinstance(leaf, (np.generic, complex)):
        return np.asarray(leaf).dtype
    return object
