"""What stands in the places of a stream of a dealt plan that has no element for them: the same on any number of ranks."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.errors import FailedPreconditionError, HeadraceError
from headrace.plan.dealing_places import PlacesOfStream

STREAMS = 4
# The elements of each stream, of the numbers below 12: one in each step of four elements.
OF_STREAM = [PlacesOfStream(STREAMS, stream).among(0, 3).tolist() for stream in range(STREAMS)]
SHORT = OF_STREAM[2]
pytestmark = pytest.mark.parametrize("executor", ["thread", "inline"])
ranks_of_a_job = pytest.mark.parametrize("ranks", [1, 2, 4])


def fails_in_stream_2(x: int) -> int:
    if x in SHORT:
        raise ValueError("it cannot be read")
    return x


def steps_of(iterator: hr.DatasetIterator) -> list[Any]:
    """Returns what comes in each step: the rows, or the error."""
    steps: list[Any] = []
    while True:
        try:
            steps.append(next(iterator))
        except StopIteration:
            return steps
        except HeadraceError as error:
            steps.append(error)


def job(dataset: hr.Dataset, ranks: int, executor: str) -> list[list[Any]]:
    """Returns the steps of each rank of a job."""
    options = [hr.Options(rank=rank, world_size=ranks, executor=executor) for rank in range(ranks)]
    return [steps_of(iter(dataset.with_options(one))) for one in options]


def rows(steps: list[Any]) -> list[list[int] | str]:
    return [type(step).__name__ if isinstance(step, HeadraceError) else step.tolist() for step in steps]


@ranks_of_a_job
def test_an_uneven_end_has_what_the_others_have(executor: str, ranks: int) -> None:
    # Stream 2 has one element, which cannot be read; the others have three.
    whole = hr.Dataset.range(12).filter(lambda x: x not in SHORT[1:]).map(fails_in_stream_2)
    given = job(whole.distributed_batch(STREAMS, num_streams=STREAMS, end="uneven"), ranks, executor)
    for rank, steps in enumerate(given):
        others = [stream for stream in range(rank, STREAMS, ranks) if stream != 2]
        later = [[OF_STREAM[stream][step] for stream in others] for step in (1, 2) if others]
        assert rows(steps) == ["DataError" if rank == 2 % ranks else others, *later]


@ranks_of_a_job
def test_a_padded_end_has_an_error_in_each_batch_that_cannot_be_filled(executor: str, ranks: int) -> None:
    whole = hr.Dataset.range(12).filter(lambda x: x not in SHORT)
    given = job(whole.distributed_batch(STREAMS, num_streams=STREAMS, end="pad", steps=3), ranks, executor)
    for rank, steps in enumerate(given):
        assert len(steps) == 3
        for step in steps:
            assert isinstance(step, FailedPreconditionError) == (rank == 2 % ranks)
    assert "stream 2 has no element that could be read" in str(given[2 % ranks][2])


@ranks_of_a_job
def test_every_rank_has_as_many_steps_as_were_asked_for(executor: str, ranks: int) -> None:
    whole = hr.Dataset.range(12).filter(lambda x: x not in SHORT[1:])
    given = job(whole.distributed_batch(STREAMS, num_streams=STREAMS, steps=3), ranks, executor)
    assert [len(steps) for steps in given] == [3] * ranks
    for rank, steps in enumerate(given):
        assert [isinstance(step, HeadraceError) for step in steps] == [False, *[rank == 2 % ranks] * 2]
    assert "stream 2 has ended, and has no element for step 2 of steps=3" in str(given[2 % ranks][2])


def test_what_every_rank_reads_whole_has_as_many_steps_as_there_are(executor: str) -> None:
    for end, count in (("drop", 2), ("uneven", 3), ("pad", 5)):
        dataset = hr.Dataset.range(10).distributed_batch(4, steps=5, end=end)
        (steps,) = job(dataset, 1, executor)
        assert len(steps) == len(dataset) == count


@ranks_of_a_job
@pytest.mark.parametrize("left", [0, 1])
def test_no_batch_because_a_stream_is_short_is_an_error_in_the_first_step(executor: str, ranks: int, left: int) -> None:
    whole = hr.Dataset.range(12).filter(lambda x: x not in SHORT[left:])
    # The other ranks always have a step.
    dealt = whole.distributed_batch(2 * STREAMS, num_streams=STREAMS, group=lambda number: max(number, 1))
    for rank, steps in enumerate(job(dealt, ranks, executor)):
        assert [isinstance(step, HeadraceError) for step in steps] == [rank == 2 % ranks]
        has = "1 element, of which a global batch takes 2" if left else "no element"
        assert rank != 2 % ranks or f"distributed_batch: stream 2 of 4 has {has}, so that no global batch" in str(
            steps[0]
        )


def test_no_element_at_all_is_no_error_of_one_stream(executor: str) -> None:
    nothing = hr.Dataset.range(12).filter(lambda _: False).distributed_batch(4, num_streams=1)
    assert job(nothing, 1, executor) == [[]]


@pytest.mark.parametrize("period", [2, 4, 8])
def test_what_repeats_every_few_elements_is_in_every_stream(executor: str, period: int) -> None:
    some = hr.Dataset.range(64 * period).filter(lambda x: x % period == 0)
    (steps,) = job(some.distributed_batch(8, num_streams=8), 1, executor)
    assert len(steps) > 2
    assert not any(isinstance(step, HeadraceError) for step in steps)
