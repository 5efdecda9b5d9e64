"""The counters of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from headrace.observe.meter import Meter
from headrace.plan.node import Node, nodes_of

__all__ = ["Inside", "Meters", "twin_of"]

_NO_TWINS: Final[Mapping[int, int]] = {}


class Inside:
    """How long what was read took, while what reads it is still measured; in one thread."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0


class Meters:
    """The meters of one run, one for each node of the plan, also where a node becomes many stages, or is changed while it runs.

    They are listed in the order of ``nodes``; those of plans that functions make come after.
    """

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._meters: dict[tuple[object, ...], Meter] = {}
        # Of the plan's operations, which nodes that were changed still are; a rule may have made two nodes of one.
        self._of_operations: dict[tuple[int, type], Meter] = {}
        self.inside = Inside()
        for node in nodes:
            meter = self._meters.setdefault((id(node),), Meter(node.label))
            self._of_operations.setdefault(_operation(node), meter)

    def of(self, node: Node, within: tuple[object, ...], twin: int = 0) -> Meter:
        """Returns the meter of a node.

        Args:
            node: it.
            within: names the stages that opened the plan in which it stands; empty for the plan itself.
            twin: which of several operations of that plan it is that have one label.
        """
        # Plans that a function makes anew for each element have equal labels and share a meter.
        key = (*within, node.label, twin) if within else (id(node),)
        known = self._meters.get(key)
        if known is None and not within:
            known = self._of_operations.get(_operation(node))
        return self._meters.setdefault(key, Meter(node.label, self._named(within))) if known is None else known

    def take(self, node: Node, meter: Meter) -> None:
        """Has a meter be that of a node of the plan, which has counted for it already."""
        meter.name = node.label
        self._meters[id(node),] = self._of_operations[_operation(node)] = meter

    def _named(self, within: tuple[object, ...]) -> Meter | None:
        name = within[-1] if within else None
        return next((meter for meter in self._meters.copy().values() if meter.name == name), None)

    def known(self, node: Node, within: tuple[object, ...], twin: int = 0) -> Meter | None:
        """Returns the meter of a node that stands in the plan, or in one that a function made; None for what only helps to run it."""
        return self.of(node, within, twin) if within else self._meters.get((id(node),))

    def all(self) -> tuple[Meter, ...]:
        """Returns every meter."""
        return tuple(self._meters.values())


def _operation(node: Node) -> tuple[int, type]:
    return id(node.operation), type(node)


def twin_of(plan: Node, node: Node) -> int:
    """Returns which of the operations of a plan it is that have its label; 0 is the first one."""
    return plan.recall("twins", lambda: _twins(plan)).get(id(node.operation), 0)


def _twins(plan: Node) -> Mapping[int, int]:
    """Returns the operations that share a label with others before them, and how many those are."""
    nodes = [*nodes_of(plan)]
    if len({type(node) for node in nodes}) == len(nodes):  # as mostly: a label takes longer to find
        return _NO_TWINS
    of_label: dict[str, dict[int, int]] = {}
    for node in nodes:
        known = of_label.setdefault(node.label, {})
        known.setdefault(id(node.operation), len(known))  # an operation that is read twice is still one
    return {operation: number for known in of_label.values() for operation, number in known.items() if number}
