"""Whether a plan is dealt to the ranks of a job, for those who ask it of every plan; what such plans need is imported with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from headrace.plan.facts import fact
from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.plan.dealing_batch import DistributedBatch
    from headrace.plan.options import Options
    from headrace.ranks import Rank

__all__ = ["dealing_of", "rank_of_run"]


@fact
def _dealing_of(node: Node, inputs: list[Node | None]) -> Node | None:
    return node if node.deals else next((found for found in inputs if found is not None), None)


def dealing_of(plan: Node) -> DistributedBatch | None:
    """Returns the operation of a plan that deals it to ranks; None where there is none."""
    return cast("DistributedBatch | None", _dealing_of(plan))


def rank_of_run(plan: Node, options: Options) -> Rank | None:
    """Returns which rank runs a plan that is dealt to ranks; None of any other."""
    if dealing_of(plan) is None:
        return None
    from headrace.ranks import current  # what few plans need

    return current(options.rank, options.world_size)
