"""Datasets of generators, of which many are read one after the other for one block: when they are run, and that each is ended."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import Failing
from tests.laws.running import REFERENCE, Way, assert_same, history

import headrace as hr
from headrace.physical.at_once import SmallPlans
from headrace.physical.stages.together.forms import Form

# As it measures itself; and many at once.
WAYS = (Way(hr.Options(seed=7)), Way(hr.Options(seed=7), block_sizes=(1000,)))
LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=60)


class Log:
    """What generators did: how many are begun and not ended, and how many were at most."""

    def __init__(self) -> None:
        self.began: list[int] = []
        self.open = self.most = 0

    def generator(self, number: int, length: int, fails: bool) -> Iterator[int]:
        """Yields so many numbers, and is noted while it is open."""
        self.began.append(number)
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            yield from range(number, number + length)
            if fails:
                raise Failing("at its end")
        finally:
            self.open -= 1


@given(
    LENGTHS, st.integers(0, 7), st.integers(0, 2), st.sampled_from(["", "map", "take", "batch"]), st.integers(0, 400)
)
def test_each_generator_is_run_once_alone_and_ended_wherever_its_reader_stops(
    lengths: list[int], fails: int, first_fails: int, then: str, stop: int
) -> None:
    for way in WAYS:
        log = Log()

        def opened(number: int, log: Log = log) -> hr.Dataset:
            is_failing = fails > 0 and number % fails == first_fails
            dataset = hr.Dataset.from_generator(lambda: log.generator(number, lengths[number], is_failing))
            if then == "map":
                return dataset.map(lambda x: x + 1)
            return dataset.take(7) if then == "take" else dataset.batch(4) if then == "batch" else dataset

        def build(opened: Any = opened) -> hr.Dataset:
            return hr.Dataset.range(len(lengths)).flat_map(opened)

        expected, _ = history(build(), REFERENCE, limit=stop)
        log.began.clear()
        with iter(build().with_options(way.options)) as iterator:
            found: list[Any] = []
            while len(found) < stop:
                try:
                    found.append(next(iterator))
                except StopIteration:
                    break
                except hr.errors.HeadraceError as error:
                    found.append(error)
            assert log.most <= 1
        assert log.open == 0
        assert log.began == [*range(len(log.began))]
        assert_same(expected, found)


@pytest.mark.parametrize("cycle_length", [1, 3])
@given(lengths=LENGTHS)
def test_generators_of_any_length_give_what_each_gives_by_itself(cycle_length: int, lengths: list[int]) -> None:
    def build() -> hr.Dataset:
        numbers = hr.Dataset.range(len(lengths))
        return numbers.interleave(
            lambda x: hr.Dataset.from_generator(lambda: iter(range(x, x + lengths[x]))).filter(lambda y: y % 3 != 0),
            cycle_length=cycle_length,
            block_length=2,
        )

    expected, _ = history(build(), REFERENCE, limit=500)
    for way in WAYS:
        assert_same(expected, history(build(), way, limit=500)[0])


def test_generators_of_one_form_are_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []
    elements = Form.elements

    def counted(self: Form, small: SmallPlans) -> Any:
        together.append(len(self.lengths))
        return elements(self, small)

    monkeypatch.setattr(Form, "elements", counted)
    for then in (lambda ds: ds, lambda ds: ds.map(lambda x: x + 1), lambda ds: ds.take(7), lambda ds: ds.batch(5)):
        together.clear()
        numbers = hr.Dataset.range(3000).flat_map(
            lambda x, then=then: then(hr.Dataset.from_generator(lambda: iter(range(x, x + 10))))
        )
        assert len(list(numbers)) % 3000 == 0
        assert sum(together) > 2000


def test_no_more_is_read_of_a_generator_than_is_taken() -> None:
    read: list[int] = []

    def noted(number: int) -> int:
        read.append(number)
        return number

    def build() -> hr.Dataset:
        return hr.Dataset.range(200).flat_map(
            lambda x: hr.Dataset.from_generator(lambda: map(noted, itertools.count(x))).take(5)
        )

    assert len(list(build())) == 1000
    assert read == [number for x in range(200) for number in range(x, x + 5)]
