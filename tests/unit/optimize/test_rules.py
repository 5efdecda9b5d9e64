"""Every rule: what it makes of a plan, as printed, and that it gives back the very same plan where nothing applies."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.plans import Recipe, recipes
from tests.laws.running import Restless, Way, assert_same, elements_of, history, resumed

import headrace as hr
from headrace.optimize.add_final_prefetch import add_final_prefetch
from headrace.optimize.fuse_parallel_maps import fuse_parallel_maps
from headrace.optimize.fuse_prefetches import fuse_prefetches
from headrace.optimize.prefetch_after_repeat import prefetch_after_repeat
from headrace.optimize.rules import RULES, optimized
from headrace.optimize.shuffle_before_map import shuffle_before_map
from headrace.optimize.stack_columns_here import stack_columns_here
from headrace.optimize.stack_in_map import stack_in_map
from headrace.plan.explain import explain_plan
from headrace.plan.node import Node

data = hr.Dataset
TEN = data.range(10)


def first(x: int) -> int:
    return x


def second(x: int) -> int:
    return x


def printed(plan: Node) -> str:
    """The plan without the lines on which functions stand."""
    return re.sub(r" \(\w+\.py:\d+\)", "", explain_plan(plan))


def assert_becomes(rule: Callable[[Node], Node], dataset: hr.Dataset, expected: str) -> None:
    assert printed(rule(dataset.__headrace_plan__())) == textwrap.dedent(expected).strip()


def assert_stays(rule: Callable[[Node], Node], dataset: hr.Dataset) -> None:
    plan = dataset.__headrace_plan__()
    assert rule(plan) is plan


# ------------------------------------------------------------------------- shuffle_before_map


def test_a_shuffle_goes_above_the_maps_that_it_reads() -> None:
    assert_becomes(
        shuffle_before_map,
        TEN.map(first).map(second).shuffle(5, seed=1).batch(2),
        """
        batch [batch_size=2, drop_remainder=False]
          map 'second'
            map 'first'
              shuffle [buffer_size=5, seed=1, reshuffle_each_iteration=True]
                range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


def test_a_map_that_a_shuffle_reads_stays_in_order() -> None:
    assert_becomes(
        shuffle_before_map,
        TEN.map(first, num_parallel_calls=2, deterministic=False).shuffle(5, seed=1),
        """
        map 'first' [num_parallel_calls=2, deterministic=True]
          shuffle [buffer_size=5, seed=1, reshuffle_each_iteration=True]
            range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


def test_several_shuffles_go_above_one_map() -> None:
    assert_becomes(
        shuffle_before_map,
        TEN.map(first).shuffle(2, seed=1).shuffle(3, seed=2),
        """
        map 'first'
          shuffle [buffer_size=3, seed=2, reshuffle_each_iteration=True]
            shuffle [buffer_size=2, seed=1, reshuffle_each_iteration=True]
              range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(TEN, id="a source"),
        pytest.param(TEN.shuffle(3).map(first), id="a map behind"),
        pytest.param(TEN.map(first).filter(bool).shuffle(3), id="a filter between"),
        pytest.param(TEN.map(first).batch(2).shuffle(3), id="a batch between"),
        pytest.param(TEN.map(first).prefetch(2).shuffle(3), id="a prefetch between"),
        pytest.param(TEN.map(first).take(3).shuffle(3), id="a take between"),
    ],
)
def test_a_shuffle_that_reads_no_map_stays(dataset: hr.Dataset) -> None:
    assert_stays(shuffle_before_map, dataset)


# ------------------------------------------------------------------------- fuse_parallel_maps


