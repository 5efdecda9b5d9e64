"""Four processes that reduce something in each step: none waits for ever, whatever number of batches each has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.processes import in_processes

import headrace as hr

if TYPE_CHECKING:
    from collections.abc import Callable

distributed = pytest.importorskip("torch.distributed")
pytestmark = pytest.mark.skipif(
    not distributed.is_available() or not distributed.is_gloo_available() or sys.platform == "win32",
    reason="needs a PyTorch with gloo, and file:// for its store",
)
if distributed.is_available():
    from tests.integration import gloo_job

Ranks = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    """What each rank of one job saw, by case."""
    folder = str(tmp_path_factory.mktemp("gloo"))
    program = f"from tests.integration.gloo_job import seen_in; print('told', seen_in({folder!r}))"
    return [seen for (seen,) in in_processes(program, gloo_job.RANKS)]


def of_case(ranks: Ranks, case: str) -> list[list[Any]]:
    """Returns what all ranks had, step by step; in each step all of them were there."""
    steps = list(zip(*(seen[case] for seen in ranks), strict=True))
    assert {present for step in steps for _, present in step} == {gloo_job.RANKS}
    return [[given for given, _ in step] for step in steps]


def alone(dataset: hr.Dataset) -> hr.Dataset:
    return dataset.with_options(hr.Options(rank=0, world_size=1))


def parts(batch: Any) -> list[Any]:
    """Returns what each rank has of a global batch."""
    return [batch[rank :: gloo_job.RANKS] for rank in range(gloo_job.RANKS)]


def dropped(build: Callable[..., hr.Dataset] | None = None) -> list[Any]:
    return [parts(batch.tolist()) for batch in alone((build or gloo_job.filtered)())]


def test_torch_tells_who_a_process_is(ranks: Ranks) -> None:
    assert [seen["who"] for seen in ranks] == [[rank, gloo_job.RANKS] for rank in range(gloo_job.RANKS)]


def test_streams_have_different_lengths() -> None:
    lengths = {
        sum(gloo_job.is_kept(x) for x in range(stream, gloo_job.ELEMENTS, gloo_job.BATCH))
        for stream in range(gloo_job.BATCH)
    }
    assert len(lengths) > 2


@pytest.mark.parametrize("case", ["drop", "drop, a group", "drop, a feed", "resumed"])
def test_ranks_of_filtered_streams_end_after_the_same_step(ranks: Ranks, case: str) -> None:
    assert of_case(ranks, case) == dropped()


def test_ranks_that_have_ended_fill_in_until_all_have(ranks: Ranks) -> None:
    batches = list(alone(gloo_job.filtered(end="pad")))
    steps = of_case(ranks, "pad")
    assert [[rows for rows, _ in step] for step in steps] == [
        [rows[mask].tolist() for rows, mask in zip(parts(batch), parts(is_real), strict=True)]
        for batch, is_real in batches
    ]
    assert {length for step in steps for _, length in step} == {gloo_job.BATCH // gloo_job.RANKS}
    assert any(not rows for step in steps for rows, _ in step)  # a rank had nothing left
    real = sorted(x for step in steps for rows, _ in step for x in rows)
    assert real == [x for x in range(gloo_job.ELEMENTS) if gloo_job.is_kept(x)]


def test_uneven_ranks_train_to_their_ends_by_join(ranks: Ranks) -> None:
    counts = {len(seen["uneven"]) for seen in ranks}
    assert len(counts) > 1
    given = sorted(x for seen in ranks for batch in seen["uneven"] for x in batch)
    assert given == [x for x in range(gloo_job.ELEMENTS) if gloo_job.is_kept(x)]


def test_a_batch_that_fails_on_one_rank_is_a_step_of_all(ranks: Ranks) -> None:
    steps = of_case(ranks, "fails")
    failed = [
        (step, rank) for step, given in enumerate(steps) for rank, rows in enumerate(given) if rows == "DataError"
    ]
    assert len(failed) == 1
    assert failed[0][1] == gloo_job.FAILING_RANK
    assert len(steps) > failed[0][0] + 1


def test_an_unseeded_shuffle_has_one_order_on_all_ranks(ranks: Ranks) -> None:
    for case in ("shuffled", "one order"):
        for epoch in range(2):
            given = [x for seen in ranks for batch in seen[case][epoch] for x in batch]
            assert sorted(given) == list(range(gloo_job.ELEMENTS))
    assert all(seen["shuffled"][0] != seen["shuffled"][1] for seen in ranks)
    assert all(seen["one order"][0] == seen["one order"][1] for seen in ranks)


def test_all_ranks_are_told_which_of_them_they_wait_for(ranks: Ranks) -> None:
    for cause, stage, text in (seen["profiled"] for seen in ranks):
        assert cause == "rank"
        assert "map 'fetch'" in stage
        assert text.startswith(f"All ranks wait for rank {gloo_job.FAILING_RANK}, ")
