"""Which of a job's processes this one is, whoever knows."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from headrace.errors import InvalidArgumentError
from headrace.ranks import frameworks, launchers
from headrace.ranks.rank import Rank

__all__ = ["current"]


def current(rank: int | None = None, world_size: int | None = None, *, environ: Mapping[str, str] = os.environ) -> Rank:
    """Returns which of a job's processes this one is; one of one, where nothing says otherwise.

    What is asked, in this order: ``torch.distributed`` if it is initialised, JAX if it is distributed, the variables of torchrun,
    Open MPI and SLURM's srun. How many processes are on this machine is told by launchers alone.

    Args:
        rank: what takes the place of what is found, as ``Options(rank=)``.
        world_size: the same, as ``Options(world_size=)``.
        environ: the variables of the environment.

    Raises:
        InvalidArgumentError: a rank that is not below the number of ranks; or a variable that is no number, unless both are given.

    Example:
        >>> import headrace as hr
        >>> hr.ranks.current(rank=1, world_size=4).rank
        1
    """
    if rank is not None and world_size is not None:
        local = 0, 1
        with contextlib.suppress(InvalidArgumentError):  # to give both is the way out of wrong variables
            local = launchers.local_place(environ)
    else:
        found = frameworks.place() or launchers.place(environ) or (0, 1)
        rank, world_size = found[0] if rank is None else rank, found[1] if world_size is None else world_size
        local = launchers.local_place(environ)
    if not 0 <= rank < world_size:
        raise InvalidArgumentError(f"rank must be at least 0 and below world_size ({world_size}), not {rank}")
    return Rank(rank=rank, world_size=world_size, local_rank=local[0], local_world_size=local[1])
