"""Functions with a case for each kind of node.

``functools.singledispatch`` says the same, but looks through the abstract classes that a class may be registered with, passes
its arguments on through C until Python 3.11, and must not be added to while another thread looks a case up. Such functions call
themselves once for each node below, which the stack of C would not bear, and cases are added while plans run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from headrace.plan.node import Node

__all__ = ["cases"]

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])


class Cases(Generic[P, T]):
    """What ``cases`` makes of a function, as a type checker is to see it."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls the case of the first argument."""
        raise NotImplementedError

    @overload
    def register(self, kind: type[Node], /) -> Callable[[C], C]: ...

    @overload
    def register(self, case: C, /) -> C: ...

    def register(self, case: Any, /) -> Any:
        """Adds a case, of the kind that is given or that its first argument is annotated with."""

    def dispatch(self, kind: type[Any], /) -> Callable[P, T]:
        """Returns the case of a kind of node, or the function itself where there is none."""
        raise NotImplementedError


def cases(
    learn: Callable[[type[Node]], None] | None = None, afterwards: Callable[..., Any] | None = None
) -> Callable[[Callable[P, T]], Cases[P, T]]:
    """Makes a function of two or three arguments, the first a node, one that has cases; it is called where there is none.

    Args:
        learn: called with each kind of node that is met, before its case is looked up; imports the modules that add it.
        afterwards: of a function of three arguments: given what a case returned, and those; returns what is returned in its place.
    """

    def made(base: Callable[P, T]) -> Cases[P, T]:
        table = _Table(base, learn)
        direct: Any = _direct(table, cast("Any", base).__code__.co_argcount, afterwards)
        functools.update_wrapper(direct, base)
        direct.register, direct.dispatch = table.register, table.dispatch
        called: Cases[P, T] = direct
        return called

    return made


class _Table:
    """The cases of one function.

    Attributes:
        known: of what was registered.
        found: of what was looked up: subclasses have the case of what they extend.
    """

    def __init__(self, base: Callable[..., Any], learn: Callable[[type[Node]], None] | None) -> None:
        self._base = base
        self._learn = learn
        self.known: dict[type[Any], Callable[..., Any]] = {}
        self.found: dict[type[Any], Callable[..., Any]] = {}

    def dispatch(self, kind: type[Any]) -> Callable[..., Any]:
        if self._learn is not None:
            self._learn(kind)
        case = next((self.known[base] for base in kind.__mro__ if base in self.known), self._base)
        self.found[kind] = case
        return case

    def register(self, case: Any) -> Any:
        if isinstance(case, type):
            return functools.partial(self._add, case)
        first = next(iter(case.__annotations__.values()))
        return self._add(case.__globals__[first], case)

    def _add(self, kind: type[Any], case: C) -> C:
        self.known[kind] = case
        self.found.clear()
        return case


def _direct(table: _Table, arguments: int, afterwards: Callable[..., Any] | None) -> Callable[..., Any]:
    """Returns what calls the case of its first argument, of two or three, in one frame of its own."""
    found, dispatch = table.found, table.dispatch

    def of_two(node: Any, one: Any) -> Any:
        return (found.get(type(node)) or dispatch(type(node)))(node, one)

    def of_three(node: Any, one: Any, other: Any) -> Any:
        return (found.get(type(node)) or dispatch(type(node)))(node, one, other)

    def of_three_and_afterwards(node: Any, one: Any, other: Any) -> Any:
        assert afterwards is not None
        return afterwards((found.get(type(node)) or dispatch(type(node)))(node, one, other), node, one, other)

    three = of_three if afterwards is None else of_three_and_afterwards
    direct: dict[int, Callable[..., Any]] = {2: of_two, 3: three}
    return direct[arguments]
