"""A user's object that gives elements by number, as a function that a map calls."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.elements.leaf_arrays import PLAIN_LEAVES, tensor_as_array
from headrace.elements.structure import Element, flatten, normalize, unflatten
from headrace.known_as import known_as
from headrace.plan.vectorized import Vectorized

__all__ = ["Fetch", "FetchColumns", "FetchMany", "fetch_of", "length_of"]


@known_as("fetch of one")
class Fetch:
    """Gets an element by its number. Messages name the object's own ``__getitem__``."""

    __slots__ = ("func",)

    def __init__(self, source: Any) -> None:
        self.func = source.__getitem__

    def __call__(self, index: int) -> Element:
        value = self.func(index)
        kind = type(value)
        # Written out, as it is called for each element: most are a leaf, or a flat tuple or dict of such as a map may give.
        if kind is dict:
            for part in value.values():
                if type(part) not in PLAIN_LEAVES:
                    break
            else:
                return value
        elif kind is tuple:
            for part in value:
                if type(part) not in PLAIN_LEAVES:
                    break
            else:
                return value
        elif kind in PLAIN_LEAVES:
            return value
        return _as_element(value)

    def __headrace_fingerprint__(self) -> Any:
        return _owner(self.func)


@known_as("fetch of many")
class FetchMany(Vectorized):
    """Gets many elements at once, as a list: ``__getitems__``, by which torch and Hugging Face call it."""

    __slots__ = ()

    def __init__(self, source: Any) -> None:
        super().__init__(source.__getitems__)

    def __call__(self, numbers: np.ndarray) -> list[Element]:
        return [_as_element(element) for element in self.func(numbers.tolist())]

    def __headrace_fingerprint__(self) -> Any:
        return _owner(self.func)


@known_as("fetch of columns")
class FetchColumns(Vectorized):
    """Gets many elements at once, as arrays with an axis more: ``columns``, which our own files have."""

    __slots__ = ()

    def __init__(self, source: Any) -> None:
        super().__init__(source.columns)

    def __headrace_fingerprint__(self) -> Any:
        return _owner(self.func)


def fetch_of(source: Any) -> Fetch | FetchMany | FetchColumns:
    """Returns the function that gets elements of an object in the fastest way that it offers."""
    if hasattr(type(source), "__headrace_fingerprint__") and hasattr(type(source), "columns"):
        return FetchColumns(source)  # ours: ``columns`` of somebody else's object may be anything
    return FetchMany(source) if hasattr(type(source), "__getitems__") else Fetch(source)


def _owner(method: Any) -> Any:
    return getattr(method, "__self__", method)


def _as_element(value: Any) -> Element:
    kind = type(value)
    if kind is dict:
        arrays = _with_arrays(value.values())
        if arrays is not None:
            return dict(zip(value, arrays, strict=True))
    elif (arrays := _with_arrays(value if kind is tuple else (value,))) is not None:
        return tuple(arrays) if kind is tuple else arrays[0]
    leaves, treedef = flatten(normalize(value))
    return unflatten(treedef, [tensor_as_array(leaf) for leaf in leaves])


def _with_arrays(parts: Iterable[Any]) -> list[Any] | None:
    """Returns the same with plain tensors of PyTorch's as arrays; None where one is something else. It is called for each element."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    made = []
    try:
        for part in parts:
            kind = type(part)
            if kind is tensor:
                made.append(part.numpy())
            elif kind in PLAIN_LEAVES:
                made.append(part)
            else:
                return None
    except (RuntimeError, TypeError):  # as in tensor_as_array
        return None
    return made


def length_of(source: Any) -> int:
    """Returns the number of elements that an object gives.

    Raises:
        TypeError: it has no length, or nothing to be got by number.
    """
    missing = [method for method in ("__len__", "__getitem__") if not hasattr(type(source), method)]
    if missing:
        raise TypeError(f"source: an object of type {type(source).__name__} has no {' and no '.join(missing)}")
    return len(source)
