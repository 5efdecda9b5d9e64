"""Plan nodes that put elements together or take them apart: batch, unbatch."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from headrace.errors import InvalidArgumentError
from headrace.plan.node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Spec, UnaryNode
from headrace.plan.sequencing import check_int
from headrace.structure import TensorSpec, flatten, unflatten

__all__ = ["Batch", "Unbatch"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch(UnaryNode):
    """Runs of consecutive elements, stacked along a new first axis."""

    op: ClassVar[str] = "batch"
    batch_size: int
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        size = check_int(self.batch_size, field="batch_size", stage=self.op)
        if size < 1:
            raise InvalidArgumentError(f"batch_size must be at least 1, not {size}", stage=self.op)
        object.__setattr__(self, "batch_size", size)

    def cardinality(self) -> int:
        """The number of whole batches, and one for the rest unless it is dropped."""
        count = self.input.cardinality()
        if count < 0:
            return count
        return count // self.batch_size if self.drop_remainder else -(-count // self.batch_size)

    def spec(self) -> Spec:
        """What it reads, with the batch's axis first."""
        inner = self.input.spec()
        if inner is None:
            return None
        size = self.batch_size if self.drop_remainder else None
        leaves, treedef = flatten(inner)
        return unflatten(treedef, [TensorSpec(_behind(size, leaf), leaf.dtype) for leaf in leaves])

    def parameters(self) -> dict[str, Any]:
        """Its size and what becomes of the rest."""
        return {"batch_size": self.batch_size, "drop_remainder": self.drop_remainder}


def _behind(size: int | None, leaf: TensorSpec) -> tuple[int | None, ...] | None:
    return None if leaf.shape is None else (size, *leaf.shape)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unbatch(UnaryNode):
    """The slices of each element along its first axis."""

    op: ClassVar[str] = "unbatch"

    def __post_init__(self) -> None:
        spec = self.input.spec()
        if spec is None:
            return
        shapes = [leaf.shape for leaf in flatten(spec)[0] if leaf.shape is not None]
        if any(not shape for shape in shapes):
            raise InvalidArgumentError("a scalar cannot be unbatched", stage=self.op)
        sizes = {shape[0] for shape in shapes} - {None}
        if len(sizes) > 1:
            message = f"the components' first axes have different lengths: {sorted(sizes)}"
            raise InvalidArgumentError(message, stage=self.op)

    def cardinality(self) -> int:
        """Known where every element has the same, known length."""
        count, spec = self.input.cardinality(), self.input.spec()
        sizes = [leaf.shape and leaf.shape[0] for leaf in flatten(spec)[0]] if spec is not None else []
        known = {size for size in sizes if isinstance(size, int)}
        if count == INFINITE_CARDINALITY:
            return count
        # One length is enough: components that differ from it fail when they come.
        return count * known.pop() if count >= 0 and len(known) == 1 else UNKNOWN_CARDINALITY

    def spec(self) -> Spec:
        """What it reads, without the first axis."""
        inner = self.input.spec()
        if inner is None:
            return None
        leaves, treedef = flatten(inner)
        return unflatten(treedef, [TensorSpec(leaf.shape and leaf.shape[1:], leaf.dtype) for leaf in leaves])
