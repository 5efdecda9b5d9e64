"""Plans that only give, choose and put together elements that are at hand, of which there are few.

Nothing of such a plan calls a function, draws a number, waits, reads a file, has a thread, is kept or is set by options. So nobody can tell
in which way its elements are made, or when.
"""

from __future__ import annotations

from typing import Final

from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.plan.node import Node, parallel_calls_of
from headrace.plan.sequencing import Concatenate, Repeat, Skip, Take
from headrace.plan.sources import FromTensors, FromTensorSlices, Range
from headrace.plan.stateful import Scan, TakeWhile
from headrace.plan.windowing import WindowContents

__all__ = ["MOST_ELEMENTS", "calls_at_most", "calls_in_turn", "is_of_window", "is_quiet"]

# Of a source: made whole, however few are wanted, which is some ten microseconds of work.
MOST_ELEMENTS: Final = 4096

_BATCHES: Final = frozenset({Batch, PaddedBatch, RaggedBatch})
# These very classes: one that extends them may do more.
_QUIET: Final = _BATCHES | {
    Range,
    FromTensorSlices,
    FromTensors,
    WindowContents,
    Enumerate,
    Zip,
    Take,
    Skip,
    Repeat,
    Concatenate,
}
_CALLING: Final = frozenset({Map, Filter})
_QUIET_OR_CALLING: Final = _QUIET | _CALLING
_CALLING_IN_TURN: Final = _QUIET_OR_CALLING | {Scan, TakeWhile}
_PARALLEL: Final = _BATCHES | _CALLING
# A plan of more operations has other costs than this look saves.
_MOST_NODES: Final = 16


def is_quiet(plan: Node) -> bool:
    """Returns whether a plan has such operations alone, and few of them, over few elements; it costs about a microsecond."""
    return _has_only(_QUIET, plan)


def is_of_window(plan: Node) -> bool:
    """Returns whether what a quiet plan reads first is held by a window or a group: a part of a run."""
    inputs = plan.inputs
    while inputs:
        plan = inputs[0]
        inputs = plan.inputs
    return type(plan) is WindowContents


def calls_at_most(plan: Node) -> bool:
    """Returns the same of a plan that may also call functions, one after the other where its elements are asked for."""
    return _has_only(_QUIET_OR_CALLING, plan)


def calls_in_turn(plan: Node) -> bool:
    """Returns the same of a plan that may also call functions whose calls follow from one another."""
    return _has_only(_CALLING_IN_TURN, plan)


def _has_only(kinds: frozenset[type[Node]], plan: Node) -> bool:
    waiting = [plan]
    for node in waiting:  # which grows meanwhile
        kind = type(node)
        if kind not in kinds or (kind in _PARALLEL and parallel_calls_of(node) is not None):
            return False
        inputs = node.inputs
        if not inputs and not 0 <= node.cardinality() <= MOST_ELEMENTS:
            return False
        waiting += inputs
        if len(waiting) > _MOST_NODES:
            return False
    return True
