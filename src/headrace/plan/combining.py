"""The plan nodes of zip."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.elements.structure import TreeDef, unflatten
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, NodeOfSeveral, Spec

__all__ = ["Zip", "ZipOfPlaces"]


@frozen(kw_only=True, eq=False)
class Zip(NodeOfSeveral):
    """One element of each dataset, together; the shortest ends it."""

    op: ClassVar[str] = "zip"
    # Whether a random operation that is in several branches draws the same in each, and not another epoch in each.
    draws_alike: ClassVar[bool] = False
    treedef: TreeDef  # of the structure whose leaves they are

    def __post_init__(self) -> None:
        if not self.datasets:
            raise InvalidArgumentError("there is no dataset to zip", stage=self.op)

    def _cardinality(self) -> int:
        """Returns the shortest."""
        counts = [dataset.cardinality() for dataset in self.datasets]
        if UNKNOWN_CARDINALITY in counts:
            return UNKNOWN_CARDINALITY
        finite = [count for count in counts if count != INFINITE_CARDINALITY]
        return min(finite, default=INFINITE_CARDINALITY)

    def parameters(self) -> dict[str, Any]:
        """Returns how the elements are tied together."""
        return {"structure": str(unflatten(self.treedef, range(len(self.datasets))))}

    def _spec(self) -> Spec:
        """Returns the structure of the datasets' own."""
        specs = [dataset.spec() for dataset in self.datasets]
        return None if any(spec is None for spec in specs) else unflatten(self.treedef, specs)


@frozen(kw_only=True, eq=False)
class ZipOfPlaces(Zip):
    """A zip of branches of one length, in which the element at a place has the same place in each.

    What chooses or orders its elements is done in each branch: a shuffle draws the same in all of them.
    """

    draws_alike: ClassVar[bool] = True
