"""What a state says, and needs, that is of a plan which is dealt to the ranks of a job."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from headrace.blocks.cursor import State
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.dealing_ranks import check_run
from headrace.plan.distributed_batch import DistributedBatch
from headrace.plan.node import Node
from headrace.plan.options import Options
from headrace.ranks import Rank, current, shared_entropy
from headrace.semantics.dealing import apart, step_of, stream_names, together
from headrace.semantics.run_context import Seeds

__all__ = ["RankStates"]


@frozen
class RankStates:
    """The states of one rank.

    Attributes:
        dealing: what deals the plan.
        rank: which rank reads it.
    """

    dealing: DistributedBatch
    rank: Rank

    @classmethod
    def of(cls, dealing: DistributedBatch, options: Options) -> Self:
        """Returns those of this process.

        Raises:
            InvalidArgumentError: a job of so many ranks cannot run the plan.
        """
        rank = current(options.rank, options.world_size)
        check_run(dealing, rank)
        return cls(dealing, rank)

    def seeds(self, plan: Node, options: Options) -> Seeds | None:
        """Returns the seeds of a run that all ranks must have alike; None where they are given, or of one rank alone."""
        if self.rank.world_size == 1 or options.seed is not None:
            return None
        shared = shared_entropy()
        seeds = Seeds.of(plan, seed=0 if shared is None else shared, entropy=0)
        return dataclasses.replace(seeds, are_needed=shared is None)

    def written(self, position: State | None, earlier: State | None) -> dict[str, Any]:
        """Returns what a state says of a position, and of where the streams were some steps before."""
        rest, streams = self._apart(position)
        before = None if earlier is None else {"step": self._step(earlier), "streams": self._apart(earlier)[1]}
        return {
            "step": self._step(position),
            "num_streams": self.dealing.num_streams,
            "streams": streams,
            "position": rest,
            "earlier": before,
        }

    def position(self, state: dict[str, Any]) -> State | None:
        """Returns the position that a state is of, with the streams of this rank alone.

        Raises:
            InvalidArgumentError: it has not all of them.
        """
        streams, names = state["streams"], stream_names(self.dealing, self.rank)
        missing = [name for name in names if name not in streams]
        if missing:
            raise InvalidArgumentError(
                f"the state has no streams {', '.join(missing)}, which rank {self.rank.rank} of {self.rank.world_size} reads: load "
                "what hr.merge_states gives of the states of all ranks"
            )
        return together(state["position"], {name: streams[name] for name in names})

    def _apart(self, position: State | None) -> tuple[State | None, dict[str, Any]]:
        return apart(position, stream_names(self.dealing, self.rank))

    def _step(self, position: State | None) -> int:
        return step_of(self.dealing, position)
