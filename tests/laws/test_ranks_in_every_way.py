"""The law of ranks for what a job does beside reading: elements of any structure, operations behind, states in odd moments.

Each plan is compared with the same plan as so many ranks as it has streams, one by one and unoptimised.
"""

from __future__ import annotations

import contextlib
import functools
import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.laws.jobs import (
    BATCH,
    STREAMS,
    Given,
    Job,
    described,
    executors,
    expected_of,
    given_by_all,
    jobs,
    numbers,
    shown,
    step_of,
    steps_of,
)
from tests.laws.plans import Recipe, unordered_recipes

import headrace as hr
from headrace.elements.structure import flatten

if TYPE_CHECKING:
    from tests.laws.elements import Named

pytestmark = pytest.mark.usefixtures("few_idle_draws")

# So many steps are compared at most.
MOST: Final = 8


def same(*parts: Any) -> Any:
    return parts if len(parts) > 1 else parts[0]


def with_step(step: int, batch: Any) -> dict[str, Any]:
    return {"batch": batch, "step": np.full(len(flatten(batch)[0][0]), step)}


# What may stand behind: whatever fails comes through all of these.
BEHIND: Final[list[Named]] = [
    ("map", lambda ds: ds.map(same)),
    ("parallel map", lambda ds: ds.map(same, num_parallel_calls=2)),
    ("unordered map", lambda ds: ds.map(same, num_parallel_calls=2, deterministic=False)),
    ("prefetch", lambda ds: ds.prefetch(2)),
    ("filter", lambda ds: ds.filter(lambda *_: True)),
    ("repeat", lambda ds: ds.repeat(2)),
    ("with_options", lambda ds: ds.with_options(hr.Options(deterministic=False))),
]
# What counts batches, and none that failed: where one rank has a failure it is elsewhere than the others.
COUNTING: Final[list[Named]] = [
    ("take(3)", lambda ds: ds.take(3)),
    ("skip(1)", lambda ds: ds.skip(1)),
    ("enumerate", lambda ds: ds.enumerate().map(with_step)),
]


def nested(*element: Any) -> dict[str, Any]:
    """Returns what tells an element, in every kind of column."""
    text = described(*element)
    return {"text": text, "sizes": (len(text), np.arange(3) + len(text)), "nothing": (), "is_long": len(text) > 9}


nested_job = functools.partial(Job, seen=nested)


def given_by(iterators: list[hr.DatasetIterator], steps: int = MOST) -> list[list[Given]]:
    """Returns what all ranks give in some steps, or until all have ended."""
    return list(given_by_all(iterators, most=steps, together=False))


def fitting(streams: int, ranks: int) -> int:
    """Returns a number of ranks that divides the streams: that one, or the next below."""
    return max(number for number in STREAMS if number <= ranks and streams % number == 0)


def loaded(iterators: list[hr.DatasetIterator], state: dict[str, Any], times: int) -> None:
    """Loads a state into all, more than once with something read in between."""
    for iterator in iterators:
        for time in range(times):
            if time:
                step_of(iterator)
            iterator.load_state_dict(state)


@given(
    jobs,
    st.lists(st.sampled_from(BEHIND + COUNTING), max_size=2).map(tuple),
    st.tuples(numbers, executors),
    st.tuples(numbers, executors),
    st.tuples(st.integers(0, MOST), st.integers(1, 3), st.integers(0, 1)),
    st.sampled_from(["drop", "pad"]),
)
def test_what_stands_behind_goes_on_with_any_number_of_ranks(
    job: tuple[Recipe, int],
    behind: tuple[Named, ...],
    before: tuple[int, str],
    after: tuple[int, str],
    when: tuple[int, int, int],
    end: str,
) -> None:
    recipe, streams = job
    stop, times, epoch = when
    before, after = (fitting(streams, before[0]), before[1]), (fitting(streams, after[0]), after[1])
    steps = steps_of(recipe, streams, end)
    with contextlib.ExitStack() as stack:

        def run(ranks: int, executor: str, seed: int | None = 7) -> list[hr.DatasetIterator]:
            job = nested_job(
                recipe, streams, ranks, steps, executor, seed, end, behind=behind, epoch=epoch if seed else 0
            )
            return job.iterators(stack)

        finest = given_by(run(streams, "inline"))
        has_failures = any(isinstance(part, str) for parts in finest for part in parts)
        assume(not (has_failures and set(behind) & set(COUNTING)))
        first = run(*before)
        assert [shown(parts) for parts in given_by(first, stop)] == [
            expected_of(parts, before[0]) for parts in finest[:stop]
        ]
        state = json.loads(json.dumps(hr.merge_states([iterator.state_dict() for iterator in first])))
        second = run(*after, None)
        loaded(second, state, times)
        expected = [expected_of(parts, after[0]) for parts in finest[stop:]]
        assert [shown(parts) for parts in given_by(second, len(expected))] == expected


