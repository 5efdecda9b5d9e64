"""Ranks that tell each other before each step whether they have it end where one alone would end, whatever the plan."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.laws.jobs import (
    MOST,
    Given,
    Job,
    executors,
    expected_of,
    given_by_all,
    jobs,
    numbers,
    shown,
    step_of,
    steps_of,
)

import headrace as hr

if TYPE_CHECKING:
    from tests.laws.plans import Recipe

pytestmark = pytest.mark.usefixtures("few_idle_draws")

WAIT_S: Final = 60.0
ends = st.sampled_from(["drop", "pad"])


class Group:
    """Ranks in threads, which tell each other the largest of their numbers."""

    def __init__(self, ranks: int) -> None:
        self._numbers: list[int] = []
        self._largest = 0
        self._barrier = threading.Barrier(ranks, action=self._decide, timeout=WAIT_S)

    def _decide(self) -> None:
        self._largest, self._numbers = max(self._numbers), []

    def __call__(self, number: int) -> int:
        self._numbers.append(number)
        self._barrier.wait()  # nobody comes to the next before all have read this one
        return self._largest


def steps_together(iterators: list[hr.DatasetIterator], most: int) -> list[list[Given]]:
    """Returns what all ranks give, step by step, at most so many; each rank has a thread."""

    def steps(iterator: hr.DatasetIterator) -> list[Given]:
        given: list[Given] = []
        while len(given) < most and (step := step_of(iterator)) is not None:
            given.append(step)
        return given

    with ThreadPoolExecutor(len(iterators)) as pool:
        ranks = list(pool.map(steps, iterators, timeout=WAIT_S))
    return [list(parts) for parts in zip(*ranks, strict=True)]  # strict: all end after the same


@contextlib.contextmanager
def job_of(
    recipe: Recipe, streams: int, ranks: int, executor: str, end: str, state: dict[str, Any] | None = None
) -> Iterator[list[hr.DatasetIterator]]:
    seed = 7 if state is None else None
    with contextlib.ExitStack() as stack:
        job = Job(recipe, streams, ranks, None, executor, seed=seed, end=end, group=Group(ranks))
        iterators = job.iterators(stack)
        for iterator in iterators:
            if state is not None:
                iterator.load_state_dict(state)
        yield iterators


def expected(recipe: Recipe, streams: int, end: str) -> list[list[Given]]:
    """Returns what each stream gives of each step."""
    steps = steps_of(recipe, streams, end)
    with contextlib.ExitStack() as stack:
        return list(given_by_all(Job(recipe, streams, streams, steps, "inline", end=end).iterators(stack)))


@given(jobs, st.lists(st.tuples(numbers, executors, st.integers(0, 3)), min_size=1, max_size=3), ends)
def test_ranks_end_together_where_one_alone_would_and_go_on_with_any_number(
    job: tuple[Recipe, int], turns: list[tuple[int, str, int]], end: str
) -> None:
    recipe, streams = job
    turns = [turn for turn in turns if streams % turn[0] == 0]
    assume(turns)
    finest = expected(recipe, streams, end)
    state: dict[str, Any] | None = None
    at = 0
    for number, (ranks, executor, count) in enumerate(turns):
        is_last = number == len(turns) - 1
        with job_of(recipe, streams, ranks, executor, end, state) as iterators:
            given = steps_together(iterators, MOST - at if is_last else min(count, MOST - at))
            assert [shown(parts) for parts in given] == [
                expected_of(parts, ranks) for parts in finest[at:][: len(given)]
            ]
            at += len(given)
            # Also where a rank has read a batch that was dropped, because another had none.
            state = json.loads(json.dumps(hr.merge_states([iterator.state_dict() for iterator in iterators])))
            assert state is not None
            assert state["step"] == at
    assert at == len(finest)
