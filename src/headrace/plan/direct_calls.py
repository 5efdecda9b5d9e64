"""Functions with a case for each kind of node, called without a frame of C in between.

``functools.singledispatch`` passes its arguments on as ``*args``, which until Python 3.11 goes through C. Such functions call
themselves once for each node below, and the stack of C, unlike Python's own frames, is a few megabytes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["called_directly"]

F = TypeVar("F", bound=Callable[..., Any])


def called_directly(cases: F) -> F:
    """Returns the same function of two or three arguments, the first of which tells the case; cases are registered as before."""
    dispatch = cases.dispatch  # type: ignore[attr-defined]  # of functools.singledispatch

    def of_two(node: Any, one: Any) -> Any:
        return dispatch(type(node))(node, one)

    def of_three(node: Any, one: Any, other: Any) -> Any:
        return dispatch(type(node))(node, one, other)

    base = cases.__wrapped__  # type: ignore[attr-defined]  # as above
    direct: Any = {2: of_two, 3: of_three}[base.__code__.co_argcount]
    functools.update_wrapper(direct, base)
    direct.register = cases.register  # type: ignore[attr-defined]  # as above
    direct.dispatch = dispatch
    called: F = direct
    return called
