"""A job whose plan was changed on purpose goes on as if it had been so from the start, or is refused with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.laws.jobs import described
from tests.laws.plans import STEPS as FAMILIES
from tests.laws.plans import Recipe, recipe_of

import headrace as hr
from headrace.errors import HeadraceError, InvalidArgumentError

MOST = 60
data = hr.Dataset
pytestmark = pytest.mark.usefixtures("few_idle_draws")


def given_by(iterator: hr.DatasetIterator, count: int) -> list[Any]:
    """Returns what an iterator gives next; the class of the error in place of an element that failed."""
    elements: list[Any] = []
    for _ in range(count):
        try:
            elements.append(next(iterator))
        except StopIteration:
            break
        except HeadraceError as error:
            elements.append(type(error).__name__)
    return elements


def options(executor: str) -> hr.Options:
    return hr.Options(executor=executor, seed=7)


def run(dataset: hr.Dataset, executor: str = "inline", count: int = MOST) -> list[Any]:
    with iter(dataset.with_options(options(executor))) as iterator:
        return given_by(iterator, count)


def gone_on(
    before: hr.Dataset, after: hr.Dataset, count: int, word: str, executors: tuple[str, str]
) -> list[Any] | None:
    """Returns what the one dataset gives where the other stood; None where that is refused."""
    with iter(before.with_options(options(executors[0]))) as iterator:
        given_by(iterator, count)
        state = json.loads(json.dumps(iterator.state_dict()))
    with iter(after.with_options(options(executors[1]))) as iterator:
        try:
            iterator.load_state_dict(state, allow={word})
        except InvalidArgumentError as refused:
            assert f"allow={{'{word}'}}" in str(refused)  # noqa: PT017 - it says what was asked
            return None
        return given_by(iterator, MOST)


executors = st.tuples(*2 * [st.sampled_from(["thread", "inline"])])
steps = st.lists(st.one_of(*(family() for family in FAMILIES)), max_size=3)


def counted(length: int) -> hr.Dataset:
    return data.range(length)


def of_length(length: int, drawn: list[Any]) -> hr.Dataset:
    recipe: Recipe = recipe_of((f"range({length})", lambda: counted(length)), drawn)
    return recipe.build().map(described)


@given(st.integers(0, 20), st.integers(1, 8), steps, st.integers(0, 12), executors)
def test_a_source_that_has_grown_goes_on_as_if_it_had_been_longer_from_the_start(
    length: int, more: int, drawn: list[Any], count: int, executors: tuple[str, str]
) -> None:
    def short() -> hr.Dataset:  # made anew, as another process would
        return of_length(length, drawn)

    def long() -> hr.Dataset:
        return of_length(length + more, drawn)

    whole = run(long())
    assume(run(short(), count=count) == whole[:count])
    assume(all(one.startswith("(") for one in whole[:count]))  # failures look alike, whatever of the source failed
    rest = gone_on(short(), long(), count, "grown", executors)
    assert rest is None or rest[: MOST - count] == whole[count:]


@given(
    st.integers(0, 40),
    steps,
    st.sampled_from([1, 2, 3]),
    st.tuples(*2 * [st.integers(1, 4)]),
    st.integers(0, 4),
    executors,
)
def test_another_global_batch_takes_up_where_the_last_one_ended(
    length: int, drawn: list[Any], streams: int, sizes: tuple[int, int], count: int, executors: tuple[str, str]
) -> None:
    def dealt(size: int) -> hr.Dataset:
        return of_length(length, drawn).distributed_batch(size * streams, num_streams=streams)

    try:
        batches = run(dealt(1), count=400)
    except InvalidArgumentError as refused:
        assert refused.stage == "distributed_batch"  # noqa: PT017 - it says what refused it
        assume(False)
    assume(
        not any(isinstance(batch, str) for batch in batches)
    )  # a failed element takes its batch along, and so its size matters
    elements = [element for batch in batches for element in batch.tolist()]
    one, other = (size * streams for size in sizes)
    assume(count * one <= len(elements))
    rest = gone_on(dealt(sizes[0]), dealt(sizes[1]), count, "batch_size", executors)
    later = elements[count * one :]
    expected = [later[at : at + other] for at in range(0, len(later) - other + 1, other)]
    assert rest is None or [batch.tolist() for batch in rest] == expected[:MOST]


def odd(_: int, number: int) -> bool:
    return number % 3 != 1


weights = st.tuples(*3 * [st.sampled_from([0.1, 0.5, 0.9])])


def inputs_of(*, filtered: bool) -> list[hr.Dataset]:
    """Returns endless datasets of pairs of their number and a counter."""
    inputs = [data.zip((data.from_tensors(part).repeat(), data.counter())) for part in range(3)]
    return [one.filter(odd) if filtered else one for one in inputs]


@given(weights, weights, st.booleans(), st.sampled_from([1, 3]), st.integers(0, 10), executors)
def test_other_weights_are_those_of_the_next_draw_on(
    before: tuple[float, ...],
    after: tuple[float, ...],
    filtered: bool,
    size: int,
    count: int,
    executors: tuple[str, str],
) -> None:
    def mixed(weights: tuple[float, ...]) -> hr.Dataset:
        return data.sample_from_datasets(inputs_of(filtered=filtered), list(weights), seed=5)

    first = run(mixed(before), count=count * size)
    lists = [iter(run(one, count=count * size + MOST)) for one in inputs_of(filtered=filtered)]
    assert first == [next(lists[part]) for part, _ in first]
    chosen = [part for part, _ in run(mixed(after), count=count * size + MOST)[count * size :]]
    expected = [next(lists[part]) for part in chosen]
    rest = gone_on(mixed(before).batch(size), mixed(after).batch(size), count, "weights", executors)
    assert rest is not None
    pairs = [pair for batch in rest for pair in zip(*(column.tolist() for column in batch), strict=True)]
    assert pairs[:MOST] == expected
