"""A cache is empty or whole, whenever a run over it was closed."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.plans import Recipe, recipes
from tests.laws.running import LIMIT, REFERENCE, AlwaysAhead, Way, elements_of, in_blocks_of, running, ways
from tests.laws.test_bounded import stages_of

import headrace as hr
from headrace.backends.thread import WorkerPool
from headrace.engine import Run
from headrace.errors import HeadraceError
from headrace.physical.workers.prefetch import PrefetchStage
from headrace.testing.restoring import delivered, same

LIMIT_S = 30.0
TWENTY = hr.Dataset.range(20)

Slow = Callable[[int], int]

# Each waits, in a thread of its own or in a worker, for a function of the user's.
WAITING: dict[str, Callable[[Slow], hr.Dataset]] = {
    "prefetch": lambda slow: TWENTY.map(slow).prefetch(2),
    "a long prefetch": lambda slow: TWENTY.map(slow).prefetch(50),
    "two prefetches": lambda slow: TWENTY.map(slow).prefetch(1).filter(lambda x: x >= 0).prefetch(1),
    "parallel map": lambda slow: TWENTY.map(slow, num_parallel_calls=2),
    "unordered map": lambda slow: TWENTY.map(slow, num_parallel_calls=2, deterministic=False),
    "interleave": lambda slow: hr.Dataset.range(4).interleave(
        lambda part: hr.Dataset.range(part * 5, part * 5 + 5).map(slow), cycle_length=2, num_parallel_calls=2
    ),
    "prefetch inside": lambda slow: hr.Dataset.range(4).flat_map(
        lambda part: hr.Dataset.range(part * 5, part * 5 + 5).map(slow).prefetch(1)
    ),
    "zip": lambda slow: hr.Dataset.zip((TWENTY.map(slow).prefetch(1), TWENTY)).map(lambda x, _: x),
    "shuffle": lambda slow: TWENTY.map(slow).prefetch(1).shuffle(3, seed=1),
    "groups": lambda slow: (
        TWENTY.map(slow).prefetch(1).group_by_window(lambda x: x % 2, lambda _, group: group, window_size=3)
    ),
}


def until_somebody_waits_for_it(iterator: hr.DatasetIterator) -> None:
    """Comes back when a thread waits for what a prefetch makes, or soon: the law holds either way."""
    run = iterator._run
    assert isinstance(run, Run)
    assert run._root is not None
    ahead = [stage for stage in stages_of(run._root) if isinstance(stage, PrefetchStage)]
    end_s = time.monotonic() + 0.05
    while time.monotonic() < end_s:
        drivers = [stage._driver for stage in ahead if stage._driver is not None]
        if any(driver._channel.snapshot().consumers_waiting for driver in drivers):
            return
        threading.Event().wait(0.0002)


@pytest.mark.parametrize("plan", sorted(WAITING))
@pytest.mark.parametrize("place", ["memory", "disk"])
def test_closing_while_a_stage_above_waits_keeps_nothing_or_all(plan: str, place: str, tmp_path: Path) -> None:
    waits, go = threading.Event(), threading.Event()

    def slow(x: int) -> int:
        if x == 5:
            waits.set()
            assert go.wait(LIMIT_S)
        return x

    stop = WorkerPool.stop

    def stopped(pool: WorkerPool) -> None:
        stop(pool)
        go.set()  # every stage has been told by now

    made = WAITING[plan](slow)
    kept = made.cache() if place == "memory" else made.cache(tmp_path / "cache", key=plan)
    iterator = in_blocks_of(None, kept.map(lambda x: x, num_parallel_calls=1), overlap=AlwaysAhead)
    with mock.patch.object(WorkerPool, "stop", stopped):
        assert next(iterator) in range(5)
        assert waits.wait(LIMIT_S)
        until_somebody_waits_for_it(iterator)
        iterator.close()
    assert sorted(kept) == list(range(20))


@given(recipes(), ways(), st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_however_many_elements_were_taken_of_the_runs_before(recipe: Recipe, way: Way, counts: list[int]) -> None:
    dataset = recipe.build().cache()
    for count in counts:
        with running(dataset.map(same_again, num_parallel_calls=1), way) as iterator:
            list(delivered(iterator, count))
    came = elements_of(dataset, way, limit=LIMIT)
    assert any(alike(came, epoch) for epoch in epochs_of(recipe, len(counts) + 1))


@given(st.integers(0, 20), st.integers(0, 2), st.integers(0, 2), ways() | st.just(REFERENCE))
def test_zipped_with_inputs_of_its_length_it_is_whole_after_an_epoch(
    count: int, before: int, after: int, way: Way
) -> None:
    calls = []

    def noted(x: int) -> bool:
        calls.append(x)
        return True

    beside, way = hr.Dataset.range(count), dataclasses.replace(way, jumps=None)
    kept = beside.filter(noted).cache()  # only its end tells how long it is
    zipped = hr.Dataset.zip((*[beside] * before, kept, *[beside] * after))
    first = elements_of(zipped, way)
    assert len(first) == count
    assert sorted(calls) == [*range(count)]
    assert elements_of(zipped, way) == first
    assert len(calls) == count


def epochs_of(recipe: Recipe, count: int) -> Iterator[list[Any]]:
    """Every epoch that may be kept, or read last: any, and whichever of those before it filled the caches inside."""
    for first in range(count):
        plain = recipe.build()
        for _ in range(first):
            with running(plain, REFERENCE):
                pass  # an epoch in which nothing is read
        yield from (elements_of(plain) for _ in range(first, count))


def same_again(*element: object) -> object:
    return element[0] if len(element) == 1 else element


def alike(came: list[Any], epoch: list[Any]) -> bool:
    """Whether they are the same; of a failure only the kind counts, which a cache may tell in other words."""
    kinds = [[type(one) if isinstance(one, HeadraceError) else one for one in elements] for elements in (came, epoch)]
    return len(came) == len(epoch) and all(map(same, *kinds))
