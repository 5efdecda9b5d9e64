"""A profile of several ranks that step together: their steps are as many on each, and each hears what the others found."""

from __future__ import annotations

from typing import Any

from headrace.analysis.ranking import late_rank
from headrace.errors import FailedPreconditionError
from headrace.frozen import frozen
from headrace.plan.buffering import options_of
from headrace.plan.dealt import dealing_of
from headrace.plan.node import Node
from headrace.ranks import current
from headrace.ranks.telling import Largest, gathered, largest_of

__all__ = ["Alone", "Found", "Together", "ranks_of"]


@frozen
class Found:
    """What one rank found.

    Attributes:
        waiting_share: the part of its time that its steps wait, from 0 to 1.
        stage: the operation that it names; None where it is none.
        text: its sentence.
    """

    waiting_share: float
    stage: str | None
    text: str


class Alone:
    """One rank, which asks nobody."""

    are_several = False

    def goes_on(self, *, wants: bool) -> bool:
        """Returns whether to take another step."""
        return wants

    def late(self, found: Found) -> tuple[int, Found] | None:
        """Returns None: no other rank is there to wait for it."""
        del found
        return None


class Together(Alone):
    """The ranks of a group.

    Args:
        largest: gives each of them the largest number that any gives.
        group: the group.
    """

    are_several = True

    def __init__(self, largest: Largest, group: Any) -> None:
        self._largest = largest
        self._group = group

    def goes_on(self, *, wants: bool) -> bool:
        """Returns whether to take another step: as long as all want one."""
        return self._largest(int(not wants)) == 0

    def late(self, found: Found) -> tuple[int, Found] | None:
        """Returns the rank for which the others wait and what it found; None where there is none."""
        all_found: list[Found] = [
            Found(*one) for one in gathered(self._group, (found.waiting_share, found.stage, found.text))
        ]
        rank = late_rank([one.waiting_share for one in all_found])
        return None if rank is None else (rank, all_found[rank])


def ranks_of(plan: Node, group: Any) -> Alone:
    """Returns with whom a plan is profiled.

    Args:
        plan: what is run.
        group: the ranks that are profiled together, as for ``distributed_batch``; None for those that the plan names, if any.

    Raises:
        FailedPreconditionError: the group has fewer processes than there are ranks.
    """
    dealing, options = dealing_of(plan), options_of(plan)
    group = group or (None if dealing is None else dealing.group)
    rank = current(options.rank, options.world_size)
    if group is None or rank.world_size == 1:
        return Alone()
    try:
        return Together(largest_of(group, rank.world_size), group)
    except FailedPreconditionError as error:
        raise error.located(stage="profile", origin=None) from None
