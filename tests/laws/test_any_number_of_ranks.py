"""What a global batch holds does not depend on how many ranks there are, nor on how many there were before."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.laws.plans import STEPS as FAMILIES
from tests.laws.plans import Recipe, recipe_of, sources
from tests.laws.steps_dealing import dealing

import headrace as hr
from headrace.errors import HeadraceError, InvalidArgumentError

pytestmark = pytest.mark.usefixtures("some_orders_are_computed")


@pytest.fixture(autouse=True, scope="module")
def few_idle_draws() -> Iterator[None]:
    """Ends mixtures that choose nothing after few draws: each stream of one draws by itself."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (
            "headrace.semantics.mixing",
            "headrace.physical.stages.mixing",
            "headrace.backends.reference.mixing",
        ):
            patch.setattr(f"{module}.IDLE_LIMIT", 50)
        yield


@pytest.fixture(autouse=True)
def few_elements_are_woven_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a part of what is ready of all streams be woven, as of thousands of elements."""
    monkeypatch.setattr("headrace.physical.stages.dealing_streams._WOVEN_AT_ONCE", 9)


STREAMS: Final = (1, 2, 3, 4, 6, 12)
BATCH: Final = 12
# Of an endless plan so many steps are compared.
MOST: Final = 4
# A rank's part of a global batch; the class of the error that it has in its place; None at its end.
Given = list[str] | str | None


def recipes() -> st.SearchStrategy[Recipe]:
    """Plans of enough elements for some global batches."""
    steps = st.one_of(*(family() for family in FAMILIES if family is not dealing))  # a plan is dealt once
    return st.builds(recipe_of, sources(st.integers(8, 60)), st.lists(steps, max_size=4))


def described(*element: Any) -> str:
    """Returns an element in words, as elements that no batch could stack are compared as well."""
    return repr(element)


@dataclasses.dataclass
class Job:
    """A plan as so many ranks of a job run it."""

    recipe: Recipe
    streams: int
    ranks: int
    steps: int | None
    executor: str
    seed: int | None = 7
    end: str = "drop"
    group: Callable[[int], int] | None = None

    def iterators(self, stack: contextlib.ExitStack) -> list[hr.DatasetIterator]:
        return [stack.enter_context(iter(self.dataset(rank))) for rank in range(self.ranks)]

    def dataset(self, rank: int) -> hr.Dataset:
        whole = self.recipe.build().map(described)
        dealt = whole.distributed_batch(
            BATCH, num_streams=self.streams, steps=self.steps, end=self.end, group=self.group
        )
        options = hr.Options(rank=rank, world_size=self.ranks, seed=self.seed, executor=self.executor)
        return dealt.with_options(options)


def step_of(iterator: hr.DatasetIterator) -> Given:
    try:
        batch = next(iterator)
        # Of a batch that is filled up each element with whether it is real.
        return (
            [str(pair) for pair in zip(*map(list, batch), strict=True)] if isinstance(batch, tuple) else batch.tolist()
        )
    except StopIteration:
        return None
    except HeadraceError as error:
        return type(error).__name__


def given_by_all(iterators: list[hr.DatasetIterator], *, together: bool = True) -> Iterator[list[Given]]:
    """Yields what all ranks give, step by step, until all have ended; ``together`` if they must end after the same step."""
    for _ in range(MOST):
        parts = [step_of(iterator) for iterator in iterators]
        ended = parts.count(None)
        assert not together or ended in (0, len(parts)), "a rank ended before another"
        if ended == len(parts):
            return
        yield parts


def expected_of(streams: list[Given], ranks: int) -> list[Given]:
    """Returns what each of so many ranks is to give, of what each stream gave as a rank of its own."""
    parts: list[Given] = []
    for rank in range(ranks):
        own = streams[rank::ranks]
        if any(isinstance(given, str) for given in own):
            parts.append("failed")
        elif all(given is None for given in own):
            parts.append(None)
        else:  # in an uneven end some have fewer
            turns = itertools.zip_longest(*(given or [] for given in own))
            parts.append([row for rows in turns for row in rows if row is not None])
    return parts


def shown(parts: list[Given]) -> list[Given]:
    return ["failed" if isinstance(part, str) else part for part in parts]


def steps_of(recipe: Recipe, streams: int, end: str = "drop") -> int:
    """Returns how many steps a job of one rank has; a plan that cannot be dealt is not looked at."""
    with contextlib.ExitStack() as stack:
        try:
            iterators = Job(recipe, streams, 1, None, "inline", end=end).iterators(stack)
        except InvalidArgumentError as refused:
            assert refused.stage == "distributed_batch"  # noqa: PT017 - it says what refused it
            assume(False)
        return len(list(given_by_all(iterators)))


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


jobs = st.tuples(recipes(), st.sampled_from(STREAMS))
executors = st.sampled_from(["thread", "inline"])
numbers = st.sampled_from(STREAMS)


@given(jobs, numbers, executors, st.sampled_from(["drop", "pad", "uneven"]))
def test_any_number_of_ranks_has_the_same_global_batches(
    job: tuple[Recipe, int], ranks: int, executor: str, end: str
) -> None:
    recipe, streams = job
    assume(streams % ranks == 0)
    count = steps_of(recipe, streams, end)
    steps = None if end == "uneven" else count
    with contextlib.ExitStack() as stack:
        alone, some = (
            Job(recipe, streams, number, steps, how, end=end).iterators(stack)
            for number, how in [(streams, "inline"), (ranks, executor)]
        )
        finest = list(given_by_all(alone, together=end != "uneven"))
        dealt = list(given_by_all(some, together=end != "uneven"))
    assert steps in (None, len(finest))
    assert [shown(parts) for parts in dealt] == [expected_of(parts, ranks) for parts in finest]


@given(
    jobs,
    st.lists(st.tuples(numbers, executors, st.integers(0, 3)), min_size=1, max_size=3),
    st.sampled_from(["drop", "pad"]),
    st.booleans(),
)
def test_a_job_goes_on_with_any_number_of_ranks(
    job: tuple[Recipe, int], turns: list[tuple[int, str, int]], end: str, by_streams: bool
) -> None:
    recipe, streams = job
    turns = [turn for turn in turns if streams % turn[0] == 0]
    assume(turns)
    steps = steps_of(recipe, streams, end)
    with contextlib.ExitStack() as stack:
        finest = list(given_by_all(Job(recipe, streams, streams, steps, "inline", end=end).iterators(stack)))
        state: Saved | None = None
        at = 0
        for number, (ranks, executor, count) in enumerate(turns):
            iterators = Job(
                recipe, streams, ranks, steps, executor, seed=7 if state is None else None, end=end
            ).iterators(stack)
            for iterator in iterators:
                if state is not None:
                    state.load(iterator)
            is_last = number == len(turns) - 1
            for parts in given_by_all(iterators) if is_last else _some(given_by_all(iterators), count):
                assert shown(parts) == expected_of(finest[at], ranks)
                at += 1
            if not is_last:
                state = (SavedByStreams if by_streams else Saved)(iterators)
                assert state.step == at
        assert at == min(steps, len(finest))


def _some(parts: Iterator[list[Given]], count: int) -> Iterator[list[Given]]:
    for _, part in zip(range(count), parts, strict=False):
        yield part
