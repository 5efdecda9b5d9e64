"""A shuffle of all that is read by number: what it reads, holds and saves."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import headrace as hr
from headrace.errors import DataLossError
from headrace.iterator.saved_state import checksum
from headrace.semantics import shuffling

data = hr.Dataset
BOTH = pytest.mark.parametrize("executor", ["thread", "inline"])
MANY = 10**10


def on(executor: str, dataset: hr.Dataset) -> hr.Dataset:
    return dataset.with_options(hr.Options(executor=executor))


@BOTH
def test_billions_of_numbers_are_shuffled_as_they_are_looked_up(executor: str) -> None:
    dataset = on(executor, data.range(MANY).shuffle(MANY, seed=1))
    first = list(itertools.islice(dataset, 50))
    assert first == [dataset[place] for place in range(50)]
    assert len(set(first)) == 50
    assert len(dataset) == MANY


@BOTH
def test_a_state_in_the_middle_of_billions_is_a_few_numbers(executor: str) -> None:
    dataset = on(executor, data.range(MANY).shuffle(MANY, seed=1))
    with iter(dataset) as iterator:
        next(iterator)
        state = iterator.state_dict()
    assert state["position"] == {
        "emitted": 1,
        "read": 0,
        "input": {"index": 0},
        "total": MANY,
        "computed": True,
    }
    middle = moved(state, 10**9)
    with iter(dataset) as iterator:
        iterator.load_state_dict(middle)
        assert [next(iterator) for _ in range(5)] == [dataset[10**9 + place] for place in range(5)]


def moved(state: dict[str, Any], emitted: int, **said: Any) -> dict[str, Any]:
    """Returns the state that one is some elements later."""
    position = {**state["position"], "emitted": emitted, **said}
    later = {**json.loads(json.dumps(state)), "position": position, "delivered": emitted}
    del later["checksum"]
    return {**later, "checksum": checksum(later)}


def rounds(rows: list[int]) -> list[list[int]]:
    """Returns what six streams have in each round, in any order."""
    return [sorted(rows[start : start + 6]) for start in range(0, len(rows), 6)]


@BOTH
@pytest.mark.parametrize("filters", [False, True])
@pytest.mark.parametrize("ranks", [1, 3])
def test_billions_are_dealt_to_streams_and_to_ranks(ranks: int, filters: bool, executor: str) -> None:
    def dealt(rank: int) -> hr.Dataset:
        whole = data.range(MANY).shuffle(MANY, seed=1)
        kept = whole.filter(lambda x: x >= 0) if filters else whole
        options = hr.Options(rank=rank, world_size=ranks, executor=executor)
        return kept.distributed_batch(12, num_streams=6, steps=3).with_options(options)

    iterators = [iter(dealt(rank)) for rank in range(ranks)]
    batches = [[next(iterator).tolist() for iterator in iterators] for _ in range(2)]
    found = [row for parts in batches for rows in zip(*parts, strict=True) for row in rows]
    whole = data.range(MANY).shuffle(MANY, seed=1)
    expected = [whole[place] for place in range(24)]
    assert rounds(found) == rounds(expected) if filters else found == expected


@BOTH
@pytest.mark.parametrize(
    "chosen",
    [
        lambda ds: ds.skip(3).take(30),
        lambda ds: ds.shard(3, 1),
        lambda ds: ds.repeat(2),
        lambda ds: ds.enumerate(),
        lambda ds: data.zip((ds, ds.skip(1))),
        lambda ds: ds.shuffle(100, seed=3),
        lambda ds: ds.shuffle(100, seed=3).filter(lambda x: x % 2 == 0),
    ],
    ids=["part", "shard", "turns", "enumerated", "zipped", "shuffled", "filtered"],
)
@pytest.mark.parametrize("computed_from", [1, 1 << 22])
def test_what_is_read_by_number_is_shuffled_as_if_it_were_read_in_order(
    chosen: Any, computed_from: int, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffling, "COMPUTED_FROM", computed_from)
    elements = list(chosen(data.range(40)))
    # What a generator gives has no number.
    in_order = data.from_generator(lambda: iter(elements)).shuffle(100, seed=5)
    assert list(on(executor, chosen(data.range(40)).shuffle(100, seed=5))) == list(in_order)


def test_of_what_is_read_by_number_a_shuffle_holds_nothing() -> None:
    with iter(data.range(1_000_000).shuffle(1_000_000, seed=1)) as iterator:
        next(iterator)
        (source,) = [stage for stage in iterator.stats().stages if stage.name == "range"]
    assert source.elements < 10_000


@BOTH
def test_a_state_from_before_orders_were_computed_keeps_the_order_that_it_has(
    executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = on(executor, data.range(40).shuffle(40, seed=1))
    given = list(dataset)
    with iter(on(executor, data.range(40).shuffle(40, seed=1))) as iterator:
        state = [next(iterator), iterator.state_dict()][1]
    monkeypatch.setattr(shuffling, "COMPUTED_FROM", 10)
    assert list(dataset) != given
    with iter(on(executor, data.range(40).shuffle(40, seed=1))) as iterator:
        iterator.load_state_dict(state)
        assert [next(iterator), *iterator] == given[1:]


@BOTH
def test_a_state_of_another_number_of_elements_is_told(executor: str) -> None:
    with iter(on(executor, data.range(40).shuffle(40, seed=1))) as iterator:
        next(iterator)
        state = moved(iterator.state_dict(), 5, total=41)
        iterator.load_state_dict(state)
        with pytest.raises(DataLossError, match="shuffle"):
            next(iterator)
        assert list(iterator) == []


def test_a_dealt_plan_is_not_looked_up_by_number_and_has_a_length() -> None:
    dealt = data.range(MANY).shuffle(MANY, seed=1).distributed_batch(100)
    assert len(dealt) == MANY // 100
    with pytest.raises(
        TypeError, match=r"dataset\[i\] is not possible after distributed_batch: each rank has its own part"
    ):
        dealt[0]


@pytest.mark.parametrize("end", ["drop", "uneven"])
@pytest.mark.parametrize("steps", [None, 3])
def test_a_rank_asks_for_its_own_places_alone(end: str, steps: int | None) -> None:
    dealt = data.range(1000).shuffle(1000, seed=1).distributed_batch(64, end=end, steps=steps)
    with iter(dealt.with_options(hr.Options(rank=3, world_size=16))) as iterator:
        count = sum(len(batch) for batch in iterator)
        elements = {stage.name.partition(" (")[0]: stage.elements for stage in iterator.stats().stages}
    assert elements["shuffle"] == elements["part of the rank"] == count
