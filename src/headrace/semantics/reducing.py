"""What reduce makes of elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.elements.structure import Element
from headrace.semantics.calls import packed
from headrace.semantics.stateful import StateCheck

__all__ = ["reduced"]


def reduced(
    elements: Iterable[Element], state: Element, reduce_func: Callable[[Element, Element], Element], *, stage: str
) -> Element:
    """Returns the state after all elements.

    Raises:
        TypeError: the function returned a state of another structure, shape or dtype.
    """
    check = StateCheck(state, stage=stage)
    known = check.known
    for element in elements:
        state = reduce_func(state, element)
        # Of scalars that were found to be alike, or of arrays.
        if type(state) not in known and not check.knows(state):
            state = packed(state)
            check(state)
    return state
