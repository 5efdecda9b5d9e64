"""Whether a plan is dealt to the ranks of a job, for those who ask it of every plan; what such plans need is imported with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from headrace.plan.facts import fact
from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.plan.dealing_batch import DistributedBatch

__all__ = ["dealing_of"]


@fact
def _dealing_of(node: Node, inputs: list[Node | None]) -> Node | None:
    return node if node.deals else next((found for found in inputs if found is not None), None)


def dealing_of(plan: Node) -> DistributedBatch | None:
    """Returns the operation of a plan that deals it to ranks; None where there is none."""
    return cast("DistributedBatch | None", _dealing_of(plan))
