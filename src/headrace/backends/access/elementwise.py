"""The access to operations that look at one element at a time."""

from __future__ import annotations

from headrace.backends.access.dispatch import Access, access_of, no_access
from headrace.backends.reference.elementwise import made_by
from headrace.backends.reference.stream import Given
from headrace.plan.elementwise import Enumerate, Map, RandomMap
from headrace.semantics.elementwise import drawing_map
from headrace.semantics.run_context import RunContext
from headrace.semantics.timed_calls import Callers

__all__: list[str] = []


class MapAccess:
    """What a function makes of the element."""

    def __init__(self, node: Map, read: Access) -> None:
        self.node = node
        self.input = read
        self.length = read.length

    def at(self, index: int) -> Given:
        element, origin = self.input.at(index)
        with Callers() as callers:  # which has a thread where the function has a timeout
            return made_by(self.node, element, origin, callers), origin


class EnumerateAccess:
    """The element with its index."""

    def __init__(self, start: int, read: Access) -> None:
        self.start = start
        self.input = read
        self.length = read.length

    def at(self, index: int) -> Given:
        element, origin = self.input.at(index)
        return (self.start + index, element), origin


@access_of.register
def _map(node: Map, context: RunContext) -> Access:
    if node.skips:
        raise no_access(node, 'on_error="skip" leaves elements out, and only a run could tell how many')
    return MapAccess(node, access_of(node.input, context.upstream_of_maps(1)))


@access_of.register
def _random_map(node: RandomMap, context: RunContext) -> Access:
    numbered = Enumerate(input=node.input)
    return MapAccess(drawing_map(node, numbered, context), access_of(numbered, context.upstream_of_maps(1)))


@access_of.register
def _enumerate(node: Enumerate, context: RunContext) -> Access:
    return EnumerateAccess(node.start, access_of(node.input, context))
