"""How a shuffle draws: its order, as a pure function of its key, its buffer's size and a position.

Elements are numbered as they come in. The buffer has ``size`` slots, filled with elements 0 to size - 1. Output i
takes what lies in slot ``d(i)``, the i-th draw, and element ``size + i`` takes its place. When there is no such
element any more, what lies in the slots comes out in a random order of the slots.

So what lay where before output i follows from the draws before it, and a shuffle's state is a few numbers:
which element lies in a slot is decided by the last draw of that slot, and to find it for every slot one looks
back over about ``size * ln(size)`` draws, however many came before. A buffer that holds the whole dataset is the
second part alone: one permutation.
"""

from __future__ import annotations

import weakref
from typing import Final

import numpy as np

from headrace.plan.shuffling import WHOLE_DATASET, Shuffle
from headrace.semantics.held_bytes import in_words
from headrace.semantics.random_streams import Key, permutation, random_indices
from headrace.semantics.run_context import RunContext

__all__ = [
    "SHUFFLE_REMEDY",
    "buffer_needs",
    "buffer_slots",
    "content",
    "drain_order",
    "draws",
    "shuffle_key",
    "whole_order",
]


def draws(key: Key, start: int, count: int, size: int) -> np.ndarray:
    """Returns the slots from which outputs ``start`` to ``start + count`` are taken (int64)."""
    return random_indices(key.child(0), start, count, size)


# Orders that somebody holds: each stream of a dealt plan reads the same one, and to draw it anew takes as long as to read it.
_orders: Final[weakref.WeakValueDictionary[tuple[Key, int], np.ndarray]] = weakref.WeakValueDictionary()


def drain_order(key: Key, size: int) -> np.ndarray:
    """Returns the order in which what is left in the slots comes out (int64, read-only)."""
    order = _orders.get((key, size))
    if order is None:
        order = permutation(key.child(1), size)
        order.flags.writeable = False
        _orders[key, size] = order
    return order


def content(key: Key, outputs: int, size: int) -> np.ndarray:
    """Returns the index of the element in each slot, after ``outputs`` outputs (int64)."""
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
    """Returns the index of the element that each output is, of ``total`` elements (int64)."""
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


_ENDLESS = 1 << 62


SHUFFLE_REMEDY: Final = (
    "Take a smaller buffer_size, or shuffle what is read by index, before the maps that make it large"
)


def buffer_slots(node: Shuffle) -> int:
    """Returns how many slots the buffer has; more than any dataset has elements where it holds the whole."""
    return _ENDLESS if node.buffer_size == WHOLE_DATASET else node.buffer_size


def buffer_needs(nbytes: int, count: int, size: int) -> str:
    """Says what a full buffer would need, from the bytes in the slots that are filled."""
    each = nbytes // count
    if size == _ENDLESS:
        return (
            f"the {count:,} elements that its buffer holds so far, of about {in_words(each)}, have {in_words(nbytes)}"
        )
    needs = f"its buffer of {size:,} elements of about {in_words(each)} needs {in_words(each * size)}"
    return f"{needs}, and has {in_words(nbytes)} so far"


def shuffle_key(node: Shuffle, context: RunContext) -> Key:
    """Returns the random stream that orders a shuffle."""
    if node.buffer_size != 1:  # which leaves everything where it is
        context.expect_one_order(node)
    return context.key(node.randomness, each_epoch=node.reshuffle_each_iteration)
