"""Which of a job's processes this one is, as launchers tell it."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import InvalidArgumentError
from headrace.machine import share_of_machine
from headrace.ranks import Rank

GIB: Final = 1 << 30
# A node of a job, and the process of it, of nodes with so many processes each.
jobs = st.lists(st.integers(1, 5), min_size=1, max_size=6).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes), st.sampled_from([(node, own) for node, count in enumerate(nodes) for own in range(count)])
    )
)
Job = tuple[list[int], tuple[int, int]]


def rank_in(job: Job) -> Rank:
    nodes, (node, own) = job
    return Rank(rank=sum(nodes[:node]) + own, world_size=sum(nodes), local_rank=own, local_world_size=nodes[node])


def told(environ: dict[str, Any], **given: int) -> Rank:
    return hr.ranks.current(**given, environ={name: str(value) for name, value in environ.items()})


def by_torchrun(rank: Rank) -> dict[str, Any]:
    return {
        "RANK": rank.rank,
        "WORLD_SIZE": rank.world_size,
        "LOCAL_RANK": rank.local_rank,
        "LOCAL_WORLD_SIZE": rank.local_world_size,
    }


def by_open_mpi(rank: Rank) -> dict[str, Any]:
    return {
        "OMPI_COMM_WORLD_RANK": rank.rank,
        "OMPI_COMM_WORLD_SIZE": rank.world_size,
        "OMPI_COMM_WORLD_LOCAL_RANK": rank.local_rank,
        "OMPI_COMM_WORLD_LOCAL_SIZE": rank.local_world_size,
    }


def by_slurm(job: Job) -> dict[str, Any]:
    rank = rank_in(job)
    return {
        "SLURM_JOB_ID": 7,
        "SLURM_NTASKS": 100,  # of the whole job, of which this is a step
        "SLURM_PROCID": rank.rank,
        "SLURM_STEP_NUM_TASKS": rank.world_size,
        "SLURM_LOCALID": rank.local_rank,
        "SLURM_NODEID": job[1][0],
    }


def listed(nodes: list[int], *, shortened: bool) -> str:
    """SLURM's list of how many tasks each node has."""
    runs: list[tuple[int, int]] = []
    for count in nodes:
        if shortened and runs and runs[-1][0] == count:
            runs[-1] = count, runs[-1][1] + 1
        else:
            runs.append((count, 1))
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in runs)


@given(jobs)
def test_torchrun_and_open_mpi_tell_who_a_process_is(job: Job) -> None:
    rank = rank_in(job)
    assert told(by_torchrun(rank)) == told(by_open_mpi(rank)) == rank


@given(jobs, st.booleans(), st.booleans())
def test_srun_tells_who_a_process_is(job: Job, shortened: bool, of_step: bool) -> None:
    name = "SLURM_STEP_TASKS_PER_NODE" if of_step else "SLURM_NTASKS_PER_NODE"
    assert told({**by_slurm(job), name: listed(job[0], shortened=shortened)}) == rank_in(job)


@given(jobs)
def test_without_a_list_the_tasks_of_srun_are_taken_for_evenly_spread(job: Job) -> None:
    nodes = job[0]
    rank = told({**by_slurm(job), "SLURM_STEP_NUM_NODES": len(nodes)})
    assert (rank.rank, rank.world_size) == (rank_in(job).rank, sum(nodes))
    assert rank.local_world_size == -(-sum(nodes) // len(nodes))
    assert told(by_slurm(job)).local_world_size == 1


@given(jobs)
def test_torchrun_that_srun_started_tells_before_it(job: Job) -> None:
    nodes = job[0]
    outer = {**by_slurm(([1] * len(nodes), (job[1][0], 0))), "SLURM_STEP_TASKS_PER_NODE": "1"}
    assert told({**outer, **by_torchrun(rank_in(job))}) == rank_in(job)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"SLURM_JOB_ID": 7, "SLURM_NTASKS": 8, "SLURM_NTASKS_PER_NODE": "4(x2)"},  # a shell of salloc
        {"SLURM_JOB_ID": 7, "SLURM_NTASKS": 8, "SLURM_PROCID": 0, "SLURM_LOCALID": 0, "SLURM_NODEID": 0},  # of sbatch
        {"SLURM_NTASKS": 8, "SLURM_PROCID": 0, "SLURM_STEP_NUM_TASKS": 1, "SLURM_STEP_TASKS_PER_NODE": "1"},
        {"RANK": "", "WORLD_SIZE": " "},
        {"WORLD_SIZE": 1},
    ],
)
def test_a_process_that_no_launcher_started_is_one_of_one(environ: dict[str, Any]) -> None:
    assert told(environ) == Rank()


RANK: Final = Rank(rank=3, world_size=8, local_rank=1, local_world_size=2)
TOLD: Final = [
    by_torchrun(RANK),
    by_open_mpi(RANK),
    {**by_slurm(([2, 2, 4], (1, 1))), "SLURM_STEP_TASKS_PER_NODE": "2(x2),4"},
]


@pytest.mark.parametrize("environ", TOLD)
def test_a_variable_that_is_no_number_is_named(environ: dict[str, Any]) -> None:
    assert told(environ) == RANK
    for name in environ.keys() - {"SLURM_JOB_ID", "SLURM_NTASKS"}:
        for wrong in ("two", "-1", "1.5", "²", "4(x", "9" * 5000):
            broken = {**environ, name: wrong}
            with pytest.raises(InvalidArgumentError, match=f"^{name} is "):
                told(broken)
            assert told(broken, rank=1, world_size=2).rank == 1


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"RANK": 1}, "RANK is 1, but WORLD_SIZE is not set"),
        ({"WORLD_SIZE": 4}, "WORLD_SIZE is 4, but RANK is not set"),
        ({"RANK": 4, "WORLD_SIZE": 4}, "RANK is 4, but must be below WORLD_SIZE, 4"),
        ({"SLURM_STEP_NUM_TASKS": 4}, "SLURM_STEP_NUM_TASKS is 4, but SLURM_PROCID is not set"),
    ],
)
def test_variables_that_do_not_fit_each_other_are_named(environ: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        told(environ)


def test_options_are_taken_before_what_a_launcher_tells() -> None:
    assert told(TOLD[0], rank=0) == Rank(rank=0, world_size=8, local_rank=1, local_world_size=2)
    assert told(TOLD[0], rank=9, world_size=10).rank == 9
    with pytest.raises(InvalidArgumentError, match=r"below world_size \(2\), not 3"):
        told(TOLD[0], world_size=2)


@pytest.mark.parametrize("environ", TOLD)
def test_cores_and_memory_are_shared_by_the_processes_that_the_launcher_tells_of(environ: dict[str, Any]) -> None:
    told_texts = {name: str(value) for name, value in environ.items()}
    share = share_of_machine("/nowhere", environ=told_texts, counted=lambda: 8, affinity=None, memory_bytes=8 * GIB)
    assert (share.cores, share.memory_bytes) == (4, 4 * GIB)
