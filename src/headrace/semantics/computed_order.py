"""A random order of so many elements that nobody holds it: the element in a place is computed when it is asked for.

The numbers below ``size`` are places in a rectangle of ``width * height``, the smallest one that is about square. A Feistel
network goes over it: in turn, each of a number's two coordinates has a random function of the other one added to it, modulo the
length of its side. That can be undone, whatever the functions are, so it is a permutation of the rectangle. A number that
leaves what is below ``size`` goes through it again until it comes back, which makes it a permutation of these alone ("cycle
walking"). Both are of J. Black and P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. The rectangle has fewer
than ``width`` numbers too many, so no walk is longer than ``width`` rounds, and of a million numbers about two thousand go a
second one.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from headrace.blocks.origin import Indices, as_array
from headrace.semantics.random_streams import Key

__all__ = ["ComputedOrder"]

# Three for each coordinate would do against a test of one place or two; more cost little.
_ROUNDS: Final = 8
# Two odd numbers without a pattern in their bits: those of MurmurHash3's and SplitMix64's last steps.
_FIRST: Final = np.uint64(0xFF51AFD7ED558CCD)
_SECOND: Final = np.uint64(0xBF58476D1CE4E5B9)
_HALF: Final = np.uint64(32)


class ComputedOrder:
    """The numbers below a size in the random order of a key; indexed like an array of them (int64)."""

    __slots__ = ("_height", "_keys", "_size", "_width", "walked")

    def __init__(self, key: Key, size: int) -> None:
        width = math.isqrt(max(size - 1, 0)) + 1
        self._size = size
        self._width = width
        self._height = max(1, -(-size // width))
        self._keys = key.generator().random_raw(_ROUNDS)
        self.walked = 0  # the most times that a number went through the network

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, places: int | slice | np.ndarray) -> Any:
        if isinstance(places, slice):
            return self.at(range(self._size)[places])
        return self.at(places) if isinstance(places, np.ndarray) else int(self.at(range(places, places + 1))[0])

    def at(self, places: Indices) -> np.ndarray:
        """Returns what is in these places, each from 0 to the size - 1 (int64)."""
        numbers = self._through(as_array(places).astype(np.uint64))
        out = np.flatnonzero(numbers >= self._size)
        walked = 1
        while len(out):
            again = self._through(numbers[out])
            numbers[out] = again
            out = out[again >= self._size]
            walked += 1
        self.walked = max(self.walked, walked)
        return numbers.view(np.int64)

    def _through(self, numbers: np.ndarray) -> np.ndarray:
        """Sends numbers through the network once."""
        width, height = np.uint64(self._width), np.uint64(self._height)
        across = numbers // height
        along = numbers - across * height
        for index in range(0, _ROUNDS, 2):
            across = _added(across, along, self._keys[index], width)
            along = _added(along, across, self._keys[index + 1], height)
        across *= height
        across += along
        return across


def _added(one: np.ndarray, other: np.ndarray, key: np.uint64, side: np.uint64) -> np.ndarray:
    """Adds a random function of the other coordinate to one, modulo its side."""
    mixed = other + key
    mixed *= _FIRST
    mixed ^= mixed >> _HALF
    mixed *= _SECOND
    mixed >>= _HALF
    # Times the side, and shifted back, as random_indices does: the bias is below side / 2**32.
    mixed *= side
    mixed >>= _HALF
    mixed += one
    # One side less, where that is no negative number, which would be a very large one here.
    reduced: np.ndarray = np.minimum(mixed, mixed - side)
    return reduced
