"""Which calls a fault comes at: a call by its number, elements that a predicate chooses, or elements that a seed draws."""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from headrace.elements.structure import flatten
from headrace.errors import InvalidArgumentError
from headrace.testing.faults.arguments import a_float, an_int
from headrace.testing.faults.record import ENTRY_BYTES, Record

__all__ = ["At", "Chosen", "chance", "key_of"]

# The number of a call, counted from 0, or what is called with the arguments of each.
At = int | Callable[..., Any]

_MOST: Final = 1 << (8 * ENTRY_BYTES)


class Chosen:
    """Says of each call whether the fault comes.

    Args:
        at: a number or a predicate.
        times: how often it comes at an element that a predicate chooses; None is always.
        record: where it is noted.
    """

    def __init__(self, at: At, times: int | None, record: Record) -> None:
        if not callable(at):
            an_int(at, "at", 0, what=", the number of a call, or a function of its arguments")
            if times != 1:
                raise InvalidArgumentError(
                    f"times={times!r} is for a function: a call by its number, here {at}, comes once"
                )
        if times is not None:
            an_int(times, "times", 1, what=", or None for always")
        self._at = at
        self._times = times
        self._record = record

    def comes(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
        """Returns whether the fault comes at this call, and notes it."""
        if isinstance(self._at, int):
            return self._record.add(bytes(ENTRY_BYTES)) == self._at
        if not self._at(*arguments, **named):
            return False
        return self._times is None or self._record.add_equal(key_of(arguments, named)) < self._times


class _Chance:
    """The predicate of ``chance``."""

    def __init__(self, probability: float, seed: int) -> None:
        self._least = int(probability * _MOST)
        self._seed = seed

    def __call__(self, *arguments: Any, **named: Any) -> bool:
        return int.from_bytes(key_of(arguments, named, self._seed), "big") < self._least


def chance(probability: float, *, seed: int) -> Callable[..., bool]:
    """Returns a predicate that is true of elements which a seed draws.

    An element is drawn by what it is, so the same elements are, in whatever order, process and run.

    Args:
        probability: from 0 to 1, of each element.
        seed: another one draws others.

    Raises:
        InvalidArgumentError: the probability is none.

    Example:
        >>> from headrace.testing import faults
        >>> drawn = faults.chance(0.2, seed=4)
        >>> [number for number in range(20) if drawn(number)]
        [6, 15, 17]
    """
    return _Chance(a_float(probability, "probability", 0, 1), an_int(seed, "seed"))


def key_of(arguments: tuple[Any, ...], named: Mapping[str, Any], seed: int = 0) -> bytes:
    """Returns what tells an element from others, the same in every process."""
    digest = hashlib.blake2b(str(seed).encode(), digest_size=ENTRY_BYTES)
    leaves, treedef = flatten((arguments, dict(named)))
    digest.update(str(treedef).encode())
    for leaf in leaves:
        kind, content = _words_of(leaf)
        digest.update(f"{kind} {len(content)} ".encode() + content)
    return digest.digest()


def _words_of(leaf: Any) -> tuple[str, bytes]:
    if isinstance(leaf, (np.ndarray, np.generic)):
        if leaf.dtype.kind == "O":
            return f"objects {leaf.shape}", repr(leaf.tolist()).encode()
        if leaf.ndim:
            return f"{leaf.dtype.str} {leaf.shape}", np.asarray(leaf).tobytes()
        leaf = leaf.item()  # a number is what it is, as NumPy's or Python's
    if leaf is None or isinstance(leaf, (bool, int, float, complex, str, bytes)):
        is_nan = isinstance(leaf, float) and math.isnan(leaf)
        return "plain", b"nan" if is_nan else repr(leaf).encode()
    try:
        return "pickled", pickle.dumps(leaf, 4)
    except Exception:  # noqa: BLE001 - whatever a class says; then its elements are one
        return "of class", type(leaf).__qualname__.encode()
