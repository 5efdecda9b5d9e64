"""What is known of a leaf before it is there: its shape and its dtype, or what the elements of a dataset are."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import optree

from headrace.errors import InvalidArgumentError

__all__ = [
    "NAMESPACE",
    "DatasetSpec",
    "Shape",
    "Spec",
    "TensorSpec",
    "checked_shape",
    "dataset_spec",
    "fits",
    "general",
]

NAMESPACE: Final = "headrace"  # of what is registered with optree

Shape = tuple[int | None, ...]
Spec = Any  # a structure of TensorSpec, or None where only a run could tell


@dataclasses.dataclass(frozen=True, slots=True, init=False)
class TensorSpec:
    """The shape and type of one leaf.

    Args:
        shape: a tuple of sizes in which None is a size that varies; an int n for ``(n,)``; None for an unknown rank.
        dtype: a NumPy dtype (or its name), or one of the types ``str``, ``bytes`` and ``object``.

    Raises:
        TypeError: the shape is none.
        InvalidArgumentError: a size is negative.

    Example:
        >>> import headrace as hr
        >>> hr.TensorSpec((None, 3), "float32")
        TensorSpec(shape=(None, 3), dtype=float32)
    """

    shape: Shape | None
    dtype: np.dtype[Any] | type

    # Written out, because more is taken than what is kept.
    def __init__(self, shape: Iterable[int | None] | int | None, dtype: Any) -> None:
        object.__setattr__(self, "shape", checked_shape(shape, "the shape of a TensorSpec"))
        object.__setattr__(self, "dtype", _leaf_dtype(dtype))

    def __repr__(self) -> str:
        name = self.dtype.__name__ if isinstance(self.dtype, type) else self.dtype.name
        return f"TensorSpec(shape={self.shape}, dtype={name})"

    def is_compatible_with(self, other: TensorSpec) -> bool:
        """Returns whether a leaf of the other's shape and type fits this one."""
        if self.dtype != other.dtype:
            return False
        if self.shape is None or other.shape is None:
            return True
        return len(self.shape) == len(other.shape) and all(
            mine is None or theirs is None or mine == theirs
            for mine, theirs in zip(self.shape, other.shape, strict=True)
        )

    def most_general(self, other: TensorSpec) -> TensorSpec:
        """Returns the narrowest specification that both fit; the dtypes must be equal."""
        return TensorSpec(_most_general(self.shape, other.shape), self.dtype)

    def with_shape(self, shape: Shape | None) -> TensorSpec:
        """Returns the same with another shape."""
        return TensorSpec(shape, self.dtype)


@dataclasses.dataclass(frozen=True, slots=True, init=False)
class DatasetSpec(TensorSpec):
    """What the elements of a dataset are, where an element is itself a dataset, as a window is.

    Args:
        element_spec: the structure of ``TensorSpec`` of its elements; None where only a run could tell.
        dataset_shape: ``()`` for one dataset; a batch of datasets is an array of that shape.

    Example:
        >>> import headrace as hr
        >>> hr.Dataset.range(8).window(2).element_spec
        DatasetSpec(TensorSpec(shape=(), dtype=int64))
    """

    element_spec: Any

    def __init__(self, element_spec: Any, dataset_shape: Iterable[int | None] | int | None = ()) -> None:
        TensorSpec.__init__(self, dataset_shape, object)  # not super(): slots make another class
        object.__setattr__(self, "element_spec", element_spec)

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}{'' if self.shape == () else f', {self.shape}'})"

    def is_compatible_with(self, other: TensorSpec) -> bool:
        """Returns whether a dataset of the other's kind fits this one."""
        if not isinstance(other, DatasetSpec) or not TensorSpec.is_compatible_with(self, other):
            return False
        return self.element_spec is None or other.element_spec is None or fits(self.element_spec, other.element_spec)

    def most_general(self, other: TensorSpec) -> TensorSpec:
        """Returns the narrowest specification that both fit."""
        shape = _most_general(self.shape, other.shape)
        if not isinstance(other, DatasetSpec):
            return TensorSpec(shape, object)
        return DatasetSpec(general(self.element_spec, other.element_spec), shape)

    def with_shape(self, shape: Shape | None) -> DatasetSpec:
        """Returns the same with another shape."""
        return DatasetSpec(self.element_spec, shape)


