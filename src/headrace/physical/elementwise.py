"""How each element gets random numbers of its own: by its number in the epoch, so that it matters to nobody when it is made."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from headrace.known_as import known_as
from headrace.physical.draws import Key
from headrace.physical.mapping import call_on
from headrace.physical.run_context import Context
from headrace.plan.elementwise import Enumerate, Map, RandomMap
from headrace.structure import Element

__all__ = ["drawing_map"]


@known_as("random_map on its way")
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _DrawingMap(Map):
    """What a random_map becomes when it runs: a map over numbered elements."""

    op: ClassVar[str] = "random_map"


class _Drawing:
    """Calls a function with a generator for the element of a number. Messages name the user's function, ``func``."""

    __slots__ = ("_key", "func")

    def __init__(self, function: Any, key: Key) -> None:
        self.func = function
        self._key = key.generator().random_raw(2)

    def __call__(self, number: int, element: Element) -> Any:
        # Two words of the counter number the element, so that no two elements' streams ever meet.
        bits = np.random.Philox(key=self._key, counter=[0, 0, number, 0])
        generator = np.random.Generator(bits)
        return call_on(lambda *parts: self.func(generator, *parts), element)


def drawing_map(node: RandomMap, numbered: Enumerate, context: Context) -> Map:
    """The map over numbered elements that a random_map is, in this epoch."""
    drawing = _Drawing(node.function, context.key(node.randomness))
    return _DrawingMap(input=numbered, function=drawing, name=node.name)
