"""Neighbouring prefetches become one: one thread and one buffer, with room for what both had asked for."""

from __future__ import annotations

from headrace.arguments import AUTOTUNE
from headrace.plan.buffering import Prefetch
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite

__all__ = ["fuse_prefetches"]


def fuse_prefetches(plan: Node) -> Node:
    """Fuses prefetches of which one directly follows the other; one that has a name of its own stays, for its statistics."""
    return rewrite(plan, _fuse)


def _fuse(node: Node) -> Node:
    match node:
        case Prefetch(input=Prefetch(name=None) as upstream):
            sizes = (upstream.buffer_size, node.buffer_size)
            size = AUTOTUNE if AUTOTUNE in sizes else sum(sizes)
            return Prefetch(input=upstream.input, buffer_size=size, name=node.name, operation=node.operation)
        case _:
            return node
