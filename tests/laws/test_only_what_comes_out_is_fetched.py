"""A source by number is asked for what comes out and for nothing else, and its failures keep their numbers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import Named, text
from tests.laws.running import REFERENCE, Way, elements_of, history, resumed, ways

import headrace as hr
from headrace.elements.structure import flatten
from headrace.testing.restoring import check_every_restore_point, same

OPTIONS = hr.Options(deterministic=True)
ALL = 5_000  # more than any plan here gives


class Counting:
    """Squares by number, some of which cannot be fetched; it remembers what was asked for."""

    def __init__(self, length: int, period: int) -> None:
        self.length = length
        self.period = period
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> int:
        self.asked.append(number)
        if self.fails(number):
            raise ValueError("it cannot be fetched")
        return number * number

    def fails(self, number: int) -> bool:
        return number % self.period == self.period - 1


class CountingMany(Counting):
    """The same, asked for many at once."""

    def __getitems__(self, numbers: list[int]) -> list[int]:
        return [self[number] for number in numbers]


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A source, and what chooses among its numbers."""

    length: int
    period: int
    calls: int | None
    many: bool
    steps: tuple[Named, ...]
    batch: int | None

    def __repr__(self) -> str:
        parts = [text("source", self.length, self.period, self.calls, self.many), *(name for name, _ in self.steps)]
        return ".".join([*parts, *([] if self.batch is None else [text("batch", self.batch)])])

    def over(self, source: Counting) -> hr.Dataset:
        dataset = self.chosen(hr.Dataset.source(source, num_parallel_calls=self.calls))
        return dataset if self.batch is None else dataset.batch(self.batch)

    def chosen(self, dataset: hr.Dataset) -> hr.Dataset:
        for _, step in self.steps:
            dataset = step(dataset)
        return dataset

    def source(self) -> Counting:
        return (CountingMany if self.many else Counting)(self.length, self.period)

    def numbers(self) -> list[int]:
        """Which numbers come out: what the same operations make of the plain numbers."""
        return elements_of(self.chosen(hr.Dataset.range(self.length)), limit=ALL)

    def groups(self) -> list[list[int]]:
        """The numbers of each element that is delivered."""
        numbers, size = self.numbers(), self.batch or 1
        return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def choosing() -> st.SearchStrategy[Named]:
    small = st.integers(1, 4)
    return st.one_of(
        st.integers(-1, 9).map(lambda n: (text("take", n), lambda ds: ds.take(n))),
        st.integers(-1, 9).map(lambda n: (text("skip", n), lambda ds: ds.skip(n))),
        st.tuples(small, small).map(
            lambda a: (text("shard", max(a), min(a) - 1), lambda ds: ds.shard(max(a), min(a) - 1))
        ),
        st.tuples(st.sampled_from([1, 2, 5, 50, -2]), st.integers(0, 3)).map(
            lambda a: (text("shuffle", *a), lambda ds: ds.shuffle(a[0], seed=a[1]))
        ),
    )


def between() -> st.SearchStrategy[Named]:
    """What may stand between a source and what chooses."""
    return st.one_of(
        st.integers(0, 3).map(lambda n: (text("repeat", n), lambda ds: ds.repeat(n))),
        st.just(("repeat().take(15)", lambda ds: ds.repeat().take(15))),
        st.integers(0, 3).map(lambda n: (text("prefetch", n), lambda ds: ds.prefetch(n))),
        st.just(("with_options", lambda ds: ds.with_options(OPTIONS))),
    )


def plans() -> st.SearchStrategy[Chosen]:
    return st.builds(
        Chosen,
        length=st.integers(0, 20),
        period=st.integers(2, 7),
        calls=st.sampled_from([None, 1, 2, hr.AUTOTUNE]),
        many=st.booleans(),
        # What stands behind the last that chooses reads all that is left in any case.
        steps=st.tuples(st.lists(st.one_of(choosing(), between()), max_size=4), choosing()).map(
            lambda steps: (*steps[0], steps[1])
        ),
        batch=st.sampled_from([None, 1, 2, 3]),
    )


def assert_as_numbered(plan: Chosen, source: Counting, groups: list[list[int]], delivered: list[Any]) -> None:
    """Fails unless each group of numbers came out as it is, or as the failure of the first of them that fails."""
    assert len(delivered) == len(groups)
    for group, element in zip(groups, delivered, strict=True):
        failing = [number for number in group if source.fails(number)]
        if failing:
            assert isinstance(element, hr.errors.DataError)
            assert element.origin == f"element {failing[0]}"
            assert str(element.stage).startswith("source 'Counting")
        else:
            assert (element if plan.batch is None else element.tolist()) == (
                group[0] ** 2 if plan.batch is None else [number * number for number in group]
            )


@given(plans(), ways())
def test_what_chooses_behind_a_source_chooses_its_numbers(plan: Chosen, way: Way) -> None:
    groups = plan.groups()
    for run in (REFERENCE, way):
        source = plan.source()
        assert_as_numbered(plan, source, groups, elements_of(plan.over(source), run, limit=ALL))


@given(plans())
def test_the_reference_fetches_what_it_delivers_and_no_more(plan: Chosen) -> None:
    source = plan.source()
    elements_of(plan.over(source), limit=ALL)
    assert source.asked == plan.numbers()


