"""A job whose plan was changed on purpose goes on as if it had been so from the start, or is refused with the reason."""

from __future__ import annotations

import contextlib
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
# So many batches are compared after a change of their size.
AFTER = 20
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


# An element of each stream, with whether it is real.
Round = list[tuple[str, bool]]


class Dealt:
    """A plan that is dealt to 1 to 3 streams, with another global batch before a point than after it."""

    def __init__(self, plan: tuple[int, list[Any]], streams: int, end: str, steps: int | None) -> None:
        self.plan, self.streams, self.end, self.steps = plan, streams, end, steps

    def rank(self, rounds: int, rank: int, ranks: int, executor: str) -> hr.Dataset:
        """Returns what a rank has of global batches of so many elements of each stream."""
        dataset = of_length(*self.plan).distributed_batch(
            rounds * self.streams, num_streams=self.streams, end=self.end, steps=self.steps
        )
        return dataset.with_options(hr.Options(executor=executor, seed=7, rank=rank, world_size=ranks))

    def rounds(self) -> list[Round]:
        """Returns one element of each stream, again and again, with whether each is real."""
        if self.end == "drop":
            return [[(row, True) for row in batch.tolist()] for batch in self.smallest("drop")]
        if self.end == "uneven":
            self.smallest("uneven")  # what fails there
        return [list(zip(rows.tolist(), real.tolist(), strict=True)) for rows, real in self.smallest("pad")]

    def smallest(self, end: str) -> list[Any]:
        """Returns the smallest global batches; one that fails takes all of it along, and so its size matters."""
        dealt = of_length(*self.plan).distributed_batch(self.streams, num_streams=self.streams, end=end)
        batches = run(dealt, count=100)
        assume(not any(isinstance(batch, str) for batch in batches))
        return batches

    def real(self, batch: Any) -> Any:
        """Returns the real rows of a batch."""
        if self.end == "pad" and not isinstance(batch, str):
            rows, real = batch
            return rows[real].tolist()
        return batch if isinstance(batch, str) else batch.tolist()

    def later(self, all_rounds: list[Round], done: int, size: int, rank: int, ranks: int) -> list[list[str]]:
        """Returns what a rank is to give after so many rounds, in global batches of ``size`` of them."""
        last = len(all_rounds) if self.steps is None else min(len(all_rounds), self.steps * size)
        batches = [all_rounds[at : min(last, at + size)] for at in range(done, last, size)]
        if self.end == "drop":
            batches = [batch for batch in batches if len(batch) == size]
        return [[row for one in batch for row, real in one[rank::ranks] if real] for batch in batches]


@given(
    st.tuples(st.integers(0, 40), steps),
    st.sampled_from([1, 2, 3]),
    st.tuples(*2 * [st.integers(1, 4)]),
    st.integers(0, 4),
    st.tuples(*2 * [st.booleans()]),
    executors,
    st.sampled_from(["drop", "pad", "uneven"]),
    st.one_of(st.none(), st.integers(0, 8)),
)
def test_another_global_batch_takes_up_where_the_last_one_ended(
    plan: tuple[int, list[Any]],
    streams: int,
    sizes: tuple[int, int],
    count: int,
    alone: tuple[bool, bool],
    executors: tuple[str, str],
    end: str,
    steps: int | None,
) -> None:
    job = Dealt(plan, streams, end, steps)
    before, after = (1 if one else streams for one in alone)
    with contextlib.ExitStack() as stack:
        try:
            of_ranks = [stopped(job.rank(sizes[0], rank, before, executors[0]), count) for rank in range(before)]
            iterators = [
                stack.enter_context(iter(job.rank(sizes[1], rank, after, executors[1]))) for rank in range(after)
            ]
            rounds = job.rounds()
        except InvalidArgumentError as refused:
            assert refused.stage == "distributed_batch"  # noqa: PT017 - it says what refused it
            assume(False)
        states, given = zip(*of_ranks, strict=True)
        assume(not any(isinstance(batch, str) for batches in given for batch in batches))
        assume(len({len(batches) for batches in given}) == 1)  # in an uneven end some ranks have a batch more
        assume(end != "drop" or len(given[0]) == count)  # who was told the end need not go on with what was left out
        state = hr.merge_states(states)
        for rank, iterator in enumerate(iterators):
            try:
                iterator.load_state_dict(state, allow={"batch_size"})
            except InvalidArgumentError as refused:
                assert "allow={'batch_size'}" in str(refused)  # noqa: PT017 - it says what was asked
                return
            rest = [job.real(batch) for batch in given_by(iterator, AFTER)]
            wanted = job.later(rounds, len(given[0]) * sizes[0], sizes[1], rank, after)
            check(rest, wanted[:AFTER], end, steps)


def check(rest: list[Any], wanted: list[list[str]], end: str, steps: int | None) -> None:
    """Compares real rows; after the last of them, of steps that were asked for, there are errors or none."""
    more = rest[len(wanted) :]
    while len(rest) < len(wanted) and not wanted[-1]:  # in an uneven end some ranks have a batch more
        wanted = wanted[:-1]
    assert rest[: len(wanted)] == wanted
    if steps is None:
        assert not more
    elif end != "drop":  # there a rank whose own streams are longer has more
        assert all(not batch or isinstance(batch, str) for batch in more)


def stopped(dataset: hr.Dataset, count: int) -> tuple[dict[str, Any], list[Any]]:
    """Returns the state after some elements, and these."""
    with iter(dataset) as iterator:
        given = given_by(iterator, count)
        return json.loads(json.dumps(iterator.state_dict())), given


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
