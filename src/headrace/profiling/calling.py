"""How a step takes its element: whole, or, as functions of ``map`` do, with the components of a tuple one by one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from headrace.errors import InvalidArgumentError

__all__ = ["taking"]


def taking(step: Callable[..., object]) -> Callable[[Any], object]:
    """Returns a function of an element that calls the step as it can be called.

    A step that takes one argument gets the element; one that takes as many as a tuple has components gets these. Which it is
    shows the first element.

    Raises:
        InvalidArgumentError: the function that is returned, at its first element: the step can be called in neither way, or to call it does
            nothing, as of an async function or a generator.
    """
    chosen: Callable[[Any], object] | None = None

    def on_element(element: Any) -> object:
        nonlocal chosen
        if chosen is None:
            chosen = step if _takes(step, element) else _one_by_one(step, element)
            return _done(step, chosen(element))
        return chosen(element)

    return on_element


def _one_by_one(step: Callable[..., object], element: Any) -> Callable[[Any], object]:
    if not isinstance(element, tuple | list) or not _takes(step, *element):
        kind = type(element).__name__
        told = f"{kind} of {len(element)}" if isinstance(element, tuple | list) else kind
        message = f"the step is {_name(step)}{inspect.signature(step)}, which cannot be called with an element ({told})"
        raise InvalidArgumentError(message, stage="profile")
    return lambda components: step(*components)


def _done(step: Callable[..., object], result: object) -> object:
    """Refuses what would be measured as nothing: the body of an async function or a generator has not run."""
    if not isinstance(result, (Coroutine, Generator)):
        return result
    result.close()
    kind = "an async function" if isinstance(result, Coroutine) else "a generator"
    message = f"the step is {_name(step)}, {kind}, which does nothing when it is called: profile a function that runs it to its end"
    raise InvalidArgumentError(message, stage="profile")


def _name(step: Callable[..., object]) -> str:
    return str(getattr(step, "__name__", type(step).__name__))


def _takes(step: Callable[..., object], *arguments: Any) -> bool:
    try:
        inspect.signature(step).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # a function of a library that does not say what it takes
        return True
    return True
