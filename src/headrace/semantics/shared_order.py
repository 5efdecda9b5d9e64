"""What a shard is told whose processes do not agree on the order in which elements come.

A shard takes every n-th element of what all processes must have in one order. An operation that draws its order without a
seed draws another one in each process: some elements then come to several shards, and others to none, and nothing else
would say so.
"""

from __future__ import annotations

from headrace.log import warn_once
from headrace.plan.node import Node
from headrace.plan.sequencing import Shard

__all__ = ["warn_of_own_order"]


def warn_of_own_order(drawing: Node, shard: Shard) -> None:
    """Says in the log, once a process, that what stands before the shard is in another order in every process."""
    message = (
        f"{_shown(drawing)} has no seed, and stands before {_shown(shard)}: each process draws an order of its own, so "
        f"that some elements come to several shards and others to none. Put the shard before the {drawing.op}, or give "
        f"the {drawing.op} a seed, or the whole dataset one: .with_options(Options(seed=...))"
    )
    warn_once(message)


def _shown(node: Node) -> str:
    sizes = ", ".join(
        f"{name}={value}" for name, value in node.parameters().items() if name in ("buffer_size", "num_shards")
    )
    return f"{node.label} [{sizes}]" if sizes else node.label