@given(
    jobs,
    numbers,
    numbers,
    st.lists(st.tuples(st.integers(0, 6), executors), min_size=1, max_size=4),
    st.sampled_from(["drop", "pad", "uneven"]),
    st.integers(1, 3),
)
def test_ranks_that_are_steps_apart_go_on_from_the_lowest(
    job: tuple[Recipe, int], before: int, after: int, at: list[tuple[int, str]], end: str, turns: int
) -> None:
    recipe, streams = job
    before, after = fitting(streams, before), fitting(streams, after)
    known = steps_of(recipe, streams, end)
    steps = None if end == "uneven" else known
    # Ranks with an uneven end would begin the next turn after different steps.
    behind: tuple[Named, ...] = () if end == "uneven" else (("repeat", lambda ds: ds.repeat(turns)),)
    with contextlib.ExitStack() as stack:

        def run(ranks: int, executor: str, seed: int | None = 7) -> list[hr.DatasetIterator]:
            job = nested_job(recipe, streams, ranks, steps, executor, seed, end=end, behind=behind)
            return job.iterators(stack)

        finest = given_by(run(streams, "inline"))
        under_way, states = [], []
        for rank in range(before):
            count, executor = at[rank % len(at)]
            iterator = run(before, executor)[rank]
            if len(given_by([iterator], count)) == count:
                under_way.append(count)
            states.append(iterator.state_dict())
        state = json.loads(json.dumps(hr.merge_states(states, align=True)))
        lowest = min(under_way, default=len(finest))
        second = run(after, "thread", None)
        loaded(second, state, 1)
        expected = [expected_of(parts, after) for parts in finest[lowest:]]
        assert [shown(parts) for parts in given_by(second, len(expected))] == expected


@given(unordered_recipes(), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.integers(0, 3))
def test_elements_in_any_order_are_all_there_on_any_number_of_ranks(
    recipe: Recipe, before: int, after: int, stop: int
) -> None:
    steps = steps_of(recipe, 4, "pad")
    with contextlib.ExitStack() as stack:

        def run(ranks: int, executor: str) -> list[hr.DatasetIterator]:
            return nested_job(recipe, 4, ranks, steps, executor, end="pad").iterators(stack)

        whole = real_rows(given_by(run(1, "inline"), steps))
        first = run(before, "thread")
        given = given_by(first, stop)
        second = run(after, "thread")
        loaded(second, json.loads(json.dumps(hr.merge_states([iterator.state_dict() for iterator in first]))), 1)
        assert real_rows(given + given_by(second, steps)) == whole


def real_rows(given: list[list[Given]]) -> list[str]:
    """Returns all rows of all ranks that are not filled in; a plan in which something failed is not looked at."""
    parts = [part for parts in given for part in parts if part is not None]
    assume(not any(isinstance(part, str) for part in parts))
    return sorted(row for part in parts for row in part if row.endswith("np.True_)"))


@given(st.integers(0, 2), st.integers(0, BATCH - 1), numbers, executors, st.integers(0, 1))
def test_an_uneven_end_is_the_end_on_any_number_of_ranks(
    full: int, rest: int, ranks: int, executor: str, beyond: int
) -> None:
    count = full * BATCH + rest
    whole = hr.Dataset.range(count).map(lambda x: x + 1).distributed_batch(BATCH, num_streams=12, end="uneven")

    def run(ranks: int) -> list[hr.DatasetIterator]:
        options = [hr.Options(rank=rank, world_size=ranks, executor=executor) for rank in range(ranks)]
        return [stack.enter_context(iter(whole.with_options(one))) for one in options]

    with contextlib.ExitStack() as stack:
        first = run(ranks)
        given = given_by(first, full + beyond)
        (second,) = run(1)
        second.load_state_dict(hr.merge_states([iterator.state_dict() for iterator in first]))
        rows = [
            row for parts in [*given, *given_by([second])] for part in parts if isinstance(part, list) for row in part
        ]
        assert sorted(rows) == sorted(str((np.int64(number),)) for number in range(1, count + 1))
