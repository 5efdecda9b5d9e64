"""Plan nodes for a look at what a plan's elements are: one notes what passes it, one stands for what is known.

They are put into a plan where ``element_spec`` runs it by the reference; no other way of running knows them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from headrace.elements.leaf_specs import spec_of
from headrace.frozen import frozen, mutable
from headrace.plan.node import Node, Spec, UnaryNode

__all__ = ["Known", "Noted", "Tap"]

# So many elements say whether sizes vary; a shuffle over millions is not looked at as a whole.
_MOST = 64


@mutable
class Noted:
    """What was seen of the elements of one node.

    Attributes:
        inputs: what was seen of what it reads.
        latest: the specification of the latest element.
        seen: that of each of the first elements, with what each input had given last.
        opened: the plans that its function returned, where it returns datasets.
    """

    inputs: tuple[Noted, ...] = ()
    latest: Spec = None
    seen: list[tuple[Spec, tuple[Spec, ...]]] = dataclasses.field(default_factory=list)
    opened: list[Node] = dataclasses.field(default_factory=list)

    def note(self, element: Any) -> None:
        """Takes one element down."""
        if len(self.seen) < _MOST:
            self.latest = spec_of(element)
            self.seen.append((self.latest, tuple(noted.latest for noted in self.inputs)))

    def noting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function, noting the plans of the datasets that it returns; messages name the function itself."""
        return _Noting(function, self.opened)


class _Noting:
    def __init__(self, func: Callable[..., Any], opened: list[Node]) -> None:
        self.func = func
        self._opened = opened

    def __call__(self, *arguments: Any) -> Any:
        dataset = self.func(*arguments)
        if hasattr(type(dataset), "__headrace_plan__") and len(self._opened) < _MOST:
            self._opened.append(dataset.__headrace_plan__())
        return dataset


@frozen(kw_only=True, eq=False)
class Tap(UnaryNode):
    """The same elements, noted."""

    op: ClassVar[str] = "tap"
    noted: Noted

    @property
    def label(self) -> str:
        return self.input.label


@frozen(kw_only=True, eq=False)
class Known(Node):
    """In place of a node whose specification was found by a look; it is never run."""

    op: ClassVar[str] = "known"
    known: Spec
    count: int

    def _cardinality(self) -> int:
        return self.count

    def _spec(self) -> Spec:
        return self.known
