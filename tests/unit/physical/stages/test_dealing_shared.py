"""What all streams of a rank read from its beginning is read once, whatever they do with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace as hr
from headrace.errors import DataError
from headrace.testing import check_every_restore_point


class Source:
    """A generator's function, which counts its calls, and what was read of all of them."""

    def __init__(self, count: int, *, broken: int | None = None) -> None:
        self.count = count
        self.broken = broken
        self.calls = self.read = 0

    def __call__(self) -> Iterator[int]:
        self.calls += 1
        for number in range(self.count):
            self.read += 1
            yield number

    def dataset(self) -> hr.Dataset:
        return hr.Dataset.from_generator(self, output_signature=hr.TensorSpec((), int))


def as_rank(dataset: hr.Dataset, rank: int = 0, ranks: int = 1, executor: str = "thread") -> hr.Dataset:
    return dataset.with_options(hr.Options(rank=rank, world_size=ranks, seed=1, executor=executor))


def given(dataset: hr.Dataset) -> list[list[int]]:
    return [batch.tolist() for batch in dataset]


def test_a_generator_is_read_once_for_all_streams() -> None:
    source = Source(4000)
    dealt = source.dataset().filter(lambda x: x % 3 > 0).distributed_batch(64, num_streams=64, steps=20)
    assert given(as_rank(dealt)) == given(as_rank(dealt, executor="inline"))
    source.calls = source.read = 0
    given(as_rank(dealt))
    assert source.calls == 1
    assert source.read <= 4000


def test_a_shuffle_and_a_scan_before_the_dealing_run_once() -> None:
    source, called = Source(600), []

    def total(state: int, x: int) -> tuple[int, int]:
        called.append(x)
        return state + x, state + x

    dealt = (
        source.dataset()
        .scan(0, total)
        .shuffle(50, reshuffle_each_iteration=False)
        .filter(lambda x: x % 3 > 0)
        .distributed_batch(6, steps=20)
    )
    expected = given(as_rank(dealt, executor="inline"))
    called.clear()
    assert given(as_rank(dealt)) == expected
    assert len(called) <= 600


@pytest.mark.parametrize("most", [0, 300, 1 << 20])
def test_streams_far_apart_read_by_themselves_and_nothing_more_is_held(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.physical.stages.dealing_shared._MOST_BYTES", most)
    source = Source(3000)
    # Of each stream another part is left out, so that some are hundreds of elements ahead of others.
    dealt = source.dataset().filter(lambda x: x % 4 > 0 or x % 100 == 0).distributed_batch(4, num_streams=4, steps=30)
    expected = given(as_rank(dealt, executor="inline"))
    source.calls = 0
    assert given(as_rank(dealt)) == expected
    assert source.calls == 1 if most > 300 else 1 <= source.calls <= 5


@pytest.mark.parametrize("most", [0, 100, 1 << 20])
def test_streams_go_on_from_where_each_is(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.physical.stages.dealing_shared._MOST_BYTES", most)
    dealt = Source(300).dataset().filter(lambda x: x % 5 > x % 3).repeat(2).distributed_batch(4, steps=30)
    check_every_restore_point(as_rank(dealt))


def test_streams_that_were_saved_apart_read_once_from_the_first_of_them_on() -> None:
    source = Source(2000)
    dealt = source.dataset().filter(lambda x: x % 4 > 1 or x % 7 == 0).distributed_batch(8, num_streams=8, steps=50)
    whole = given(as_rank(dealt))
    with iter(as_rank(dealt)) as iterator:
        for _ in range(20):
            next(iterator)
        state = iterator.state_dict()
    source.calls = 0
    with iter(as_rank(dealt)) as iterator:
        iterator.load_state_dict(state)
        assert [batch.tolist() for batch in iterator] == whole[20:]
    assert source.calls == 1


def test_turns_of_a_repeat_are_read_once_each() -> None:
    source = Source(240)
    dealt = source.dataset().filter(lambda x: x % 5 > 0).repeat(3).distributed_batch(6, num_streams=6, steps=75)
    expected = given(as_rank(dealt, executor="inline"))
    source.calls = 0
    assert given(as_rank(dealt)) == expected
    assert source.calls == 3


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_failure_is_that_of_its_stream_alone(executor: str) -> None:
    def fails(x: int) -> int:
        if x == 9:
            raise ValueError("nine")
        return x

    source = Source(40)
    # A scan stands before the dealing, and what it reads as well.
    plan = source.dataset().map(fails).scan(0, lambda state, x: (state, x)).filter(lambda _: True)
    seen: list[list[object]] = []
    for rank in range(4):
        mine: list[object] = []
        with iter(as_rank(plan.distributed_batch(4, num_streams=4, steps=10), rank, 4, executor)) as iterator:
            while True:
                try:
                    mine += next(iterator).tolist()
                except StopIteration:
                    break
                except DataError:
                    mine.append("failed")
        seen.append(mine)
    assert [stream.count("failed") for stream in seen].count(1) == 1
    assert sorted(x for stream in seen for x in stream if isinstance(x, int)) == [x for x in range(40) if x != 9]


def test_nothing_is_left_open_where_a_run_ends_in_the_middle() -> None:
    open_ones: list[int] = []

    def rows() -> Iterator[int]:
        open_ones.append(1)
        try:
            yield from range(10_000)
        finally:
            open_ones.pop()

    dealt = hr.Dataset.from_generator(rows).filter(lambda _: True).distributed_batch(16, num_streams=8)
    with iter(as_rank(dealt)) as iterator:
        next(iterator)
        assert open_ones == [1]
    assert not open_ones
