"""Which of a job's processes this one is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen

__all__ = ["Rank", "current", "shared_entropy"]


@frozen(kw_only=True)
class Rank:
    """One of the processes of a job.

    Attributes:
        rank: which one, from 0 on.
        world_size: how many there are.
        local_rank: which one of those on this machine.
        local_world_size: how many there are on this machine.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1


# By launcher: rank, number of ranks, and the same on one machine. Those of torchrun are what most launchers set as well.
_LAUNCHERS: Final = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
)


def current(rank: int | None = None, world_size: int | None = None, *, environ: Mapping[str, str] = os.environ) -> Rank:
    """Returns which of a job's processes this one is; one of one, where nothing says otherwise.

    What is asked, in this order: ``torch.distributed`` if it is initialised, JAX if it is distributed, the variables of torchrun,
    Open MPI and SLURM.

    Args:
        rank: what takes the place of what is found, as ``Options(rank=)``.
        world_size: the same, as ``Options(world_size=)``.
        environ: the variables of the environment.

    Raises:
        InvalidArgumentError: a rank that is not below the number of ranks.

    Example:
        >>> import headrace as hr
        >>> hr.ranks.current(rank=1, world_size=4).rank
        1
    """
    found = _found(environ)
    number = found.rank if rank is None else rank
    size = found.world_size if world_size is None else world_size
    if not 0 <= number < size:
        raise InvalidArgumentError(f"rank must be at least 0 and below world_size ({size}), not {number}")
    return Rank(rank=number, world_size=size, local_rank=found.local_rank, local_world_size=found.local_world_size)


def _found(environ: Mapping[str, str]) -> Rank:
    for launcher in _LAUNCHERS:
        numbers = [environ.get(name) for name in launcher]
        if numbers[0] is not None and numbers[1] is not None:
            rank, size, local, together = [int(number) if number else None for number in numbers]
            return Rank(rank=rank or 0, world_size=size or 1, local_rank=local or 0, local_world_size=together or 1)
    return Rank()


def shared_entropy() -> int | None:
    """Returns a random number that all ranks of the job have alike; None where they have no way to tell it each other."""
    return None
