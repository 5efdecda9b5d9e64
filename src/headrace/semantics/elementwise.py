"""How each element of a random_map gets random numbers of its own, and what a state says of a map's unordered delivery.

Random numbers follow from an element's index in the epoch, so when and where it is made changes nothing.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar, Final

import numpy as np

from headrace.blocks.cursor import State
from headrace.elements.function_results import COUNTS
from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.known_as import known_as
from headrace.plan.elementwise import Enumerate, Map, RandomMap
from headrace.semantics.random_streams import Key
from headrace.semantics.run_context import RunContext

__all__ = ["DeliveredRuns", "drawing_map", "undelivered"]


@known_as("random_map on its way")
@frozen(kw_only=True, eq=False)
class _DrawingMap(Map):
    """What a random_map becomes when it runs: a map over numbered elements."""

    op: ClassVar[str] = "random_map"


_references: Final = sys.getrefcount


class _Numbers:
    """A generator that is set to the numbers of one element after another: to make one takes many times as long."""

    __slots__ = ("_beginning", "_bits", "_counter", "_generator", "_usual", "_usual_of_bits")

    def __init__(self, key: np.ndarray) -> None:
        self._bits = np.random.Philox(key=key, counter=0)
        self._generator = np.random.Generator(self._bits)
        # In lists, which NumPy reads one by one in a quarter of the time that it takes for arrays.
        beginning: Any = self._bits.state
        words = {name: array.tolist() for name, array in beginning["state"].items()}
        self._beginning: Any = {**beginning, "state": words, "buffer": beginning["buffer"].tolist()}
        self._counter = words["counter"]
        self._usual, self._usual_of_bits = _references(self._generator), _references(self._bits)

    def at(self, index: int) -> np.random.Generator:
        """Returns the generator, set to the numbers of the element at an index."""
        # Two words of the counter are the element's index, so that no two elements' streams ever meet.
        self._counter[2] = index
        self._bits.state = self._beginning
        return self._generator

    def is_kept(self) -> bool:
        """Returns whether somebody else holds the generator, or may hold it."""
        return (
            not COUNTS or _references(self._generator) != self._usual or _references(self._bits) != self._usual_of_bits
        )


class _Drawing:
    """Calls a function with a generator for the element at an index. Messages name the user's function, ``func``."""

    __slots__ = ("_key", "_unused", "func")

    def __init__(self, function: Any, key: Key) -> None:
        self.func = function
        self._key = key.generator().random_raw(2)
        self._unused: list[_Numbers] = []  # as many as calls ran at once; each is one call's, or here

    def __call__(self, index: int, element: Element) -> Any:
        try:
            numbers = self._unused.pop()
        except IndexError:
            numbers = _Numbers(self._key)
        function = self.func
        if type(element) is tuple:
            result = function(numbers.at(index), *element)
        else:
            result = function(numbers.at(index), element)
        if not numbers.is_kept():
            self._unused.append(numbers)
        return result


def drawing_map(node: RandomMap, numbered: Enumerate, context: RunContext) -> Map:
    """Makes the map over numbered elements that a random_map is, in this epoch."""
    drawing = _Drawing(node.function, context.key(node, of_rank=True))
    return _DrawingMap(input=numbered, function=drawing, name=node.name, timeout_s=node.timeout_s)


DeliveredRuns = list[tuple[int, int]]  # sorted, apart from each other


def undelivered(state: State | None, maps: range) -> tuple[DeliveredRuns, State | None]:
    """Returns what these maps had delivered out of order, and the state of what they read."""
    runs: DeliveredRuns = []
    layers: list[list[list[int]]] = []
    # More than one where a run that was itself resumed was stopped again before it had caught up.
    while state and "delivered" in state and state["map"] in maps:
        layers.append(state["delivered"])
        state = state["input"]
    for layer in reversed(layers):
        runs = _with_left_over(runs, layer)
    return runs, state


def _with_left_over(runs: DeliveredRuns, later: list[list[int]]) -> DeliveredRuns:
    """Joins the runs with later ones, which count only what these left over."""
    merged = list(runs)
    gap_start, counted = 0, 0
    for run_start, run_end in [*runs, (sys.maxsize, sys.maxsize)]:
        length = run_start - gap_start
        for start, end in later:
            low, high = max(start - counted, 0), min(end - counted, length)
            if low < high:
                merged.append((gap_start + low, gap_start + high))
        gap_start, counted = run_end, counted + length
    return sorted(merged)
