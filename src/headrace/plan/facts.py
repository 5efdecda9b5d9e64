"""Facts of a plan that follow from each node and from the same facts of what it reads.

A node remembers each fact that was asked of it, since nothing in it changes. So a plan that grows by an operation asks its
new node alone, and a fact of a plan costs time that is linear in its depth, once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from headrace.plan.node import Node

__all__ = ["Fact", "Remembering", "fact"]

T = TypeVar("T")
_MISSING: Final = object()


class Remembering:
    """The base of what remembers facts. They are no part of its identity: copies, also pickled ones, find them anew."""

    __slots__ = ("__weakref__", "_facts")

    _facts: dict[Hashable, Any]

    def remembered(self, name: Hashable, default: Any) -> Any:
        """Returns the fact of that name, where it is known."""
        try:
            return self._facts.get(name, default)
        except AttributeError:
            return default

    def remember(self, name: Hashable, value: Any) -> None:
        """Keeps a fact."""
        try:
            self._facts[name] = value
        except AttributeError:
            object.__setattr__(self, "_facts", {name: value})

    def recall(self, name: Hashable, find: Callable[[], T]) -> T:
        """Returns the fact of that name, found where it is not remembered."""
        try:
            known: T = self._facts[name]
        except (AttributeError, KeyError):
            known = find()
            self.remember(name, known)
        return known


class Fact(Generic[T]):
    """A fact of plans, made of a rule."""

    def __init__(self, rule: Callable[[Node, list[T]], T]) -> None:
        self._rule = rule
        functools.update_wrapper(self, rule)

    def __call__(self, plan: Node) -> T:
        found = self._known(plan)
        if found is _MISSING:
            self._find(plan)
            found = self._known(plan)
        known: T = found
        return known

    def tell(self, node: Node, value: T) -> None:
        """Makes a node remember the fact, where the maker of the node knows it."""
        node.remember(self, value)

    def _find(self, plan: Node) -> None:
        waiting = [plan]
        while waiting:
            node = waiting[-1]
            known = [self._known(child) for child in node.inputs]
            unknown = [child for child, value in zip(node.inputs, known, strict=True) if value is _MISSING]
            if unknown:
                waiting += unknown
            else:
                waiting.pop()
                node.remember(self, self._rule(node, known))

    def _known(self, node: Node) -> Any:
        return node.remembered(self, _MISSING)


def fact(rule: Callable[[Node, list[T]], T]) -> Fact[T]:
    """Makes a fact of a rule, which is given a node and the same fact of each of its inputs."""
    return Fact(rule)
