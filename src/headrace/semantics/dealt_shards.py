"""What is said where a rank seems to take its part of the data by itself, beside the part that the dealing of the plan gives it."""

from __future__ import annotations

from headrace.log import warn_once
from headrace.plan.dealing_batch import DistributedBatch
from headrace.plan.node import Node, nodes_of
from headrace.plan.sequencing import Shard
from headrace.ranks import Rank

__all__ = ["warn_of_own_shards"]


def warn_of_own_shards(plan: Node, node: DistributedBatch, rank: Rank) -> None:
    """Says in the log, once a process, that a shard before or behind the dealing has the numbers of this rank."""
    own = (rank.world_size, rank.rank)
    dealt = set(map(id, nodes_of(node.input)))
    for shard in nodes_of(plan):
        if not (isinstance(shard, Shard) and rank.world_size > 1 and (shard.num_shards, shard.index) == own):
            continue
        is_before = id(shard) in dealt
        which = "most elements are" if is_before else "most of each rank's batches are"
        reads = "all that it reads" if is_before else "every global batch"
        warn_once(
            f"shard({shard.num_shards}, {shard.index}) stands {'before' if is_before else 'behind'} distributed_batch on rank {rank.rank} of "
            f"{rank.world_size}: if each rank takes its own shard, {which} given to no rank, as distributed_batch deals {reads} to the "
            "ranks. Leave out the shard"
        )
