"""What is said of one of a job's processes."""

from __future__ import annotations

from headrace.frozen import frozen

__all__ = ["Rank"]


@frozen(kw_only=True)
class Rank:
    """One of the processes of a job.

    Attributes:
        rank: which one, from 0 on.
        world_size: how many there are.
        local_rank: which one of those on this machine.
        local_world_size: how many there are on this machine; 1 where no launcher tells.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