@given(plans(), ways())
def test_every_way_of_running_fetches_what_it_delivers_and_no_more(plan: Chosen, way: Way) -> None:
    source = plan.source()
    elements_of(plan.over(source), way, limit=ALL)
    # Where one fails of many that are asked for at once, they are asked for again one by one.
    assert set(source.asked) == set(plan.numbers())
    if not plan.many:
        assert sorted(source.asked) == sorted(plan.numbers())


@given(plans(), ways(), st.sampled_from(["thread", "inline"]))
def test_a_resumed_run_fetches_what_is_left(plan: Chosen, first: Way, executor: str) -> None:
    groups = plan.groups()
    _, states = history(plan.over(plan.source()), first, limit=10)
    for count, state in enumerate(states):
        source = plan.source()
        rest = resumed(plan.over(source), state, Way(hr.Options(executor=executor)), limit=ALL)
        assert_as_numbered(plan, source, groups[count:], rest)
        left = [number for group in groups[count:] for number in group]
        # A block that failed is read again from its beginning, where one fails of many that are asked for at once.
        assert set(source.asked) == set(left)
        if not plan.many:
            assert sorted(source.asked) == sorted(left)


class Identity(Counting):
    """Numbers from a thousand on, or from two thousand on, so that they are known among others."""

    def __init__(self, base: int, length: int, period: int) -> None:
        super().__init__(length, period)
        self.base = base

    def __getitem__(self, number: int) -> int:
        super().__getitem__(number)
        return self.base + number


def leaves_of(element: Any) -> list[int]:
    """The numbers in an element that came from sources."""
    return [leaf for leaf in flatten(element)[0] if leaf >= 1000]


# What puts two datasets of one length together.
TOGETHER: dict[str, Callable[[hr.Dataset, hr.Dataset], hr.Dataset]] = {
    "zip": hr.Dataset.zip,
    "zip of a dict": lambda one, other: hr.Dataset.zip({"x": one.prefetch(1), "y": (other, hr.Dataset.range(50))}),
    "zip of a shuffle": lambda one, other: hr.Dataset.zip(one.shuffle(5, seed=1), other.shuffle(50, seed=1)),
    "zip of repeats": lambda one, other: hr.Dataset.zip(one.repeat(2), other.repeat(2)),
    "concatenate": lambda one, other: one.concatenate(other),
    "concatenate of parts": lambda one, other: one.skip(2).concatenate(other.take(3)).concatenate(one),
    "enumerate": lambda one, _: one.enumerate(3),
    "enumerate of all": lambda one, other: hr.Dataset.zip(one, other).enumerate(3).prefetch(1),
    "crossed": lambda one, other: hr.Dataset.zip(one.concatenate(other), other.concatenate(one)),
}


@given(
    st.sampled_from(sorted(TOGETHER)),
    st.tuples(st.integers(0, 12), st.integers(2, 7), st.sampled_from([None, 2])),
    st.lists(choosing().filter(lambda named: "shuffle" not in named[0]), min_size=1, max_size=3),
    ways(),
)
def test_what_is_put_together_of_sources_is_fetched_in_part(
    together: str, sizes: tuple[int, int, int | None], steps: list[Named], way: Way
) -> None:
    length, period, calls = sizes

    def chosen(one: hr.Dataset, other: hr.Dataset) -> hr.Dataset:
        return functools.reduce(lambda ds, step: step[1](ds), steps, TOGETHER[together](one, other))

    expected = elements_of(
        chosen(hr.Dataset.range(1000, 1000 + length), hr.Dataset.range(2000, 2000 + length)), limit=ALL
    )
    for run in (REFERENCE, way):
        sources = Identity(1000, length, period), Identity(2000, length, period)
        delivered = elements_of(chosen(*(hr.Dataset.source(one, calls) for one in sources)), run, limit=ALL)
        assert len(delivered) == len(expected)
        for wanted, element in zip(expected, delivered, strict=True):
            if any(sources[0].fails(leaf % 1000) for leaf in leaves_of(wanted)):
                assert isinstance(element, hr.errors.DataError)
            else:
                assert same(element, wanted)
        asked = [one.base + number for one in sources for number in one.asked]
        assert sorted(asked) == sorted(leaf for wanted in expected for leaf in leaves_of(wanted))


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("together", TOGETHER)
def test_what_is_put_together_of_sources_is_resumed_anywhere(together: str, calls: int | None) -> None:
    sources = [hr.Dataset.source(Identity(base, 9, 4), calls) for base in (1000, 2000)]
    for chosen in (TOGETHER[together](*sources).shard(2, 1), TOGETHER[together](*sources).skip(3).take(5)):
        check_every_restore_point(chosen, executors=("inline", "thread"))


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_the_ranks_of_a_job_fetch_each_element_once_together(executor: str) -> None:
    source = Counting(800, 1000)
    for rank in range(8):
        numbers = hr.Dataset.source(source).shuffle(800, seed=1).shard(8, rank)
        assert len(list(numbers.with_options(hr.Options(executor=executor)))) == 100
    assert sorted(source.asked) == list(range(800))


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_dataset_that_a_function_makes_fetches_only_its_part(executor: str) -> None:
    source = Counting(100, 1000)
    parts = hr.Dataset.range(2).flat_map(lambda part: hr.Dataset.source(source).shard(10, part))
    assert len(list(parts.with_options(hr.Options(executor=executor)))) == 20
    assert sorted(source.asked) == sorted([*range(0, 100, 10), *range(1, 100, 10)])
