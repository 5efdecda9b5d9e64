"""How the tests of the laws run a plan: with which settings, in blocks of which size, and what came of it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

from hypothesis import strategies as st

import headrace as hr
from headrace.optimize import rules
from headrace.physical.budget import Budget
from headrace.physical.stage import Pace
from headrace.physical.workers.parallel_stage import ParallelStage
from headrace.plan.node import Node
from headrace.testing.restoring import delivered, same

# Enough for every plan that ends; of an endless one so much is compared.
LIMIT = 60


@dataclasses.dataclass(frozen=True)
class Way:
    """One way of running a plan."""

    options: hr.Options
    block_sizes: tuple[int, ...] | None = None  # None: as measured
    rules: tuple[Callable[[Node], Node], ...] | None = None  # None: all of them


REFERENCE = Way(hr.Options(executor="inline", optimize=False, seed=7))


def ways() -> st.SearchStrategy[Way]:
    """The other ways, which must all give what the reference gives."""
    options = st.builds(
        hr.Options,
        executor=st.just("thread"),
        seed=st.just(7),
        num_workers=st.sampled_from([None, 1, 2, 5]),
        ram_budget=st.sampled_from([None, None, 1, 100, 5_000]),
        optimize=st.sampled_from([None, True, False]),
    )
    # Sizes take turns, so that blocks of unlike sizes meet.
    sizes = st.one_of(st.none(), st.lists(st.sampled_from([1, 2, 3, 7, 1000]), min_size=1, max_size=3).map(tuple))
    alone = st.one_of(st.none(), st.sampled_from(rules.RULES).map(lambda rule: (rule,)))
    return st.builds(Way, options, sizes, alone)


def unordered_ways() -> st.SearchStrategy[Way]:
    """The same, and some of them let every stage that was not told deliver in any order."""

    def in_any_order(way: Way) -> Way:
        return dataclasses.replace(way, options=way.options.merged(hr.Options(deterministic=False)))

    return st.one_of(ways(), ways().map(in_any_order))


@contextlib.contextmanager
def in_blocks_of(sizes: Sequence[int] | None) -> Iterator[None]:
    """Has every stage ask for blocks of these sizes in turn, as far as its own bounds allow."""
    if sizes is None:
        yield
        return
    begin = Pace.__init__
    turns: dict[int, int] = {}

    def started(pace: Pace, **bounds: int) -> None:
        begin(pace, **bounds)
        turns[id(pace)] = 0
        follow(pace)

    def follow(pace: Pace, *observed: float) -> None:
        turn = turns.setdefault(id(pace), 0)
        turns[id(pace)] = turn + 1
        pace.size = max(1, min(sizes[turn % len(sizes)], pace._limit))

    with mock.patch.object(Pace, "__init__", started), mock.patch.object(Pace, "observe", follow):
        yield


@contextlib.contextmanager
def last_ones_first() -> Iterator[None]:
    """Has unordered maps wait for all of their workers and deliver the latest first: the worst order there is."""

    def collect(stage: ParallelStage) -> None:
        while stage._running:
            stage._wait()

    def deliverable(stage: ParallelStage) -> Any:
        if stage._delivery is None:
            return in_order(stage)
        in_order(stage)  # drops tasks without pieces
        return next((task for task in reversed(stage._tasks) if task.pieces), None)

    in_order = ParallelStage._deliverable
    with (
        mock.patch.object(ParallelStage, "_collect", collect),
        mock.patch.object(ParallelStage, "_deliverable", deliverable),
    ):
        yield


@contextlib.contextmanager
def running(dataset: hr.Dataset, way: Way) -> Iterator[hr.DatasetIterator]:
    """An iterator over the dataset, that way.

    A budget is one for what can do with less: what must be held is let in, however much it is.
    """
    chosen = rules.RULES if way.rules is None else way.rules
    with (
        in_blocks_of(way.block_sizes),
        mock.patch.object(Budget, "refuse"),
        mock.patch.object(rules, "RULES", chosen),
        iter(dataset.with_options(way.options)) as iterator,
    ):
        yield iterator


def elements_of(dataset: hr.Dataset, way: Way = REFERENCE, *, limit: int = LIMIT) -> list[Any]:
    """What the dataset gives, an error in place of each element that fails."""
    with running(dataset, way) as iterator:
        return list(delivered(iterator, limit))


def assert_same(expected: Sequence[Any], actual: Sequence[Any], *, in_order: bool = True) -> None:
    """Fails unless both are the same elements: structures, types, values; kinds and messages of errors."""
    if not in_order:
        expected, actual = sorted(expected, key=described), sorted(actual, key=described)
    for number, (mine, theirs) in enumerate(zip(expected, actual, strict=False)):
        assert same(mine, theirs), f"element {number} is {theirs!r} instead of {mine!r}"
    assert len(actual) == len(expected), f"{len(actual)} elements instead of {len(expected)}"


def described(element: Any) -> str:
    return f"{type(element).__name__} {element}"


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    restored: dict[str, Any] = json.loads(json.dumps(state))
    return restored


def history(dataset: hr.Dataset, way: Way, *, limit: int) -> tuple[list[Any], list[dict[str, Any]]]:
    """What the dataset gives, and the state before the first, and behind each of its elements."""
    with running(dataset, way) as iterator:
        states = [through_json(iterator.state_dict())]
        elements = []
        for element in delivered(iterator, limit):
            elements.append(element)
            states.append(through_json(iterator.state_dict()))
    return elements, states


def resumed(dataset: hr.Dataset, state: dict[str, Any], way: Way, *, limit: int) -> list[Any]:
    """What a fresh iterator gives that was loaded with a state."""
    with running(dataset, way) as iterator:
        iterator.load_state_dict(state)
        return list(delivered(iterator, limit))
