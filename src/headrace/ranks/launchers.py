"""What launchers tell the processes that they start, in variables of the environment.

torchrun's variables come first, because launchers and scripts of all kinds set them for what they start, whatever started
themselves. SLURM's are those of a step: a shell of salloc and a script of sbatch see the number of tasks of the whole job,
but are one process, until srun starts the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from headrace.errors import InvalidArgumentError

__all__ = ["LOCAL_VARIABLES", "local_place", "local_world_size", "place"]

# By launcher: rank, number of ranks, and the rank on one machine.
_LAUNCHERS: Final = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
)
_SLURM: Final = _LAUNCHERS[-1]
_LOCAL_SIZES: Final = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
# Whether any process is beside this one on its machine is in one of these.
LOCAL_VARIABLES: Final = (*_LOCAL_SIZES, _SLURM[1])
# SLURM's tasks of each node: 4(x2),3 is four on each of two nodes, and three on the next.
_TASKS_PER_NODE: Final = ("SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE")
_RUN_OF_NODES: Final = r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?"
# Digits of a number of processes.
_LONGEST: Final = 9


def place(environ: Mapping[str, str]) -> tuple[int, int] | None:
    """Returns the rank of this process and the number of ranks; None where no launcher tells.

    Raises:
        InvalidArgumentError: a variable is no such number, or is missing beside its other.
    """
    for rank_name, size_name, _ in _LAUNCHERS:
        rank, size = _number(environ, rank_name), _number(environ, size_name, least=1)
        if rank is not None and size is not None:
            if rank >= size:
                raise InvalidArgumentError(f"{rank_name} is {rank}, but must be below {size_name}, {size}; {_WAY_OUT}")
            return rank, size
        # SLURM's rank alone is told to a script, which is one process.
        if (rank is not None and rank_name != _SLURM[0]) or (size or 1) > 1:
            is_told, missing = (size_name, rank_name) if rank is None else (rank_name, size_name)
            raise InvalidArgumentError(f"{is_told} is {environ[is_told]}, but {missing} is not set; {_WAY_OUT}")
    return None


def local_place(environ: Mapping[str, str]) -> tuple[int, int]:
    """Returns the rank of this process on its machine, and how many processes of the job there are; 0 of 1 where nobody tells."""
    ranks = (_number(environ, name) for _, _, name in _launchers(environ))
    return next((rank for rank in ranks if rank is not None), 0), local_world_size(environ)


def local_world_size(environ: Mapping[str, str]) -> int:
    """Returns how many processes of the job this machine has; 1 where no launcher tells.

    Raises:
        InvalidArgumentError: a variable is no such number.
    """
    sizes = (_number(environ, name, least=1) for name in _LOCAL_SIZES)
    told = next((size for size in sizes if size is not None), None)
    if told is not None:
        return told
    tasks = _number(environ, _SLURM[1], least=1)
    return 1 if tasks is None else _tasks_here(environ, tasks)


def _launchers(environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Returns those that started this process: of SLURM's, a shell has a rank and no step."""
    return [names for names in _LAUNCHERS if names != _SLURM or environ.get(_SLURM[1])]


def _tasks_here(environ: Mapping[str, str], tasks: int) -> int:
    """Returns how many of a step's tasks SLURM runs on this node."""
    node = _number(environ, "SLURM_NODEID") or 0
    for name in _TASKS_PER_NODE:
        text = environ.get(name, "").strip()
        if text:
            return min(tasks, _tasks_of_node(name, text, node))
    nodes = _number(environ, "SLURM_STEP_NUM_NODES", least=1) or _number(environ, "SLURM_NNODES", least=1)
    return -(-tasks // (nodes or tasks))


def _tasks_of_node(name: str, text: str, node: int) -> int:
    """Returns how many tasks a node has; one that is not listed has as many as the last."""
    count = 0
    for part in text.split(","):
        found = re.fullmatch(_RUN_OF_NODES, part.strip(), re.ASCII)
        if found is None:
            raise InvalidArgumentError(
                f"{name} is {text[:40]!r}, which is no list of tasks as in '4(x2),3'; {_WAY_OUT}"
            )
        count, nodes = int(found[1]), int(found[2] or 1)
        if node < nodes:
            break
        node -= nodes
    return max(1, count)


_WAY_OUT: Final = "a launcher sets both. Unset them where none started this process, or give Options(rank=, world_size=), which are taken instead"


def _number(environ: Mapping[str, str], name: str, *, least: int = 0) -> int | None:
    """Returns what a variable says; None where it says nothing.

    Raises:
        InvalidArgumentError: it is no whole number of at least that.
    """
    said = environ.get(name, "")
    text = said.strip()
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST and int(text) >= least:
        return int(text)
    kind = "number of processes of at least 1" if least else "rank of at least 0"
    raise InvalidArgumentError(
        f"{name} is {said[:40]!r}, which is no {kind}: launchers set it by themselves; unset it, or correct it"
    )
