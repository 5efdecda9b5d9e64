"""Functions that take many elements at once, and the mark by which they are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.arguments import check_runs
from headrace.known_as import known_as

__all__ = ["Vectorized", "vectorized"]


@known_as("vectorized function")
class Vectorized:
    """A function that is called once a block. Messages name the function itself, ``func``."""

    __slots__ = ("func",)

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __call__(self, *columns: Any) -> Any:
        return self.func(*columns)

    def __headrace_fingerprint__(self) -> Any:
        return ("vectorized", self.func)


def vectorized(function: Callable[..., Any]) -> Vectorized:
    """Marks a function that ``map`` and ``filter`` call with many elements at once, which is what makes it fast.

    It gets arrays with an axis more, elements along the first, and returns arrays with as many. It must treat each element
    by itself: how many come at once is headrace's to choose, and the result must not depend on it. What it gets is
    read-only, for where it raises, it is called again with one element at a time, so that only those fail that it fails on.

    Args:
        function: called with an array in place of each component; a tuple is unpacked. May be a ufunc of NumPy's.

    Raises:
        TypeError: it cannot be called.
        InvalidArgumentError: it is an async function or yields; while iterating, for what it returned: another number of elements, or no arrays.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> @hr.vectorized
        ... def scaled(x):
        ...     return x.astype(np.float32) / 255
        >>> ds = hr.Dataset.from_tensor_slices(np.arange(6, dtype=np.uint8).reshape(3, 2)).map(scaled)
        >>> [row.shape for row in ds]
        [(2,), (2,), (2,)]
        >>> list(hr.Dataset.range(4).map(hr.vectorized(np.square)))
        [0, 1, 4, 9]
    """
    if not callable(function):
        raise TypeError(f"vectorized: expected a function, not {type(function).__name__}")
    check_runs(function, stage="vectorized")
    return Vectorized(function)
