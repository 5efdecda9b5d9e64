"""What a global batch holds does not depend on how many ranks there are, nor on how many there were before."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.laws.jobs import MOST, Given, Job, executors, expected_of, given_by_all, jobs, numbers, shown, steps_of

import headrace as hr

if TYPE_CHECKING:
    from tests.laws.plans import Recipe

pytestmark = pytest.mark.usefixtures("some_orders_are_computed", "few_idle_draws", "few_elements_are_woven_at_once")

# How many steps more may be asked for than streams have elements for: an error stands in the place of each that is missing.
BEYOND: Final = 2
beyond = st.integers(0, BEYOND)


class Saved:
    """The state of a job, merged."""

    def __init__(self, iterators: list[hr.DatasetIterator]) -> None:
        self._state = json.loads(json.dumps(hr.merge_states([iterator.state_dict() for iterator in iterators])))

    @property
    def step(self) -> int:
        return int(self._state["step"])

    def load(self, iterator: hr.DatasetIterator) -> None:
        iterator.load_state_dict(self._state)


class SavedByStreams(Saved):
    """The same in shards, of which each rank reads its own."""

    def __init__(self, iterators: list[hr.DatasetIterator]) -> None:
        self._shards: dict[str, str] = {}
        for iterator in iterators:
            self._shards |= json.loads(json.dumps(hr.ShardedState(iterator).state_dict()))

    @property
    def step(self) -> int:
        (step,) = {json.loads(shard)["step"] for shard in self._shards.values()}
        return int(step)

    def load(self, iterator: hr.DatasetIterator) -> None:
        own = hr.ShardedState(iterator)
        own.load_state_dict({key: self._shards[key] for key in own.state_dict()})


@given(jobs, numbers, executors, st.sampled_from(["drop", "pad", "uneven"]), beyond)
def test_any_number_of_ranks_has_the_same_global_batches(
    job: tuple[Recipe, int], ranks: int, executor: str, end: str, more: int
) -> None:
    recipe, streams = job
    assume(streams % ranks == 0)
    count = steps_of(recipe, streams, end)
    steps = None if end == "uneven" else count + more
    with contextlib.ExitStack() as stack:
        alone, some = (
            Job(recipe, streams, number, steps, how, end=end).iterators(stack)
            for number, how in [(streams, "inline"), (ranks, executor)]
        )
        finest = list(given_by_all(alone, most=MOST + BEYOND, together=end != "uneven"))
        dealt = list(given_by_all(some, most=MOST + BEYOND, together=end != "uneven"))
    assert steps is None or count <= len(finest) <= steps  # what every rank reads whole just ends
    assert [shown(parts) for parts in dealt] == [expected_of(parts, ranks) for parts in finest]


@given(
    jobs,
    st.lists(st.tuples(numbers, executors, st.integers(0, 4)), min_size=1, max_size=3),
    st.sampled_from(["drop", "pad", "uneven"]),
    st.booleans(),
    beyond,
)
def test_a_job_goes_on_with_any_number_of_ranks(
    job: tuple[Recipe, int], turns: list[tuple[int, str, int]], end: str, by_streams: bool, more: int
) -> None:
    recipe, streams = job
    turns = [turn for turn in turns if streams % turn[0] == 0]
    assume(turns)
    count = steps_of(recipe, streams, end)
    steps = None if end == "uneven" else count + more
    at = 0
    with contextlib.ExitStack() as stack:

        def steps_given(iterators: list[hr.DatasetIterator]) -> Iterator[list[Given]]:
            return given_by_all(iterators, most=MOST + BEYOND - at, together=end != "uneven")

        finest = list(steps_given(Job(recipe, streams, streams, steps, "inline", end=end).iterators(stack)))
        state: Saved | None = None
        for number, (ranks, executor, count) in enumerate(turns):
            iterators = Job(
                recipe, streams, ranks, steps, executor, seed=7 if state is None else None, end=end
            ).iterators(stack)
            for iterator in iterators:
                if state is not None:
                    state.load(iterator)
            is_last = number == len(turns) - 1
            given = steps_given(iterators)
            for parts in given if is_last else _some(given, count):
                assert shown(parts) == expected_of(finest[at], ranks)
                at += 1
                is_last |= by_streams and None in parts  # in an uneven end some ranks have more steps than others
            if is_last:
                for parts in given:
                    assert shown(parts) == expected_of(finest[at], ranks)
                    at += 1
                break
            state = (SavedByStreams if by_streams else Saved)(iterators)
            assert state.step == at
        assert at == len(finest)


def _some(parts: Iterator[list[Given]], count: int) -> Iterator[list[Given]]:
    for _, part in zip(range(count), parts, strict=False):
        yield part
