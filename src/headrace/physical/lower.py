"""From plan nodes to stages: one case a node, each with the state that it had saved.

``lower(node, state, context)`` builds the stage of a node and of all that it reads. The state is the tree that
``Cursor.state`` wrote: nodes that add nothing to it pass on what they are given. The cases stand beside their
stages, in ``stages``.
"""

from __future__ import annotations

import functools

from headrace.blocks.cursor import State
from headrace.errors import InternalError
from headrace.physical.context import StageContext
from headrace.physical.stage import Stage
from headrace.plan.direct_calls import called_directly
from headrace.plan.node import Node

__all__ = ["is_ordered", "lower"]


@called_directly
@functools.singledispatch
def lower(node: Node, state: State | None, context: StageContext) -> Stage:
    """Makes the stage of a node and of all that it reads, at the position that the state says."""
    raise InternalError(f"no stage is known for {type(node).__name__}")


def is_ordered(deterministic: bool | None, context: StageContext) -> bool:
    """Returns whether a parallel operation keeps the order of its input."""
    return context.replayed or (context.deterministic if deterministic is None else deterministic)
