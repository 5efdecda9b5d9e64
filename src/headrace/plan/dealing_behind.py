"""What stands behind ``distributed_batch``, and works on the batches of one rank."""

from __future__ import annotations

from typing import Final

from headrace.errors import InvalidArgumentError
from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.dealt import dealing_of
from headrace.plan.elementwise import Enumerate, Filter, Map, RandomMap
from headrace.plan.grouping import Batch
from headrace.plan.node import Node, nodes_of
from headrace.plan.sequencing import Repeat, Skip, Take
from headrace.plan.skipping import IgnoreErrors
from headrace.plan.stateful import AssertCardinality, TakeWhile

__all__ = ["check_steps", "holding_batches"]

# What goes from batch to batch: its position is that of the dealing and some numbers, which all ranks have alike.
_PASSING: Final = (
    Map, RandomMap, Filter, Enumerate, Take, Skip, Repeat, TakeWhile, Batch, IgnoreErrors, AssertCardinality, Prefetch, WithOptions,
)  # fmt: skip


# What gives one element for each batch, or its error, and ends with them.
_ONE_TO_ONE: Final = (Map, RandomMap, Enumerate, Take, Prefetch, WithOptions)


def check_steps(plan: Node) -> None:
    """Refuses operations behind the dealing whose elements are no steps, of a job whose ranks tell each other whether they have the next.

    Raises:
        InvalidArgumentError: there is one.
    """
    for node in nodes_of(plan):
        if _is_behind(node) and (not isinstance(node, _ONE_TO_ONE) or (isinstance(node, Map) and node.skips)):
            raise InvalidArgumentError(
                "with group= the ranks tell each other before each step whether they have its batch, and an element of this is no step: "
                "put it before distributed_batch, or give that steps= in place of group=",
                stage=node.label,
            )


def holding_batches(plan: Node) -> list[Node]:
    """Lists the operations behind the dealing that hold batches of a rank, so that only this rank can go on from there."""
    return [node for node in nodes_of(plan) if _is_behind(node) and not isinstance(node, _PASSING)]


def _is_behind(node: Node) -> bool:
    return not node.deals and dealing_of(node) is not None
