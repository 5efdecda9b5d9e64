"""How the ranks of a job end after the same step, where only a run can tell how many each has.

Before a step is given each rank tells the others whether it has one, in the thread that asks for it: a process's collectives
must come in the same order on all ranks, and a thread that reads ahead has an order of its own. What the ranks agree not to take
counts as not delivered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.errors import FailedPreconditionError
from headrace.plan.buffering import options_of
from headrace.plan.dealt import dealing_of
from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.ranks.telling import Largest

__all__ = ["JointEnd", "joint_end_of"]

# What a rank tells of its next step; the largest that any tells decides.
_FILLED_IN: Final = 0  # nothing in it is real: where all say so, it is the end
_REAL: Final = 1
_NONE: Final = 2  # without this rank nobody goes on


class JointEnd:
    """Ends all ranks after the same step of a run."""

    def __init__(self, largest: Largest) -> None:
        self._largest = largest
        self._steps = 0

    def begin(self) -> None:
        """Counts from the start of a run."""
        self._steps = 0

    def goes_on(self, *, has_step: bool, own_steps: int | None = None) -> bool:
        """Tells the other ranks whether this one has a next step, and returns whether all take it.

        Args:
            has_step: whether there is one; an error in place of a batch is one.
            own_steps: how many steps of the run have something real; None where all have.
        """
        if not has_step:
            self._largest(_NONE)
            return False
        is_real = own_steps is None or self._steps < own_steps
        self._steps += 1
        return self._largest(_REAL if is_real else _FILLED_IN) == _REAL


def joint_end_of(plan: Node) -> JointEnd | None:
    """Returns how the ranks that read a plan end; None where each knows by itself.

    Raises:
        FailedPreconditionError: the group has fewer processes than there are ranks; or this is a worker of a DataLoader.
    """
    dealing, options = dealing_of(plan), options_of(plan)
    if dealing is None or dealing.group is None:
        return None
    from headrace.plan.dealing_ranks import ends_together  # what few plans need, with all that follows
    from headrace.ranks import current
    from headrace.ranks.telling import largest_of
    from headrace.semantics.dataloader_workers import worker_here

    rank = current(options.rank, options.world_size)
    if not ends_together(dealing, rank):
        return None
    if worker_here() is not None:
        raise FailedPreconditionError(
            "with group= the ranks tell each other before each step whether they have its batch, which the workers of a DataLoader "
            "cannot: iterate the dataset or its to_torch() itself, or give steps= in place of group=",
            stage=dealing.label,
        )
    try:
        return JointEnd(largest_of(dealing.group, rank.world_size))
    except FailedPreconditionError as error:
        raise error.located(stage=dealing.label, origin=None) from None
