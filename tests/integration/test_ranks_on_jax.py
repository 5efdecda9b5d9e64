"""Two of JAX's processes are ranks that know each other."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest
from tests.integration.processes import in_processes

import headrace as hr

pytest.importorskip("jax")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="JAX on CPUs has collectives on Linux")
from tests.integration import jax_job  # noqa: E402 - it imports JAX

Ranks = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ranks() -> Ranks:
    """What each rank of one job saw, by case."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    program = f"from tests.integration.jax_job import seen_at; print('told', seen_at({port}))"
    return [seen for (seen,) in in_processes(program, jax_job.RANKS, {"JAX_PLATFORMS": "cpu"})]


def test_jax_tells_who_a_process_is_and_its_backends_stay_as_they_were(ranks: Ranks) -> None:
    assert [seen["who"] for seen in ranks] == [[rank, jax_job.RANKS, True] for rank in range(jax_job.RANKS)]


@pytest.mark.parametrize("case", ["drop", "drop, a mesh"])
def test_ranks_of_filtered_streams_end_after_the_same_step(ranks: Ranks, case: str) -> None:
    alone = [batch.tolist() for batch in jax_job.filtered().with_options(hr.Options(rank=0, world_size=1))]
    for rank, seen in enumerate(ranks):
        assert seen[case] == [batch[rank :: jax_job.RANKS] for batch in alone]


def test_an_unseeded_shuffle_has_one_order_on_all_ranks(ranks: Ranks) -> None:
    for epochs in zip(*(seen["shuffled"] for seen in ranks), strict=True):
        assert sorted(x for given in epochs for x in given) == list(range(40))
    assert all(first != second for first, second in (seen["shuffled"] for seen in ranks))
