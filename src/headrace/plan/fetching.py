"""A user's object that gives elements by number, as a function that a map calls."""

from __future__ import annotations

from typing import Any

from headrace.structure import Element, flatten, normalize, unflatten

__all__ = ["Fetch", "length_of"]


class Fetch:
    """Gets an element by its number. Messages name the object's own ``__getitem__``."""

    __slots__ = ("func",)

    def __init__(self, source: Any) -> None:
        self.func = source.__getitem__

    def __call__(self, index: int) -> Element:
        leaves, treedef = flatten(normalize(self.func(index)))
        return unflatten(treedef, [_as_array(leaf) for leaf in leaves])

    def __headrace_fingerprint__(self) -> Any:
        return getattr(self.func, "__self__", self.func)


def _as_array(leaf: Any) -> Any:
    """A tensor of PyTorch's as an array on its memory; torch is not imported to find out."""
    return leaf.numpy() if type(leaf).__module__ == "torch" and hasattr(leaf, "numpy") else leaf


def length_of(source: Any) -> int:
    """The number of elements that an object gives.

    Raises:
        TypeError: it has no length, or nothing to be got by number.
    """
    missing = [method for method in ("__len__", "__getitem__") if not hasattr(type(source), method)]
    if missing:
        raise TypeError(f"source: an object of type {type(source).__name__} has no {' and no '.join(missing)}")
    return len(source)
