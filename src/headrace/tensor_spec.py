"""What is known of a leaf before it is there: its shape and its dtype."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError

__all__ = ["Shape", "TensorSpec", "checked_shape"]

Shape = tuple[int | None, ...]


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
        """Whether a leaf of the other's shape and type fits this one."""
        if self.dtype != other.dtype:
            return False
        if self.shape is None or other.shape is None:
            return True
        return len(self.shape) == len(other.shape) and all(
            mine is None or theirs is None or mine == theirs
            for mine, theirs in zip(self.shape, other.shape, strict=True)
        )

    def most_general(self, other: TensorSpec) -> TensorSpec:
        """The narrowest specification that both fit; the dtypes must be equal."""
        if self.shape is None or other.shape is None or len(self.shape) != len(other.shape):
            return TensorSpec(None, self.dtype)
        sizes = zip(self.shape, other.shape, strict=True)
        return TensorSpec(tuple(mine if mine == theirs else None for mine, theirs in sizes), self.dtype)


def _leaf_dtype(dtype: Any) -> np.dtype[Any] | type:
    """The dtype of a leaf: a NumPy dtype, or str, bytes or object for what lives in object arrays."""
    if dtype in (str, bytes, object):
        return dtype  # type: ignore[no-any-return]  # one of the three types just named
    resolved: np.dtype[Any] = np.dtype(dtype)
    kinds: dict[str, type] = {"U": str, "T": str, "S": bytes, "O": object}
    return kinds.get(resolved.kind, resolved)


def checked_shape(shape: Any, what: str) -> Shape | None:
    """A shape that a user gave, as a tuple: an int n is ``(n,)``, None an unknown rank.

    Raises:
        TypeError: it is no shape; the message begins with ``what``.
        InvalidArgumentError: a size is negative.
    """
    if shape is None or (type(shape) is tuple and not shape):  # a scalar: by far the most common
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
