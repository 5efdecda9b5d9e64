"""What reduce makes of elements: a loop that is generated for states of one form, with a few comparisons and no other look at them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any, Final

from headrace.elements.structure import Element
from headrace.physical.loops.compiled import compiled
from headrace.physical.loops.conditions import Conditions
from headrace.physical.loops.forms import Form, form_of, has_lists
from headrace.semantics.calls import packed
from headrace.semantics.stateful import StateCheck

__all__ = ["reduced"]

_Reduce = Callable[[Element, Element], Element]

# So many states are looked at before a loop is made for what they have in common, and so many others are met before it is left.
_PROBED: Final = 2
_MOST_SURPRISES: Final = 4


def reduced(elements: Iterable[Element], state: Element, reduce_func: _Reduce, *, stage: str) -> Element:
    """Returns the state after all elements.

    Raises:
        TypeError: the function returned a state of another structure, shape or dtype.
    """
    check = StateCheck(state, stage=stage)
    known = check.known
    rest = iter(elements)
    for element in itertools.islice(rest, _PROBED):
        state = _checked(reduce_func(state, element), check)
    for _ in range(_MOST_SURPRISES):
        form = None if type(state) in known else form_of(state)  # a scalar says at once what it is
        if form is None or has_lists(form):
            break
        loop, constants = _loop_for(form)
        state, is_over = loop(rest, reduce_func, state, constants)
        if is_over:
            return state
        state = _checked(state, check)
    for element in rest:
        state = reduce_func(state, element)
        if type(state) not in known:
            state = _checked(state, check)
    return state


def _checked(state: Element, check: StateCheck) -> Element:
    """Returns a state as it is handed on."""
    if type(state) not in check.known and not check.knows(state):
        state = packed(state)
        check(state)
    return state


@functools.lru_cache(maxsize=128)
def _loop_for(form: Form) -> tuple[Callable[..., tuple[Element, bool]], tuple[Any, ...]]:
    """Returns a loop that ends with a state of another form, or after the last element, and what its text has names for."""
    constants: list[Any] = []

    def constant(value: Any) -> str:
        constants.append(value)
        return f"k{len(constants) - 1}"

    conditions = Conditions(constant, counted=False).of("state", form)
    text = [
        "def loop(rows, call, state, constants):",
        f" {''.join(f'k{number}, ' for number in range(len(constants)))}= constants" if constants else "",
        " for row in rows:",
        "  state = call(state, row)",
        f"  if not ({' and '.join(conditions)}):",
        "   return state, False",
        " return state, True",
        "",
    ]
    return compiled("\n".join(text)), tuple(constants)
