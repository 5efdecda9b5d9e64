"""Going on with global batches of another size: they are counted from where the run begins."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr

data = hr.Dataset


def stopped(dataset: hr.Dataset, count: int) -> dict[str, Any]:
    with iter(dataset) as iterator:
        for _ in range(count):
            next(iterator)
        state: dict[str, Any] = json.loads(json.dumps(iterator.state_dict()))
    return state


def going_on(dataset: hr.Dataset, state: dict[str, Any], *allow: str) -> list[Any]:
    with iter(dataset) as iterator:
        iterator.load_state_dict(state, allow=set(allow))
        return list(iterator)


def shuffled(length: int) -> hr.Dataset:
    return data.range(length).shuffle(length, seed=1)


def dealt_by(end: str, size: int, source: hr.Dataset, streams: int = 1, **given: Any) -> hr.Dataset:
    return source.distributed_batch(size, num_streams=streams, end=end, **given)


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("source", [data.range, shuffled])
@pytest.mark.parametrize("end", ["drop", "uneven"])
def test_global_batches_of_another_size_are_whole_from_where_they_begin(
    source: Callable[[int], hr.Dataset], end: str, executor: str
) -> None:
    options = hr.Options(executor=executor)
    elements = list(source(10))
    state = stopped(dealt_by(end, 1, source(10)), 1)
    with iter(dealt_by(end, 4, source(10)).with_options(options)) as iterator:
        iterator.load_state_dict(state, allow={"batch_size"})
        rest = [batch.tolist() for batch in iterator]
        at_end = iterator.state_dict()
    last = [elements[9:]] if end == "uneven" else []
    assert rest == [elements[1:5], elements[5:9], *last]
    assert at_end["streams"]["all"]["places"] == 1 + 4 * len(rest)


def test_a_rank_without_a_part_of_an_uneven_batch_stands_before_it_until_it_is_given() -> None:
    state = stopped(dealt_by("uneven", 2, shuffled(11), 2), 1)
    later = dealt_by("uneven", 8, shuffled(11), 2)
    for rank in range(2):
        with iter(later.with_options(hr.Options(rank=rank, world_size=2))) as iterator:
            iterator.load_state_dict(state, allow={"batch_size"})
            assert len(next(iterator)) == 4
            assert iterator.state_dict()["streams"]["all"]["places"] == 10


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize(
    ("end", "source", "given", "streams"),
    [
        ("pad", lambda: data.range(10), {}, 1),
        ("drop", lambda: data.range(40), {"steps": 3}, 1),
        ("drop", lambda: data.range(40).filter(lambda n: n < 30), {"steps": 3}, 2),
        ("pad", lambda: data.range(40).filter(lambda n: n < 30), {"steps": 3}, 2),
        ("uneven", lambda: data.range(40).filter(lambda n: n < 30), {"steps": 3}, 2),
    ],
)
def test_a_job_that_is_past_the_end_of_smaller_global_batches_has_ended(
    end: str, source: Callable[[], hr.Dataset], given: dict[str, Any], streams: int, executor: str
) -> None:
    state = stopped(dealt_by(end, 4, source(), streams, **given), 3)
    smaller = dealt_by(end, 2, source(), streams, **given).with_options(hr.Options(executor=executor))
    assert going_on(smaller, state, "batch_size") == []
    fewer = dealt_by(end, 4, source(), streams, steps=2).with_options(hr.Options(executor=executor))
    assert going_on(fewer, state) == []


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_stream_that_ends_before_a_larger_global_batch_is_the_end_and_no_error(executor: str) -> None:
    def kept() -> hr.Dataset:
        return data.range(20).filter(lambda number: number < 5)

    state = stopped(dealt_by("drop", 2, kept(), 2), 1)
    later = dealt_by("drop", 6, kept(), 2).with_options(hr.Options(executor=executor))
    assert going_on(later, state, "batch_size") == []


@pytest.mark.parametrize("source", [data.range, shuffled])
@pytest.mark.parametrize("size", [12, 6])
def test_a_job_that_is_behind_its_uneven_end_has_ended_on_every_rank(
    source: Callable[[int], hr.Dataset], size: int
) -> None:
    inputs = []
    for rank in range(3):
        options = hr.Options(rank=rank, world_size=3)
        state = stopped(dealt_by("uneven", 12, source(34), 3).with_options(options), 3)
        assert state["streams"]["all"]["places"] == 36
        inputs.append(state["streams"]["all"]["input"])
        assert going_on(dealt_by("uneven", size, source(34), 3).with_options(options), state, "batch_size") == []
    assert inputs[1:] == inputs[:-1]  # behind the last element that there is, and no further
