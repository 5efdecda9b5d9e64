"""Neighbouring parallel maps become one: one task, one hand-off, one window instead of several."""

from __future__ import annotations

from headrace.plan.elementwise import Map, MapChain
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite

__all__ = ["fuse_parallel_maps"]


def fuse_parallel_maps(plan: Node) -> Node:
    """Fuses maps that run in parallel, with the same settings, one directly after the other."""
    return rewrite(plan, _fuse)


def _fuse(node: Node) -> Node:
    match node:
        case Map(input=Map() as upstream) if _same_settings(node, upstream):
            return MapChain(input=upstream.input, maps=(upstream, node))
        case Map(input=MapChain() as chain) if _same_settings(node, chain.maps[-1]):
            return MapChain(input=chain.input, maps=(*chain.maps, node))
        case _:
            return node


def _same_settings(one: Map, other: Map) -> bool:
    return (
        one.num_parallel_calls is not None
        and one.on_error == other.on_error == "raise"  # a failure is judged after the map that it is of
        and one.num_parallel_calls == other.num_parallel_calls
        and one.executor == other.executor
        and (one.deterministic is False) == (other.deterministic is False)
    )
