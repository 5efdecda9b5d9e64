"""A prefetch that is repeated goes after the repeat: one for all epochs, and it reads on where one ends."""

from __future__ import annotations

from headrace.plan.buffering import Prefetch
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite
from headrace.plan.sequencing import Repeat

__all__ = ["prefetch_after_repeat"]


def prefetch_after_repeat(plan: Node) -> Node:
    """Moves prefetches behind a repeat that directly follows them; so the repeat may be of a source, as it would be without them."""
    return rewrite(plan, _moved)


def _moved(node: Node) -> Node:
    if not isinstance(node, Repeat) or not isinstance(node.input, Prefetch):
        return node
    prefetch = node.input
    return prefetch.with_inputs((_moved(node.with_inputs((prefetch.input,))),))
