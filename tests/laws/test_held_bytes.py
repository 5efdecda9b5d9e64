"""Law 4, in bytes: one account knows what is held; within any budget a run gives its elements or says what holds too much."""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.plans import Recipe, recipes
from tests.laws.running import AlwaysAhead, Beside, Way, assert_same, elements_of, in_blocks_of, policy_of
from tests.laws.test_bounded import LIMIT_S, at_rest

import headrace as hr
from headrace.engine import choosing
from headrace.iterator import DatasetIterator
from headrace.machine import Share
from headrace.observe.meter import Meter
from headrace.physical.budget import Ahead, Budget
from headrace.physical.run_policy import RunPolicy
from headrace.semantics.held_bytes import Holding
from headrace.testing.restoring import delivered

pytestmark = pytest.mark.usefixtures("what_is_left_is_told_however_slight")
LIMIT = 60


class NotedAhead(Ahead):
    """Notes what it holds when it is let go."""

    __slots__ = ()

    def release(self) -> None:
        assert isinstance(self._budget, Watched)
        self._budget.left_bytes += self.nbytes
        super().release()


class Watched(Budget):
    """A budget that is never told of less than nothing, and knows what was let go with something in it."""

    made: list[Watched]

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.lowest = self.left_bytes = 0
        self.made.append(self)

    def ahead(self, meter: Meter | None = None) -> Ahead:
        """Makes one that notes what it holds at its end."""
        ahead = NotedAhead(self, meter)
        self._readers[id(ahead)] = ahead
        return ahead

    def change(self, holding: Holding, nbytes: int) -> None:
        """Notes the least that anybody holds."""
        super().change(holding, nbytes)
        self.lowest = min(self.lowest, holding.nbytes, self.held_bytes)

    def change_ahead(self, ahead: Any, nbytes: int) -> None:
        """Notes the least that was read ahead."""
        super().change_ahead(ahead, nbytes)
        self.lowest = min(self.lowest, self.ahead_bytes)


def watched() -> type[Watched]:
    class Ones(Watched):
        made: list[Watched] = []  # noqa: RUF012 - of this class alone

    return Ones


def given_within(dataset: hr.Dataset, options: hr.Options, policy: RunPolicy) -> tuple[list[Any], bool]:
    """What a run gives, and whether it was refused more."""
    elements: list[Any] = []
    plan = dataset.with_options(options).__headrace_plan__()
    with DatasetIterator(plan, policy=policy) as iterator:
        for element in delivered(iterator, LIMIT):
            if isinstance(element, hr.errors.ResourceExhaustedError):
                assert "more than the ram_budget of" in str(element)
                return elements, True
            elements.append(element)
    return elements, False


BUDGETS = st.sampled_from([1, 40, 300, 3_000, 100_000])
SIZES = st.one_of(st.none(), st.lists(st.sampled_from([1, 2, 7, 1000]), min_size=1, max_size=2).map(tuple))


@given(recipes(), BUDGETS, SIZES, st.sampled_from(["thread", "thread", "inline"]), st.sampled_from([2, 5]))
def test_within_any_budget_a_run_gives_what_the_reference_gives_or_says_what_holds_too_much(
    recipe: Recipe, budget: int, sizes: tuple[int, ...] | None, executor: str, workers: int
) -> None:
    options = hr.Options(seed=7, ram_budget=budget, executor=executor, num_workers=workers)
    way = Way(options, block_sizes=sizes, overlap=AlwaysAhead, concurrency=Beside)
    kind = watched()
    elements, refused = given_within(recipe.build(), options, dataclasses.replace(policy_of(way), budget=kind))
    expected = elements_of(recipe.build(), limit=LIMIT)
    assert_same(expected[: len(elements)] if refused else expected, elements)
    for one in kind.made:
        assert one.lowest == 0
        assert one.all_bytes == 0, "who held something is gone, and what it held still counts"
        assert not list(one._holders()), "what holds nothing any more has still its part"


ELEMENT_BYTES = 80_000


