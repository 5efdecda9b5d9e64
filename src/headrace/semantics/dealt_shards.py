"""What is said where a rank seems to take its part of the data before the plan is dealt to the ranks, which gives it a part of that part."""

from __future__ import annotations

from headrace.log import warn_once
from headrace.plan.dealing_batch import DistributedBatch
from headrace.plan.node import nodes_of
from headrace.plan.sequencing import Shard
from headrace.ranks import Rank

__all__ = ["warn_of_own_shards"]


def warn_of_own_shards(node: DistributedBatch, rank: Rank) -> None:
    """Says in the log, once a process, that a shard before the dealing has the numbers of this rank."""
    own = (rank.world_size, rank.rank)
    for shard in nodes_of(node.input):
        if isinstance(shard, Shard) and rank.world_size > 1 and (shard.num_shards, shard.index) == own:
            warn_once(
                f"shard({shard.num_shards}, {shard.index}) stands before distributed_batch on rank {rank.rank} of {rank.world_size}: if each rank "
                "takes its own shard, most elements are given to no rank, as distributed_batch deals all that it reads to the ranks. Leave "
                "out the shard"
            )
