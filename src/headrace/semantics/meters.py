"""The counters of one run."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.observe.meter import Meter
from headrace.plan.node import Node

__all__ = ["Inside", "Meters"]


class Inside:
    """How long what was read took, while what reads it is still measured; in one thread."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0


class Meters:
    """The meters of one run, one for each node of the plan, also where a node becomes many stages.

    They are listed in the order of ``nodes``; those of plans that functions make come after.
    """

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._meters: dict[tuple[object, ...], Meter] = {}
        self.inside = Inside()
        for node in nodes:
            self.of(node, ())

    def of(self, node: Node, within: tuple[object, ...]) -> Meter:
        """Returns the meter of a node; ``within`` names the stage that opened the plan in which it stands."""
        # Plans that a function makes anew for each element have equal labels and share a meter.
        key = (*within, node.label) if within else (id(node),)
        known = self._meters.get(key)
        return self._meters.setdefault(key, Meter(node.label, self._named(within))) if known is None else known

    def _named(self, within: tuple[object, ...]) -> Meter | None:
        name = within[-1] if within else None
        return next((meter for meter in self._meters.copy().values() if meter.name == name), None)

    def known(self, node: Node, within: tuple[object, ...]) -> Meter | None:
        """Returns the meter of a node that stands in the plan, or in one that a function made; None for what only helps to run it."""
        return self.of(node, within) if within else self._meters.get((id(node),))

    def all(self) -> tuple[Meter, ...]:
        """Returns every meter."""
        return tuple(self._meters.values())
