"""The order of a shuffle, as a pure function of its key, its buffer's size and a position.

Elements are numbered as they come in. The buffer has ``size`` slots, filled with elements 0 to size - 1. Output i
takes what lies in slot ``d(i)``, the i-th draw, and element ``size + i`` takes its place. When there is no such
element any more, what lies in the slots comes out in a random order of the slots.

So what lay where before output i follows from the draws before it, and a shuffle's state is a few numbers:
which element lies in a slot is decided by the last draw of that slot, and to find it for every slot one looks
back over about ``size * ln(size)`` draws, however many came before. A buffer that holds the whole dataset is the
second part alone: one permutation.
"""

from __future__ import annotations

import numpy as np

from headrace.physical.draws import Key, permutation, slots

__all__ = ["content", "drain_order", "draws", "whole_order"]


def draws(key: Key, start: int, count: int, size: int) -> np.ndarray:
    """The slots from which outputs ``start`` to ``start + count`` are taken (int64)."""
    return slots(key.child(0), start, count, size)


def drain_order(key: Key, size: int) -> np.ndarray:
    """The order in which what is left in the slots comes out (int64)."""
    return permutation(key.child(1), size)


def content(key: Key, outputs: int, size: int) -> np.ndarray:
    """The number of the element in each slot, after so many outputs (int64)."""
    held = np.arange(size, dtype=np.int64)
    unknown = np.ones(size, dtype=bool)
    end = outputs
    while end and unknown.any():
        start = max(0, end - max(size, 1024))
        latest = np.full(size, -1, dtype=np.int64)
        # Of equal indices the last assignment stays, and the draws are in order.
        latest[draws(key, start, end - start, size)] = np.arange(start, end, dtype=np.int64) + size
        found = unknown & (latest >= 0)
        held[found] = latest[found]
        unknown &= ~found
        end = start
    return held


def whole_order(key: Key, total: int, size: int) -> np.ndarray:
    """The number of the element that each output is, of so many elements in all (int64)."""
    if size >= total:
        return drain_order(key, total)
    steady = total - size
    drawn = draws(key, 0, steady, size)
    # An output is what the draw before of the same slot put there, or what the slot was filled with.
    by_slot = np.argsort(drawn, kind="stable")
    again = np.flatnonzero(drawn[by_slot[1:]] == drawn[by_slot[:-1]])
    order = drawn.copy()
    order[by_slot[again + 1]] = by_slot[again] + size
    return np.concatenate([order, content(key, steady, size)[drain_order(key, size)]])
