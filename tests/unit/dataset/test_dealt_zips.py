"""Functions in the branches of a zip are called on a rank's own elements, whatever moves the zip's elements afterwards."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.elements.structure import flatten
from headrace.errors import HeadraceError
from headrace.testing import check_every_restore_point

EXECUTORS = ("thread", "inline")
ENDS = ("drop", "pad", "uneven")


class Called:
    """A function, or a source by number, that counts what it is asked for; it fails at one number."""

    def __init__(self, length: int = 0, *, fails_at: int = -1) -> None:
        self.count = 0
        self.length = length
        self.fails_at = fails_at

    def __call__(self, number: int) -> int:
        self.count += 1
        if number == self.fails_at:
            raise ValueError("it fails")
        return 10 * int(number)

    __getitem__ = __call__

    def __len__(self) -> int:
        return self.length


def add(one: int, other: int) -> int:
    return one + other


def as_rank(dataset: hr.Dataset, rank: int, ranks: int, executor: str = "thread") -> hr.Dataset:
    return dataset.with_options(hr.Options(rank=rank, world_size=ranks, seed=1, executor=executor))


def given(dataset: hr.Dataset) -> list[Any]:
    found: list[Any] = []
    with iter(dataset) as iterator:
        while True:
            try:
                found.append([leaf.tolist() for leaf in flatten(next(iterator))[0]])
            except StopIteration:
                return found
            except HeadraceError as error:
                found.append(type(error).__name__)


def real_rows(batch: list[list[Any]]) -> list[tuple[Any, ...]]:
    """The rows of a batch of pairs, without those that its mask tells to be filled in."""
    return [row[:2] for row in zip(*batch, strict=True) if False not in row[2:]]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("end", ENDS)
def test_each_function_in_a_zip_before_a_shuffle_is_called_on_a_part_of_the_elements(end: str, executor: str) -> None:
    function, source, ranks = Called(), Called(60), 4
    pairs = hr.Dataset.zip((hr.Dataset.range(70).map(function), hr.Dataset.source(source)))
    dealt = pairs.shuffle(60, seed=3).skip(4).repeat(2).distributed_batch(8, num_streams=8, end=end)
    for rank in range(ranks):
        function.count = source.count = 0
        given(as_rank(dealt, rank, ranks, executor))
        assert function.count == source.count == 2 * 56 // ranks


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("end", ENDS)
def test_a_shuffled_zip_is_dealt_as_it_is_batched(end: str, executor: str) -> None:
    nested = hr.Dataset.zip((hr.Dataset.range(37).map(Called()), hr.Dataset.range(30)))
    pairs = hr.Dataset.zip((nested.shuffle(10, seed=1).map(add), hr.Dataset.source(Called(33))))
    whole = pairs.shuffle(9, seed=2).shard(2, 0).take(14).repeat(2)
    options = hr.Options(seed=1, executor="inline", optimize=False)
    plain = given(whole.batch(4, drop_remainder=end == "drop").with_options(options))
    dealt = given(as_rank(whole.distributed_batch(4, num_streams=4, end=end), 0, 1, executor))
    assert [real_rows(batch) for batch in dealt] == [real_rows(batch) for batch in plain]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_failure_in_one_branch_takes_its_place_alone(executor: str) -> None:
    pairs = hr.Dataset.zip((hr.Dataset.range(24).map(Called(fails_at=5)), hr.Dataset.range(24).map(Called())))
    dealt = pairs.shuffle(24, seed=3).distributed_batch(4, num_streams=4)
    finest = [given(as_rank(dealt, rank, 4, "inline")) for rank in range(4)]
    assert sorted(part.count("DataError") for part in finest) == [0, 0, 0, 1]
    for rank in range(2):
        for step, found in enumerate(given(as_rank(dealt, rank, 2, executor))):
            parts = [finest[rank][step], finest[rank + 2][step]]
            assert found == "DataError" if "DataError" in parts else found[0] == parts[0][0] + parts[1][0]


def test_branches_that_have_a_shuffle_in_common_draw_as_they_do_in_one_process() -> None:
    numbers = hr.Dataset.range(24).shuffle(24)
    pairs = hr.Dataset.zip((numbers.map(Called()), numbers.map(Called()))).shuffle(24)
    plain = given(pairs.batch(4).with_options(hr.Options(seed=1)))
    assert given(as_rank(pairs.distributed_batch(4, num_streams=4), 0, 1)) == plain
    assert any(one != other for one, other in plain)


def test_every_restore_point_of_a_shuffled_zip_goes_on() -> None:
    pairs = hr.Dataset.zip((hr.Dataset.range(30).map(Called()), hr.Dataset.source(Called(26)).map(Called())))
    check_every_restore_point(as_rank(pairs.shuffle(7, seed=3).repeat(2).distributed_batch(4, num_streams=2), 1, 2))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("end", ENDS)
def test_functions_before_an_enumeration_are_called_on_a_part_of_the_elements(end: str, executor: str) -> None:
    function, source, ranks = Called(), Called(60), 4
    both = hr.Dataset.zip((hr.Dataset.range(60).map(function), hr.Dataset.source(source)))
    whole = both.enumerate(start=7).shuffle(60, seed=3).skip(4).repeat(2).map(lambda number, pair: (number, pair[0]))
    dealt = whole.distributed_batch(8, num_streams=8, end=end)
    parts = []
    for rank in range(ranks):
        function.count = source.count = 0
        parts.append(given(as_rank(dealt, rank, ranks, executor)))
        assert function.count == source.count == 2 * 56 // ranks
    plain = given(whole.batch(8).with_options(hr.Options(seed=1, executor="inline", optimize=False)))
    found = [
        [row for turn in zip(*map(real_rows, step), strict=True) for row in turn] for step in zip(*parts, strict=True)
    ]
    assert found == [real_rows(batch) for batch in plain]
