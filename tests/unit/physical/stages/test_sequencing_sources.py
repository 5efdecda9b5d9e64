"""Turns of a source that is read by index, with maps after it: when an endless repeat ends, and what is counted."""

from __future__ import annotations

import itertools

import pytest
from tests.laws.running import REFERENCE, Way, elements_of, history, resumed

import headrace as hr

WAYS = [Way(hr.Options(seed=7), block_sizes=sizes) for sizes in [(1,), (2, 5), (1000,)]]


class Failing:
    """Fails on all calls from one to before another."""

    def __init__(self, start: int, stop: int) -> None:
        self._calls = itertools.count()
        self._failing = range(start, stop)

    def __call__(self, x: int) -> int:
        if next(self._calls) in self._failing:
            raise ValueError(x)
        return x


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("start", "stop"), [(0, 3), (0, 2), (1, 4), (2, 5), (3, 6), (4, 9), (2, 50), (7, 8)])
def test_an_endless_repeat_ends_after_a_turn_in_which_a_map_failed_on_each_element(
    start: int, stop: int, way: Way
) -> None:
    def build() -> hr.Dataset:
        return hr.Dataset.range(3).map(Failing(start, stop)).repeat()

    expected = elements_of(build(), REFERENCE, limit=30)
    assert [str(given) for given in elements_of(build(), way, limit=30)] == [str(given) for given in expected]


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_was_resumed_within_its_failures_counts_those_before(way: Way) -> None:
    def fails_from_three(x: int, limit: list[int]) -> int:
        limit[0] += 1
        if limit[0] > 3:
            raise ValueError(x)
        return x

    calls = [0]
    dataset = hr.Dataset.range(3).map(lambda x: fails_from_three(x, calls)).repeat()
    expected, states = history(dataset, way, limit=20)
    assert len(expected) == 6  # one turn, and one of failures
    for count, state in enumerate(states[3:], 3):
        for other in (*WAYS, REFERENCE):
            assert len(resumed(dataset, state, other, limit=20)) == len(expected) - count


def test_what_a_repeat_of_maps_gave_is_counted_without_its_failures() -> None:
    def fails_on_one(x: int) -> int:
        return 1 // (x - 1)

    dataset = hr.Dataset.range(4).map(fails_on_one).repeat(5).ignore_errors()
    with iter(dataset) as iterator:
        assert len(list(iterator)) == 15
        counts = {stage.name.split()[0]: stage.elements for stage in iterator.stats().stages}
    assert (counts["range"], counts["map"], counts["repeat"]) == (20, 15, 15)
