"""What a state says, and needs, that is of a plan which is dealt to the ranks of a job."""

from __future__ import annotations

import dataclasses
from typing import Any, Final, Self

from headrace.blocks.cursor import State
from headrace.blocks.deep_states import in_pieces, whole
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.buffering import Cache
from headrace.plan.dealing_batch import DistributedBatch
from headrace.plan.dealing_behind import check_steps, holding_batches
from headrace.plan.dealing_ranks import check_run, dealt, ends_together
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import Options
from headrace.plan.randomness import randomness_of
from headrace.ranks import Rank, current
from headrace.ranks.telling import shared_entropy
from headrace.semantics.dealing import apart, only_its_own, step_of, stream_names, together, turns_of
from headrace.semantics.dealt_shards import warn_of_own_shards
from headrace.semantics.repeated_reading import warn_of_repeated_reading
from headrace.semantics.run_context import Seeds

__all__ = ["RankStates"]

_CACHE: Final = (
    "behind distributed_batch it would keep the batches of one rank, which another number of ranks, or a rank that opens the same file, "
    "would then get: put it before distributed_batch"
)


@frozen
class RankStates:
    """The states of one rank.

    Attributes:
        dealing: what deals the plan.
        rank: which rank reads it.
        holding: an operation behind it that holds batches of this rank, so that nobody else can go on from its position.
    """

    dealing: DistributedBatch
    rank: Rank
    holding: str | None

    @classmethod
    def of(cls, plan: Node, dealing: DistributedBatch, options: Options) -> Self:
        """Returns those of this process.

        Raises:
            InvalidArgumentError: a job of so many ranks cannot run the plan.
        """
        rank = current(options.rank, options.world_size)
        check_run(dealing, rank)
        warn_of_repeated_reading(dealing, rank)
        warn_of_own_shards(plan, dealing, rank)
        if ends_together(dealing, rank):
            check_steps(plan)
        holding = holding_batches(plan)
        for node in holding:
            if isinstance(node, Cache) and rank.world_size > 1:
                raise InvalidArgumentError(_CACHE, stage=node.label)
        return cls(dealing, rank, holding[0].label if holding else None)

    def plan(self, built: Node) -> Node:
        """Returns the plan as this rank runs it."""
        return dealt(built, self.rank)

    @property
    def end_apart(self) -> bool:
        """Whether one rank may have more steps than another."""
        return self.dealing.end == "uneven" and self.rank.world_size > 1

    def seeds(self, plan: Node, options: Options) -> Seeds | None:
        """Returns the seeds of a run that all ranks must have alike; None where they are given, or of one rank alone.

        Where an operation has none, and ranks can tell each other, they do so in the first call of a process, which waits for all of them.
        """
        if self.rank.world_size == 1 or options.seed is not None:
            return None
        shared = shared_entropy(self.rank.world_size) if _draws(plan) else None
        seeds = Seeds.of(plan, seed=0 if shared is None else shared, entropy=0)
        return dataclasses.replace(seeds, are_needed=shared is None)

    def written(self, position: State | None, *before: State | None) -> dict[str, Any]:
        """Returns what a state says of a position, and of one some steps before it, where there is one."""
        if self.holding is not None:
            tree, deeper = in_pieces(position)
            own = {"operation": self.holding, "rank": self.rank.rank, "world_size": self.rank.world_size}
            return {"step": self._step(position), "streams": {}, "own": own, "position": tree, "deeper": deeper}
        rest, streams = self._apart(position)
        earlier = [{**self._place(one), "streams": self._apart(one)[1]} for one in before]
        return {
            **self._place(position),
            "num_streams": self.dealing.num_streams,
            "streams": streams,
            "position": rest,
            "earlier": earlier[0] if earlier else None,
        }

    def position(self, state: dict[str, Any]) -> State | None:
        """Returns the position that a state is of, with the streams of this rank alone.

        Raises:
            InvalidArgumentError: it has not all of them.
        """
        if self.holding is not None:
            return self._own_position(state)
        streams, names = state["streams"], stream_names(self.dealing, self.rank)
        missing = [name for name in names if name not in streams]
        if missing:
            raise InvalidArgumentError(
                f"the state has no streams {', '.join(missing)}, which rank {self.rank.rank} of {self.rank.world_size} reads: load "
                "what hr.merge_states gives of the states of all ranks"
            )
        return together(state["position"], {name: streams[name] for name in names})

    def _own_position(self, state: dict[str, Any]) -> State | None:
        own = state["own"]
        if (own["rank"], own["world_size"]) != (self.rank.rank, self.rank.world_size):
            raise InvalidArgumentError(
                f"the state is that of rank {own['rank']} of {own['world_size']}, and this is rank {self.rank.rank} of "
                f"{self.rank.world_size}: {only_its_own(own['operation'])}"
            )
        position: State | None = whole(state["position"], state["deeper"])
        return position

    def _place(self, position: State | None) -> dict[str, Any]:
        turns = turns_of(position)
        return {"step": self._step(position), **({"turns": turns} if turns else {})}

    def _apart(self, position: State | None) -> tuple[State | None, dict[str, Any]]:
        return apart(position, stream_names(self.dealing, self.rank))

    def _step(self, position: State | None) -> int:
        return step_of(self.dealing, position)


def _draws(plan: Node) -> bool:
    """Returns whether a run of the plan may draw numbers for which no seed was given: its functions may open plans that do."""
    randomnesses = [(node, randomness_of(node)) for node in nodes_of(plan)]
    return any(node.opens_plans or (found is not None and found.seed is None) for node, found in randomnesses)