def heavy(x: int) -> np.ndarray:
    return np.full(ELEMENT_BYTES // 8, x)


def rows() -> Iterator[tuple[int, np.ndarray]]:
    for number in range(150):
        yield number, heavy(number)


ROWS = hr.Dataset.from_generator(rows)
NUMBERS = hr.Dataset.range(150)
# Who holds elements, and how many of them, at least, when nothing more is read.
HOLDERS: dict[str, tuple[hr.Dataset, int]] = {
    "prefetch": (ROWS.prefetch(10), 10),
    "prefetch of as many as there is room for": (ROWS.prefetch(1_000_000), 30),
    "map": (NUMBERS.map(heavy, num_parallel_calls=3).prefetch(5), 5),
    "interleave": (
        NUMBERS.interleave(lambda _: hr.Dataset.range(9).map(heavy), cycle_length=2, num_parallel_calls=2).prefetch(5),
        5,
    ),
    "batch in workers": (ROWS.batch(4, num_parallel_calls=2).prefetch(2), 8),
    "shuffle": (ROWS.shuffle(12), 11),
    "cache": (ROWS.take(20).cache().prefetch(20), 20),
    "group_by_window": (ROWS.group_by_window(lambda number, _: number % 5, lambda _, group: group.batch(3), 3), 4),
    "window": (ROWS.window(6, shift=1).map(lambda numbers, _: numbers), 5),
    "zip": (hr.Dataset.zip(ROWS, ROWS.prefetch(8)), 8),
    "sample_from_datasets": (hr.Dataset.sample_from_datasets([ROWS, ROWS.prefetch(8)], seed=1), 8),
}


def assert_told_alike(iterator: hr.DatasetIterator) -> None:
    """Asserts that all stages together hold what the run does, once workers have nothing to do."""
    end_s = time.monotonic() + LIMIT_S
    while True:
        stats = iterator.stats()
        if stats.held_bytes == sum(stage.held_bytes for stage in stats.stages):
            return
        assert time.monotonic() < end_s, stats
        threading.Event().wait(0.001)


@pytest.mark.parametrize("holder", sorted(HOLDERS))
def test_what_is_held_is_told_and_within_the_budget(holder: str) -> None:
    dataset, least = HOLDERS[holder]
    budget, kind = 50 * ELEMENT_BYTES, watched()
    plan = dataset.with_options(hr.Options(ram_budget=budget)).__headrace_plan__()
    assert len(list(dataset.take(1))) == 1  # what a first run imports is not what it holds
    tracemalloc.start()
    try:
        with DatasetIterator(plan, policy=RunPolicy(budget=kind, overlap=lambda _: AlwaysAhead())) as iterator:
            for _ in itertools.islice(iterator, 40):
                at_rest(iterator)
            assert_told_alike(iterator)
            for _ in iterator:  # to the end
                pass
            stats = iterator.stats()
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (least - 1) * ELEMENT_BYTES <= stats.highest_held_bytes <= 1.25 * budget
    # What is in the hands of up to six stages is beside the budget: a block of an eighth of it each, or an element.
    assert peak <= min(budget, stats.highest_held_bytes) + 6 * budget / 8
    assert stats.held_bytes == sum(one.left_bytes for one in kind.made) == 0


@pytest.mark.parametrize(("executor", "budget"), [("subprocess", 20 * ELEMENT_BYTES), ("process", 1)])
def test_processes_keep_within_the_budget_too(executor: str, budget: int) -> None:
    dataset = hr.Dataset.range(60).map(heavy, num_parallel_calls=2).batch(3).prefetch(1_000_000)
    with iter(dataset.with_options(hr.Options(ram_budget=budget, executor=executor))) as iterator:
        assert [int(batch[0, 0]) for batch in iterator] == list(range(0, 60, 3))
        highest = iterator.stats().highest_held_bytes
    # A batch is an element, of which the few that are on their way pass however small the budget is, with as many free places.
    assert 0 < highest <= budget + 10 * 3 * ELEMENT_BYTES


def test_what_is_left_of_a_piece_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("".join(f"{number:099}\n" for number in range(1_000)))
    lines = hr.TextLineDataset(tmp_path / "lines.txt")
    with in_blocks_of([10], lines) as iterator:
        next(iterator)
        assert iterator.stats().held_bytes >= 50_000
    with in_blocks_of([10], lines) as iterator:
        assert sum(1 for _ in iterator) == 1_000
        assert iterator.stats().held_bytes == 0


def test_a_batch_of_more_than_the_process_may_take_is_an_error() -> None:
    share = Share(cores=1, memory_bytes=30 * ELEMENT_BYTES)
    dataset = ROWS.prefetch(2).batch(100).with_options(hr.Options(ram_budget=1_000))
    with (
        mock.patch.object(choosing, "current_share", return_value=share),
        in_blocks_of(None, dataset, overlap=AlwaysAhead) as iterator,
    ):
        expected = r"batch: the \d+ elements that it holds so far have .* more than what the process may take, 2.4 MB"
        with pytest.raises(hr.errors.ResourceExhaustedError, match=expected):
            next(iterator)


def test_each_stream_of_a_rank_has_its_part_of_what_reads_ahead() -> None:
    budget, meter = Budget(1_000), Meter("map")
    readers = [budget.ahead(meter) for _ in range(4)]
    assert [reader.share_bytes for reader in readers] == [250] * 4
    readers[0].add(100)
    readers[1].set(250)
    assert readers[1].is_full
    assert (budget.all_bytes, budget.held_for()) == (350, {id(meter): 350})
    readers[0].release()
    assert (budget.all_bytes, budget.highest_bytes, readers[1].share_bytes) == (250, 350, 333)
