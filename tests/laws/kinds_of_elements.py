"""What generators yield and functions return, of each kind: arrays of their own that are filled again, views, other dtypes, and what is no array."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.cases.structures import Pair, Sample


class Own:
    """What a generator goes on with: one of each, filled again for each element."""

    def __init__(self) -> None:
        self.array = np.zeros(3, np.float32)
        self.matrix = np.zeros((2, 3), np.float32, order="F")
        self.dict: dict[str, Any] = {}

    def filled(self, n: int) -> np.ndarray:
        self.array[...] = n
        return self.array

    def turned(self, n: int) -> np.ndarray:
        self.matrix[...] = n
        return np.asarray(self.matrix[n % 2])

    def updated(self, **parts: Any) -> dict[str, Any]:
        self.dict.update(parts)
        return self.dict


def locked(array: np.ndarray) -> np.ndarray:
    array = array.view()
    array.flags.writeable = False
    return array


def objects(n: int) -> np.ndarray:
    array = np.empty(3, object)
    array[:] = [n, str(n), None]
    return array


ARRAYS: dict[str, Callable[[Own, int], Any]] = {
    "new": lambda _, n: np.full(3, n, np.float32),
    "new, a view": lambda _, n: np.full((2, 3), n, np.float32)[1],
    "the same": lambda own, n: own.filled(n),
    "a view": lambda own, n: own.filled(n)[:],
    "a part": lambda own, n: own.turned(n),
    "of any length": lambda own, n: own.filled(n)[: n % 4],
    "locked": lambda own, n: locked(own.filled(n)),
    "locked, new": lambda _, n: locked(np.full(3, n, np.float32)),
    "longer": lambda _, n: np.full(4, n, np.float32),
    "flat": lambda own, n: own.filled(n).reshape(1, 3),
    "of doubles": lambda _, n: np.full(3, n / 2),
    "of ints": lambda _, n: np.full(3, n),
    "without axes": lambda own, n: np.array(n, np.float32),
    "masked": lambda own, n: np.ma.array(own.filled(n), mask=[False, False, n % 2 == 1]),
    "of objects": lambda _, n: objects(n),
    "of texts": lambda _, n: np.array([str(n)] * 3),
    "a list": lambda _, n: [float(n)] * 3,
    "a scalar": lambda _, n: np.float32(n),
    "a double": lambda _, n: np.float64(n / 2),
    "an int of NumPy's": lambda _, n: np.int64(n),
    "a number": lambda _, n: n,
    "none": lambda *_: None,
    "text": lambda _, n: str(n),
}
WHOLES: dict[str, Callable[[Own, Any, int], Any]] = {
    "pair": lambda _, x, n: (x, n),
    "dict": lambda _, x, n: {"x": x, "y": n},
    "other order": lambda _, x, n: {"y": n, "x": x},
    "its dict": lambda own, x, n: own.updated(x=x, y=n),
    "alone": lambda _, x, n: x,
    "twice": lambda _, x, n: (x, x),
    "twice in a dict": lambda _, x, n: {"y": x, "x": x},
    "twice, then less": lambda _, x, n: {"y": x, "x": x[: n % 3]} if np.ndim(x) else x,
    "deep": lambda own, x, n: ({"x": x, "y": n}, (n, x)),
    "deep in its dict": lambda own, x, n: (own.updated(x=x, y=n), (n, x)),
    "large": lambda _, x, n: (x, n << 62),
    "fraction": lambda _, x, n: (x, n / 2),
    "named": lambda _, x, n: Pair(x, n),
    "object": lambda _, x, n: Sample(x, n),
    "counter": lambda _, x, n: collections.OrderedDict(x=x, y=n),
    "longer": lambda _, x, n: (x, n, n),
    "none": lambda *_: None,
}