def dataset_spec(leaf: Any) -> DatasetSpec | None:
    """Returns what a leaf that is a dataset holds, or what all datasets hold in an array of them, as a batch of windows is; else None."""
    datasets = leaf.ravel().tolist() if isinstance(leaf, np.ndarray) else [leaf]
    if not datasets or not all(hasattr(type(dataset), "__headrace_plan__") for dataset in datasets):
        return None
    held = functools.reduce(general, (dataset.__headrace_plan__().spec() for dataset in datasets))
    return DatasetSpec(held, leaf.shape if isinstance(leaf, np.ndarray) else ())


def fits(spec: Any, other: Any) -> bool:
    """Returns whether a structure of leaves of the other's shapes and types fits this structure of specifications."""
    (leaves, treedef), (others, theirs) = _flatten(spec), _flatten(other)
    return treedef == theirs and all(mine.is_compatible_with(leaf) for mine, leaf in zip(leaves, others, strict=True))


def general(one: Any, other: Any) -> Any:
    """Returns the narrowest structure of specifications that both fit; None where structure or dtypes differ, or one is None."""
    (leaves, treedef), (others, theirs) = _flatten(one), _flatten(other)
    if one is None or other is None or treedef != theirs:
        return None
    pairs = list(zip(leaves, others, strict=True))
    if any(mine.dtype != leaf.dtype for mine, leaf in pairs):
        return None
    return optree.tree_unflatten(treedef, [mine.most_general(leaf) for mine, leaf in pairs])


def _flatten(spec: Any) -> tuple[list[Any], optree.PyTreeSpec]:
    return optree.tree_flatten(spec, namespace=NAMESPACE)


def _most_general(one: Shape | None, other: Shape | None) -> Shape | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(mine if mine == theirs else None for mine, theirs in zip(one, other, strict=True))


def _leaf_dtype(dtype: Any) -> np.dtype[Any] | type:
    """Returns the dtype of a leaf: a NumPy dtype, or str, bytes or object for what lives in object arrays."""
    if dtype in (str, bytes, object):
        return dtype  # type: ignore[no-any-return]  # one of the three types just named
    resolved: np.dtype[Any] = np.dtype(dtype)
    kinds: dict[str, type] = {"U": str, "T": str, "S": bytes, "O": object}
    return kinds.get(resolved.kind, resolved)


_SIZES: Final = frozenset({int})


def checked_shape(shape: Any, what: str) -> Shape | None:
    """Returns a shape that a user gave, as a tuple: an int n is ``(n,)``, None an unknown rank.

    Raises:
        TypeError: it is no shape; the message begins with ``what``.
        InvalidArgumentError: a size is negative.
    """
    if shape is None or (type(shape) is tuple and not shape):  # a scalar: by far the most common
        return shape
    if type(shape) is tuple and _SIZES.issuperset(map(type, shape)) and min(shape) >= 0:  # as an array's is
        return shape
    given = shape.tolist() if isinstance(shape, np.ndarray) else shape
    try:
        sizes = (given,) if hasattr(given, "__index__") else tuple(given)
        checked = tuple(None if size is None else int(size.__index__()) for size in sizes)
    except (TypeError, AttributeError):
        message = f"{what} must be a tuple of sizes (ints, or None where they vary), one int, or None, not {shape!r}"
        raise TypeError(message) from None
    if any(size is not None and size < 0 for size in checked):
        raise InvalidArgumentError(f"{what} has a size below 0: {shape!r}; a size that varies is None")
    return checked
