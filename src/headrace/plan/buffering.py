"""Plan nodes that hold elements or settings, and change none: cache, prefetch, with_options."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from headrace.arguments import AUTOTUNE, check_int
from headrace.caching.memory import MemoryCache
from headrace.caching.store import Store
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.facts import fact
from headrace.plan.node import UNKNOWN_CARDINALITY, Node, UnaryNode, function_name, nodes_of
from headrace.plan.options import Options
from headrace.plan.randomness import randomness_of
from headrace.plan.stateful import AssertCardinality

__all__ = ["AboveCache", "Cache", "Prefetch", "WithOptions", "options_of", "reads_cache"]


@fact
def _asserts(node: Node, inputs: list[bool]) -> bool:
    """Returns whether a number of elements was asserted anywhere in a plan."""
    return isinstance(node, AssertCardinality) or any(inputs)


@frozen
class AboveCache:
    """What decides, beside the epoch, which elements a cache is filled with.

    Attributes:
        unseeded: the entropies of the random operations that were given no seed.
        caches: the caches that are read.
        opens_plans: whether functions make datasets.
    """

    unseeded: tuple[int, ...]
    caches: tuple[Cache, ...]
    opens_plans: bool

    @classmethod
    def of(cls, plan: Node) -> AboveCache:
        """Returns what stands in a plan."""
        nodes = tuple(nodes_of(plan))
        found = (randomness_of(node) for node in nodes)
        unseeded = tuple(one.entropy for one in found if one is not None and one.seed is None)
        caches = tuple(node for node in nodes if isinstance(node, Cache))
        return cls(unseeded, caches, any(node.opens_plans for node in nodes))


@frozen(kw_only=True, eq=False)
class Cache(UnaryNode):
    """The elements of the first whole epoch, kept and given again in every later one."""

    op: ClassVar[str] = "cache"
    store: Store = dataclasses.field(default_factory=MemoryCache)
    # Of the plan as it was written, whatever rules make of it: their order is that of the seeds in a state.
    written_above: AboveCache | None = None

    def __post_init__(self) -> None:
        if self.written_above is None:
            object.__setattr__(self, "written_above", AboveCache.of(self.input))

    @property
    def above(self) -> AboveCache:
        """What decides which elements it is filled with."""
        assert self.written_above is not None  # since it was made
        return self.written_above

    def whole_at(self) -> int:
        """Returns after how many elements an epoch is whole without asking for its end; negative where only the end tells.

        A number that was asserted does not tell: there may be more.
        """
        if _asserts(self.input):
            return UNKNOWN_CARDINALITY
        return self.input.cardinality()


@fact
def reads_cache(node: Node, inputs: list[bool]) -> bool:
    """Returns whether a plan is, or reads, the elements of a cache."""
    return isinstance(node, Cache) or any(inputs)


@frozen(kw_only=True, eq=False)
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
        """Returns how many elements it may hold."""
        return {"buffer_size": self.buffer_size}


@frozen(kw_only=True, eq=False)
class WithOptions(UnaryNode):
    """The same elements; settings for the whole plan."""

    op: ClassVar[str] = "with_options"
    options: Options

    def parameters(self) -> dict[str, Any]:
        """Returns the settings that are given."""
        values = {field.name: getattr(self.options, field.name) for field in dataclasses.fields(self.options)}
        if self.options.worker_init is not None:
            values["worker_init"] = function_name(self.options.worker_init)
        return {name: value for name, value in values.items() if value is not None}


def options_of(plan: Node) -> Options:
    """Returns all options of a plan; where two meet, the one nearer to the end wins."""
    found: Options = plan.recall(options_of, lambda: _merged(plan))
    return found


def _merged(plan: Node) -> Options:
    merged = Options()
    for node in nodes_of(plan):
        if isinstance(node, WithOptions):
            merged = merged.merged(node.options)
    return merged
