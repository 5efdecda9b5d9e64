"""Plan nodes that hold elements or settings, and change none: cache, prefetch, with_options."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from headrace.caching.kept import Store
from headrace.caching.memory import MemoryCache
from headrace.errors import InvalidArgumentError
from headrace.plan.node import AUTOTUNE, UNKNOWN_CARDINALITY, Node, UnaryNode, nodes_of
from headrace.plan.options import Options
from headrace.plan.sequencing import check_int
from headrace.plan.stateful import AssertCardinality

__all__ = ["Cache", "Prefetch", "WithOptions", "options_of"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cache(UnaryNode):
    """The elements of the first whole epoch, kept and given again in every later one."""

    op: ClassVar[str] = "cache"
    store: Store = dataclasses.field(default_factory=MemoryCache)

    def whole_at(self) -> int:
        """After how many elements an epoch is whole without asking for its end; negative where only the end tells.

        A number that was asserted does not tell: there may be more.
        """
        if any(isinstance(node, AssertCardinality) for node in nodes_of(self.input)):
            return UNKNOWN_CARDINALITY
        return self.input.cardinality()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prefetch(UnaryNode):
    """The same elements, made ready by a thread of their own before they are asked for."""

    op: ClassVar[str] = "prefetch"
    tuning: ClassVar[frozenset[str]] = frozenset({"buffer_size"})
    buffer_size: int = AUTOTUNE

    def __post_init__(self) -> None:
        size = check_int(self.buffer_size, field="buffer_size", stage=self.op)
        if size < AUTOTUNE:
            message = f"buffer_size must be at least 0, or hr.AUTOTUNE, not {size}"
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "buffer_size", size)

    def parameters(self) -> dict[str, Any]:
        """How many elements it may hold."""
        return {"buffer_size": self.buffer_size}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WithOptions(UnaryNode):
    """The same elements; settings for the whole plan."""

    op: ClassVar[str] = "with_options"
    options: Options

    def parameters(self) -> dict[str, Any]:
        """The settings that are given."""
        values = {field.name: getattr(self.options, field.name) for field in dataclasses.fields(self.options)}
        return {name: value for name, value in values.items() if value is not None}


def options_of(plan: Node) -> Options:
    """All options of a plan; where two meet, the one nearer to the end wins."""
    merged = Options()
    for node in nodes_of(plan):
        if isinstance(node, WithOptions):
            merged = merged.merged(node.options)
    return merged
