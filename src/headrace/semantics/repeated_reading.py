"""What is said where a plan that is dealt to ranks reads something from its beginning more than once.

What has neither numbers nor files cannot be read in part: a generator, a query to a database. Each rank reads all of it and keeps
what is its own; where what follows runs once per stream, streams that are far apart do so by themselves.
"""

from __future__ import annotations

from headrace.log import warn_once
from headrace.plan.dealing import Share
from headrace.plan.dealing_batch import DistributedBatch
from headrace.plan.dealing_parts import part_of
from headrace.plan.node import Node, nodes_of
from headrace.plan.querying import QueryRows
from headrace.plan.sources import FromGenerator
from headrace.ranks import Rank

__all__ = ["warn_of_repeated_reading"]


def warn_of_repeated_reading(node: DistributedBatch, rank: Rank) -> None:
    """Says in the log, once a process, what each rank reads whole, and how often."""
    part = part_of(node.input, node.num_streams)
    owned = node.num_streams // rank.world_size
    for source, per_stream in _read_whole(part.core if part.is_whole else part.of_stream(node.num_streams)):
        times = owned if per_stream else 1
        if times * rank.world_size > 1:
            warn_once(_message(source, rank.world_size, times))


def _read_whole(plan: Node) -> list[tuple[Node, bool]]:
    """Lists what is read from its beginning, with whether each stream does so."""
    per_stream = {id(inner) for node in nodes_of(plan) if isinstance(node, Share) for inner in nodes_of(node)}
    return [(node, id(node) in per_stream) for node in nodes_of(plan) if isinstance(node, (FromGenerator, QueryRows))]


def _message(source: Node, ranks: int, times: int) -> str:
    who = f"each of {ranks} ranks reads" if ranks > 1 else "the rank reads"
    often = (
        f"once, and again for each of its {times} streams that falls far behind the others (what follows it runs once per stream)"
        if times > 1
        else "once"
    )
    fewer = ", or fewer streams (num_streams=)" if times > 1 else ""
    return (
        f"{source.label} can only be read from its beginning: {who} all of it {often}, keeps its own part, and relies on the same "
        f"elements in the same order every time. Files, or a source that is read by number{fewer}, cost less"
    )