def test_parallel_maps_in_a_row_become_one() -> None:
    parallel = TEN.map(first, num_parallel_calls=2).map(second, num_parallel_calls=2).map(first, num_parallel_calls=2)
    assert_becomes(
        fuse_parallel_maps,
        data.zip(parallel, TEN),
        """
        zip [structure=(0, 1)]
          map 'first' + map 'second' + map 'first' [num_parallel_calls=2]
            range [start=0, stop=10, step=1, dtype=int64]
          range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(TEN.map(first, num_parallel_calls=2), id="one"),
        pytest.param(TEN.map(first).map(second), id="serial ones"),
        pytest.param(TEN.map(first).map(second, num_parallel_calls=2), id="a serial one first"),
        pytest.param(TEN.map(first, num_parallel_calls=2).map(second), id="a serial one last"),
        pytest.param(
            TEN.map(first, num_parallel_calls=2).map(second, num_parallel_calls=3), id="unlike numbers of calls"
        ),
        pytest.param(
            TEN.map(first, num_parallel_calls=2).map(second, num_parallel_calls=2, deterministic=False),
            id="unlike orders",
        ),
        pytest.param(
            TEN.map(first, num_parallel_calls=2).batch(2).map(second, num_parallel_calls=2), id="a batch between"
        ),
    ],
)
def test_maps_that_are_called_in_other_ways_stay_apart(dataset: hr.Dataset) -> None:
    assert_stays(fuse_parallel_maps, dataset)


# ------------------------------------------------------------------------- stack_in_map


def test_a_parallel_map_is_told_the_size_of_the_batches_directly_behind_it() -> None:
    assert_becomes(
        stack_in_map,
        TEN.map(first, num_parallel_calls=2).batch(3),
        """
        batch [batch_size=3, drop_remainder=False]
          map 'first' [num_parallel_calls=2, stacked=3]
            range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


def test_maps_that_are_not_batched_one_for_one_in_order_are_not_told() -> None:
    assert_stays(stack_in_map, TEN.map(first).batch(3))
    assert_stays(stack_in_map, TEN.map(first, num_parallel_calls=2, deterministic=False).batch(3))
    assert_stays(stack_in_map, TEN.map(first, num_parallel_calls=2, on_error="skip").batch(3))
    assert_stays(stack_in_map, TEN.map(first, num_parallel_calls=2).padded_batch(3))
    assert_stays(stack_in_map, TEN.map(first, num_parallel_calls=2).take(7).batch(3))


# ------------------------------------------------------------------------- prefetch_after_repeat


def test_a_prefetch_goes_after_all_repeats_that_follow_it() -> None:
    assert_becomes(
        prefetch_after_repeat,
        TEN.prefetch(1).prefetch(2).repeat(3).repeat(2).batch(2),
        """
        batch [batch_size=2, drop_remainder=False]
          prefetch [buffer_size=2]
            prefetch [buffer_size=1]
              repeat [count=2]
                repeat [count=3]
                  range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


def test_a_prefetch_that_is_not_repeated_itself_stays() -> None:
    assert_stays(prefetch_after_repeat, TEN.prefetch(1).map(first).repeat(3).prefetch(2))


# ------------------------------------------------------------------------- fuse_prefetches


def test_prefetches_in_a_row_become_one_with_room_for_what_each_asked_for() -> None:
    assert_becomes(
        fuse_prefetches,
        TEN.prefetch(1).prefetch(0).prefetch(2).batch(2).prefetch(3).prefetch(hr.AUTOTUNE),
        """
        prefetch [buffer_size=AUTOTUNE]
          batch [batch_size=2, drop_remainder=False]
            prefetch [buffer_size=3]
              range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


def test_a_prefetch_with_a_name_keeps_its_statistics() -> None:
    assert_stays(fuse_prefetches, TEN.prefetch(1, name="of the disk").prefetch(1))


# ------------------------------------------------------------------------- add_final_prefetch


def test_parallel_work_ends_in_a_prefetch() -> None:
    assert_becomes(
        add_final_prefetch,
        TEN.interleave(lambda x: TEN, num_parallel_calls=2).batch(2),
        """
        prefetch [buffer_size=AUTOTUNE]
          batch [batch_size=2, drop_remainder=False]
            interleave '<lambda>' [cycle_length=4, block_length=1, num_parallel_calls=2]
              range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(TEN.map(first).shuffle(2).batch(2), id="no parallel work"),
        pytest.param(TEN.map(first, num_parallel_calls=2).prefetch(1), id="a prefetch at the end"),
        pytest.param(
            TEN.map(first, num_parallel_calls=2).prefetch(1).with_options(hr.Options()), id="a prefetch before options"
        ),
    ],
)
def test_no_second_prefetch_is_added(dataset: hr.Dataset) -> None:
    assert_stays(add_final_prefetch, dataset)


# ------------------------------------------------------------------------- stack_columns_here

PAIRS = data.from_tensor_slices((np.zeros((6, 2)), np.zeros(6)))
A = hr.AUTOTUNE


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda: TEN, id="range"),
        pytest.param(lambda: PAIRS.skip(1).take(4).repeat(2).concatenate(PAIRS), id="parts of arrays"),
        pytest.param(lambda: hr.CsvDataset("no.csv", [np.float32, np.int64]), id="columns of files"),
        pytest.param(lambda: hr.TextLineDataset("no.txt").prefetch(2), id="lines"),
    ],
)
def test_a_batch_of_columns_as_they_lie_has_no_workers(read: Callable[[], hr.Dataset]) -> None:
    batched = read().batch(2, num_parallel_calls=A).__headrace_plan__()
    assert printed(stack_columns_here(batched)) == printed(read().batch(2).__headrace_plan__())


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(TEN.batch(2, num_parallel_calls=2), id="workers that were asked for"),
        pytest.param(TEN.map(first).batch(2, num_parallel_calls=A), id="a map"),
        pytest.param(PAIRS.shuffle(3).batch(2, num_parallel_calls=A), id="a shuffle"),
        pytest.param(PAIRS.shard(2, 0).batch(2, num_parallel_calls=A), id="a shard"),
        pytest.param(
            data.from_tensor_slices(np.zeros((6, 6))[:, ::2]).batch(2, num_parallel_calls=A), id="a part of an array"
        ),
        pytest.param(data.from_tensor_slices(["a", "b"]).batch(2, num_parallel_calls=A), id="objects"),
        pytest.param(TEN.concatenate(TEN.map(first)).batch(2, num_parallel_calls=A), id="a part that is no column"),
    ],
)
def test_other_batches_keep_their_workers(dataset: hr.Dataset) -> None:
    assert_stays(stack_columns_here, dataset)


PARTS: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "as it is": lambda ds: ds,
    "take": lambda ds: ds.take(4),
    "skip": lambda ds: ds.skip(1),
    "repeat": lambda ds: ds.repeat(2),
    "concatenate": lambda ds: ds.concatenate(ds.take(3)),
    "prefetch": lambda ds: ds.prefetch(1),
}


@given(
    st.sampled_from([TEN, PAIRS, data.range(0)]),
    st.lists(st.sampled_from(sorted(PARTS)), max_size=3),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from([None, (1,), (2, 7), (1000,)]),
)
def test_a_batch_without_its_workers_is_the_same_from_any_state_of_the_other(
    dataset: hr.Dataset, parts: list[str], size: int, drop_remainder: bool, block_sizes: tuple[int, ...] | None
) -> None:
    for part in parts:
        dataset = PARTS[part](dataset)
    dataset = dataset.batch(size, drop_remainder, num_parallel_calls=A)
    here = Way(hr.Options(executor="thread"), block_sizes, rules=(stack_columns_here,))
    beside = Way(hr.Options(executor="thread", num_workers=2), block_sizes, rules=(), concurrency=Restless)
    elements, states = history(dataset, here, limit=100)
    assert_same(elements_of(dataset), elements)
    for number, state in enumerate(states):
        assert_same(elements[number:], resumed(dataset, state, beside, limit=100))


def test_who_asked_for_workers_of_which_there_are_none_keeps_the_prefetch_at_the_end() -> None:
    assert_becomes(
        optimized,
        TEN.batch(2, num_parallel_calls=A),
        """
        prefetch [buffer_size=AUTOTUNE]
          batch [batch_size=2, drop_remainder=False]
            range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


# ---------------------------------------------------------------------------------- all of them


def test_together_maps_on_both_sides_of_a_shuffle_become_one_task() -> None:
    assert_becomes(
        optimized,
        TEN.map(first, num_parallel_calls=2).shuffle(5, seed=1).map(second, num_parallel_calls=2),
        """
        prefetch [buffer_size=AUTOTUNE]
          map 'first' + map 'second' [num_parallel_calls=2, deterministic=True]
            shuffle [buffer_size=5, seed=1, reshuffle_each_iteration=True]
              range [start=0, stop=10, step=1, dtype=int64]
        """,
    )


@pytest.mark.parametrize("rule", [*RULES, optimized], ids=lambda rule: rule.__name__)
@given(recipe=recipes())
def test_a_rule_changes_neither_cardinality_nor_specification_and_is_done_at_once(
    rule: Callable[[Node], Node], recipe: Recipe
) -> None:
    plan = recipe.build().__headrace_plan__()
    better = rule(plan)
    assert better.cardinality() == plan.cardinality()
    assert plan.spec() is None or better.spec() == plan.spec()
    assert rule(better) is better


@pytest.mark.parametrize(
    "choose",
    [lambda ds: ds.take(3), lambda ds: ds.skip(2), lambda ds: ds.shard(2, 1)],
    ids=["take", "skip", "shard"],
)
def test_what_counts_only_elements_that_do_not_fail_stays_behind_a_map(
    choose: Callable[[hr.Dataset], hr.Dataset],
) -> None:
    def fails(x: int) -> int:
        if x in {0, 2, 5}:
            raise ValueError("no luck")
        return x

    dataset = choose(TEN.map(fails))
    assert_same(elements_of(dataset), elements_of(dataset, Way(hr.Options(executor="thread"))))
