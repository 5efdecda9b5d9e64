"""How a shuffle draws: its order, as a pure function of its key, its buffer's size and a position.

Elements are numbered as they come in. The buffer has ``size`` slots, filled with elements 0 to size - 1. Output i
takes what lies in slot ``d(i)``, the i-th draw, and element ``size + i`` takes its place. When there is no such
element any more, what lies in the slots comes out in a random order of the slots.

So what lay where before output i follows from the draws before it, and a shuffle's state is a few numbers:
which element lies in a slot is decided by the last draw of that slot, and to find it for every slot one looks
back over about ``size * ln(size)`` draws, however many came before. A buffer that holds the whole dataset is the
second part alone: one permutation.

A permutation of millions is not drawn and held, but computed place by place (``computed_order``): a shuffle of what is read by
number then begins at once, wherever it begins, however many there are.
"""

from __future__ import annotations

import weakref
from typing import Final

import numpy as np

from headrace.blocks.cursor import State
from headrace.observe.tables import data_size
from headrace.plan.shuffling import WHOLE_DATASET, Shuffle
from headrace.semantics.computed_order import ComputedOrder
from headrace.semantics.random_streams import Key, permutation, random_indices
from headrace.semantics.run_context import RunContext

__all__ = [
    "SHUFFLE_REMEDY",
    "Order",
    "buffer_needs",
    "buffer_slots",
    "content",
    "drain_order",
    "draws",
    "emitted_state",
    "is_computed",
    "shuffle_key",
    "whole_order",
]


def draws(key: Key, start: int, count: int, size: int) -> np.ndarray:
    """Returns the slots from which outputs ``start`` to ``start + count`` are taken (int64)."""
    return random_indices(key.child(0), start, count, size)


# From so many elements on an order is computed: to draw it would take as long as some batches, and more memory than any.
COMPUTED_FROM = 1 << 22
# The elements in each place; places are looked up by number, array or slice.
Order = np.ndarray | ComputedOrder

# Orders that somebody holds: each stream of a dealt plan reads the same one, and to draw it anew takes as long as to read it.
_orders: Final[weakref.WeakValueDictionary[tuple[Key, int], np.ndarray]] = weakref.WeakValueDictionary()


def drain_order(key: Key, size: int, state: State | None = None) -> Order:
    """Returns the order in which what is left in the slots comes out (int64, read-only).

    Args:
        key: of the shuffle.
        size: how many are left.
        state: what the shuffle goes on from: one in which they already come out keeps the order that it has.
    """
    if is_computed(size, state):
        return ComputedOrder(key.child(1), size)
    order = _orders.get((key, size))
    if order is None:
        order = permutation(key.child(1), size)
        order.flags.writeable = False
        _orders[key, size] = order
    return order


def is_computed(size: int, state: State | None) -> bool:
    """Returns whether the order of what is left is computed; states that are older than such orders say nothing of it."""
    has_begun = state is not None and bool(state["emitted"]) and "total" in state
    return state["computed"] if state is not None and "computed" in state else size >= COMPUTED_FROM and not has_begun


def emitted_state(emitted: int, read: int, position: State, total: int | None, *, computed: bool) -> State:
    """Returns the state of a shuffle.

    Args:
        emitted: how many elements came out.
        read: how many came in before the oldest that it holds, or before an earlier one.
        position: the input's, before that one.
        total: how many there are, where that is known.
        computed: whether what is left comes out in a computed order.
    """
    state: State = {"emitted": emitted, "read": read, "input": position}
    if total is None:
        return state
    return {**state, "total": total, "computed": True} if computed else {**state, "total": total}


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


def whole_order(key: Key, total: int, size: int) -> Order:
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
    return np.concatenate([order, content(key, steady, size)[drain_order(key, size)[:]]])


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
            f"the {count:,} elements that its buffer holds so far, of about {data_size(each)}, have {data_size(nbytes)}"
        )
    needs = f"its buffer of {size:,} elements of about {data_size(each)} needs {data_size(each * size)}"
    return f"{needs}, and has {data_size(nbytes)} so far"


def shuffle_key(node: Shuffle, context: RunContext) -> Key:
    """Returns the random stream that orders a shuffle."""
    if node.buffer_size != 1:  # which leaves everything where it is
        context.expect_one_order(node)
    return context.key(node, each_epoch=node.reshuffle_each_iteration)
