"""Plan nodes that choose which elements come: repeat, take, skip, shard, concatenate."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, ClassVar, Final

from headrace.arguments import check_int
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen, maker
from headrace.plan.common_spec import common_spec
from headrace.plan.depth import depth_of
from headrace.plan.node import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Node,
    NodeOfSeveral,
    Spec,
    UnaryNode,
)

__all__ = ["Concatenate", "Repeat", "Shard", "Skip", "Take"]

_TO_BE_FOUND: Final = object()
# Of more datasets it is remembered how deep they are, as one may be added after the other.
_FEW: Final = 8


@frozen(kw_only=True, eq=False)
class Repeat(UnaryNode):
    """The dataset several times over; None or a negative count never ends."""

    op: ClassVar[str] = "repeat"
    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            count = check_int(self.count, field="count", stage=self.op)
            object.__setattr__(self, "count", None if count < 0 else count)

    def _cardinality(self) -> int:
        """Returns the count times what it reads."""
        inner = self.input.cardinality()
        if self.count == 0 or inner == 0:
            return 0
        if self.count is None:
            return INFINITE_CARDINALITY
        return inner * self.count if inner > 0 else inner

    def parameters(self) -> dict[str, Any]:
        """Returns how many times."""
        return {"count": self.count}


@frozen(kw_only=True, eq=False)
class Take(UnaryNode):
    """The first elements; a negative count takes all."""

    op: ClassVar[str] = "take"
    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", check_int(self.count, field="count", stage=self.op))

    def _cardinality(self) -> int:
        """Returns the count, or that of its input where it is less."""
        inner = self.input.cardinality()
        if self.count < 0 or inner == UNKNOWN_CARDINALITY:
            return inner
        return self.count if inner == INFINITE_CARDINALITY else min(self.count, inner)

    def parameters(self) -> dict[str, Any]:
        """Returns how many."""
        return {"count": self.count}


@frozen(kw_only=True, eq=False)
class Skip(UnaryNode):
    """All but the first elements; a negative count leaves none."""

    op: ClassVar[str] = "skip"
    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", check_int(self.count, field="count", stage=self.op))

    def _cardinality(self) -> int:
        """Returns what is left."""
        inner = self.input.cardinality()
        if inner < 0:
            return inner
        return max(0, inner - self.count) if self.count >= 0 else 0

    def parameters(self) -> dict[str, Any]:
        """Returns how many."""
        return {"count": self.count}


@frozen(kw_only=True, eq=False)
class Shard(UnaryNode):
    """Every ``num_shards``-th element, from the ``index``-th on."""

    op: ClassVar[str] = "shard"
    num_shards: int
    index: int

    def __post_init__(self) -> None:
        shards = check_int(self.num_shards, field="num_shards", stage=self.op)
        index = check_int(self.index, field="index", stage=self.op)
        if shards < 1:
            raise InvalidArgumentError(f"num_shards must be at least 1, not {shards}", stage=self.op)
        if not 0 <= index < shards:
            message = f"index must be at least 0 and below num_shards ({shards}), not {index}"
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "num_shards", shards)
        object.__setattr__(self, "index", index)

    def _cardinality(self) -> int:
        """Returns this shard's part."""
        inner = self.input.cardinality()
        return inner if inner < 0 else len(range(self.index, inner, self.num_shards))

    def parameters(self) -> dict[str, Any]:
        """Returns which shard of how many."""
        return {"num_shards": self.num_shards, "index": self.index}


@frozen(kw_only=True, eq=False)
class Concatenate(NodeOfSeveral):
    """One dataset after the other, all of the same structure.

    Args:
        known: the spec, where who makes it has found it already; else it is found now.
    """

    op: ClassVar[str] = "concatenate"
    known: dataclasses.InitVar[Spec] = _TO_BE_FOUND

    def __post_init__(self, known: Spec) -> None:
        if known is _TO_BE_FOUND:
            self.spec()
        else:
            self.remember("spec", known)

    @classmethod
    def of(cls, first: Node, second: Node, *, name: str | None) -> Concatenate:
        """Returns one dataset, and then another: one operation with those that they are concatenations of themselves."""
        known = _spec_of_both(first.spec(), second.spec())
        before = first.datasets if isinstance(first, cls) and first.name == name else (first,)
        behind = second.datasets if isinstance(second, cls) and second.name == name else (second,)
        whole = _new_concatenate(datasets=before + behind, name=name, known=known)
        if len(whole.datasets) > _FEW:
            depth_of.tell(whole, max(_depth_in(first, name), _depth_in(second, name)))
        return whole

    def _cardinality(self) -> int:
        """Returns the sum."""
        counts = [dataset.cardinality() for dataset in self.datasets]
        if INFINITE_CARDINALITY in counts:
            return INFINITE_CARDINALITY
        return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in counts else sum(counts)

    def _spec(self) -> Spec:
        """Returns the narrowest that both fit.

        Raises:
            TypeError: structure or dtypes differ.
        """
        return functools.reduce(_spec_of_both, [dataset.spec() for dataset in self.datasets])


# Functions make such datasets of elements by the thousand.
_new_concatenate: Final = maker(Concatenate)


def _depth_in(dataset: Node, name: str | None) -> int:
    """Returns how deep a concatenation with others is because of a dataset."""
    return depth_of(dataset) + (not isinstance(dataset, Concatenate) or dataset.name != name)


def _spec_of_both(mine: Spec, theirs: Spec) -> Spec:
    return mine if mine is theirs else common_spec([mine, theirs], stage=Concatenate.op)
