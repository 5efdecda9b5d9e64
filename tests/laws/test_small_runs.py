"""A small plan by itself, as functions read a window: a run without stages gives what one with them gives, and tells the same of it.

The other laws give their plans options, and a plan with options has stages.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any
from unittest import mock

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import fail_on, total
from tests.laws.running import assert_same, through_json
from tests.laws.small_plans import SOURCES, STEPS

import headrace as hr
from headrace.blocks.block import Block
from headrace.engine import SmallRun, is_inside_run
from headrace.engine.calling_run import CallingRun
from headrace.errors import HeadraceError
from headrace.iterator import DatasetIterator
from headrace.physical.at_once import called
from headrace.physical.loop_policy import Patience
from headrace.physical.run_policy import RunPolicy
from headrace.plan.quiet import calls_at_most, is_quiet
from headrace.testing.restoring import delivered

Build = Callable[[], hr.Dataset]
Steps = dict[str, Callable[[hr.Dataset], hr.Dataset]]
# What a run does that is free to choose; where that is another than the usual one, it has stages.
WITH_STAGES = RunPolicy()
LIMIT = 40
# More than any of these plans has.
MANY = 10_000


def _window(mapped: Callable[[Any], Any]) -> Callable[[int], Any]:
    return lambda n: next(iter(hr.Dataset.range(20).map(mapped).window(1 + n % 6)))


HELD: dict[str, Callable[[int], Any]] = {
    "a window": lambda n: next(iter(hr.Dataset.range(20).window(1 + n % 6))),
    "windows side by side": lambda n: hr.Dataset.zip(_window(lambda x: (x, {"row": np.full(2, x)}))(n)),
    "a window of rows that differ": _window(lambda x: np.arange(x % 3)),  # of which no batch can be made
    "many": lambda n: hr.Dataset.range(300 + n),  # more than are taken apart at once
}
SMALL = SOURCES | HELD
QUIET: Steps = {
    **{name: step for name, step in STEPS.items() if name.startswith(("enumerate", "take", "skip ", "batch", "zip"))},
    "repeat": STEPS["repeat"],
    "padded_batch": lambda ds: ds.padded_batch(2),
    "ragged_batch": lambda ds: ds.ragged_batch(2),
}


CALLING = {name: step for name, step in STEPS.items() if name.startswith(("map", "filter"))}
FILTERING = {name: step for name, step in CALLING.items() if name.startswith("filter")}
IN_TURN = {
    "scan": lambda ds: ds.scan(0, lambda state, x: (state + 1, (state, total(x)))),
    "scan fail": lambda ds: ds.scan(0, lambda state, x: (state + 1, fail_on(1, 2)(state))),
    "take_while": lambda ds: ds.take_while(lambda *x: total(x) < 3),
}


@st.composite
def small(draw: st.DrawFn, among: Steps = QUIET, sources: dict[str, Callable[[int], Any]] = SMALL) -> Build:
    """A plan of a few elements without functions, made anew each time."""
    source = sources[draw(st.sampled_from(sorted(sources)))]
    steps = [among[name] for name in draw(st.lists(st.sampled_from(sorted(among)), max_size=3))]
    number = draw(st.integers(0, 9))

    def build() -> hr.Dataset:
        ds: hr.Dataset = source(number)
        for step in steps:
            ds = step(ds)
        return ds

    return build


def with_stages(dataset: hr.Dataset) -> DatasetIterator:
    """An iterator that makes its elements in stages."""
    return DatasetIterator(dataset.__headrace_plan__(), policy=WITH_STAGES)


def walked(iterator: DatasetIterator) -> tuple[list[Any], list[dict[str, Any]]]:
    """What an iterator gives, and its state before, and after each element."""
    states = [through_json(iterator.state_dict())]
    elements = []
    for element in delivered(iterator, LIMIT):
        elements.append(element)
        states.append(through_json(iterator.state_dict()))
    return elements, states


def position(state: dict[str, Any]) -> tuple[Any, ...]:
    """What of a state is not drawn."""
    return state["position"], state["delivered"], state["epoch"], state["fingerprint"]


def is_writable(element: Any) -> list[bool]:
    """Of each array of an element whether one may write to it."""
    leaves = [] if isinstance(element, Exception) else optree.tree_leaves(element)
    return [leaf.flags.writeable for leaf in leaves if isinstance(leaf, np.ndarray)]


@given(small())
def test_a_run_without_stages_gives_what_stages_give_and_goes_on_from_each_state(build: Build) -> None:
    with with_stages(build()) as staged, iter(build()) as iterator:
        expected, positions = walked(staged)
        elements, states = walked(iterator)
    assert_same(expected, elements)
    assert list(map(is_writable, elements)) == list(map(is_writable, expected))
    # Where a batch fails, a stage may stand where only it would: what follows says whether both go on alike.
    for count, (state, other) in enumerate(zip(states, positions, strict=True)):
        for saved in (state, other):
            with iter(build()) as again:
                again.load_state_dict(saved)
                assert position(again.state_dict()) == position(saved)
                assert_same(expected[count:], list(delivered(again, LIMIT - count)))


@pytest.mark.parametrize("taken", [0, 1, 255, 256, 257, 300])
def test_a_state_behind_what_is_taken_apart_at_once_goes_on_there(taken: int) -> None:
    with iter(hr.Dataset.range(300)) as iterator:
        assert list(delivered(iterator, taken)) == list(range(taken))
        state = through_json(iterator.state_dict())
    again = iter(hr.Dataset.range(300))
    again.load_state_dict(state)
    assert list(again) == list(range(taken, 300))


@given(small())
def test_a_run_without_stages_tells_what_stages_tell(build: Build) -> None:
    with with_stages(build()) as staged, iter(build()) as iterator:
        for one in (staged, iterator):
            while list(delivered(one, 1)):
                pass
        expected, stats = staged.stats(), iterator.stats()
    assert stats.elements == expected.elements
    assert [stage.name for stage in stats.stages] == [stage.name for stage in expected.stages]
    assert [failure.stage for failure in stats.failures] == [failure.stage for failure in expected.failures]
    assert stats.elapsed_s >= stats.wait_s >= 0


@given(small())
def test_what_takes_all_elements_in_one_call_gets_those_of_an_iterator(build: Build) -> None:
    def read(take: Callable[[hr.Dataset], Any]) -> Any:
        try:
            return take(build())
        except HeadraceError as error:
            return error

    with with_stages(build()) as staged:
        expected = until_the_first_failure(delivered(staged, MANY))
    assert_same(expected, _gathered(build()))
    with iter(build()) as iterator:
        assert_same(expected, until_the_first_failure(delivered(iterator, MANY)))
    single = read(lambda ds: ds.get_single_element())
    if len(expected) == 1:
        assert_same(expected, [single])
    else:
        assert isinstance(single, HeadraceError)


@given(small(QUIET | CALLING))
def test_what_a_function_takes_in_one_call_is_what_stages_give(build: Build) -> None:
    with with_stages(build()) as staged:
        expected = until_the_first_failure(delivered(staged, MANY))
    found = inside_a_run(lambda: _gathered(build()))
    assert_same(expected, until_the_first_failure(found))


# How long functions are called at first, and then: an element at a time, all at once, and one before all others.
WAITS_S = [(0.0, 0.0), (1e9, 1e9), (0.0, 1e9)]


def _gives_what_stages_give_and_goes_on(build: Build, waits_s: tuple[float, float]) -> None:
    with with_stages(build()) as staged:
        expected, positions = walked(staged)

    def walk() -> list[Any]:
        with iter(build()) as iterator:
            return [walked(iterator)]

    with mock.patch.multiple("headrace.engine.calling_run", _FIRST_S=waits_s[0], _A_BLOCK_S=waits_s[1]):
        ((elements, states),) = inside_a_run(walk)
    assert_same(expected, elements)
    assert list(map(is_writable, elements)) == list(map(is_writable, expected))
    for count, (state, other) in enumerate(zip(states, positions, strict=True)):
        for saved in (state, other):
            with iter(build()) as again:
                again.load_state_dict(saved)
                assert_same(expected[count:], list(delivered(again, LIMIT - count)))


@given(small(QUIET | CALLING | IN_TURN), st.sampled_from(WAITS_S))
def test_an_iterator_of_a_function_gives_what_stages_give_and_goes_on_from_each_state(
    build: Build, waits_s: tuple[float, float]
) -> None:
    _gives_what_stages_give_and_goes_on(build, waits_s)


@given(small(FILTERING), st.sampled_from(WAITS_S))
def test_so_it_does_where_filters_judge_some_elements_and_leave_the_others_for_later(
    build: Build, waits_s: tuple[float, float]
) -> None:
    _gives_what_stages_give_and_goes_on(build, waits_s)


@given(small(QUIET | CALLING | IN_TURN))
def test_an_iterator_of_a_function_tells_what_stages_tell(build: Build) -> None:
    def told(iterator: DatasetIterator) -> Any:
        with iterator:
            while list(delivered(iterator, 1)):
                pass
            return iterator.stats()

    expected = told(with_stages(build()))
    (stats,) = inside_a_run(lambda: [told(iter(build()))])
    assert stats.elements == expected.elements
    assert [stage.name for stage in stats.stages] == [stage.name for stage in expected.stages]
    assert [failure.stage for failure in stats.failures] == [failure.stage for failure in expected.failures]


@given(small(QUIET | CALLING), st.integers(0, 5))
def test_what_takes_long_is_called_once_and_goes_on_in_stages(build: Build, looks: int) -> None:
    with with_stages(build()) as staged:
        expected = list(delivered(staged, LIMIT))
    plan = build().__headrace_plan__()
    clock = itertools.count()
    found = called(plan, lambda: Patience(lambda: float(next(clock)), float(looks), 2)) if calls_at_most(plan) else None
    if found is None:
        return
    if isinstance(found, list):
        pieces = [piece.payload.rows() if isinstance(piece, Block) else [piece.error] for piece in found]
        assert_same(expected, [element for rows in pieces for element in rows][:LIMIT])
    else:
        with DatasetIterator(found) as iterator:
            assert_same(expected, list(delivered(iterator, LIMIT)))


@pytest.mark.parametrize("limit", [0, 1, 8, 100])
def test_a_function_is_called_on_each_element_once(limit: int) -> None:
    seen: list[int] = []

    def see(number: int) -> int:
        seen.append(number)
        return number

    plan = hr.Dataset.range(60).map(see).batch(7).__headrace_plan__()
    clock = itertools.count()
    found = called(plan, lambda: Patience(lambda: float(next(clock)), float(limit), 2))
    assert found is not None
    if not isinstance(found, list):
        assert len(seen) <= 2 * (limit + 2)
        with DatasetIterator(found) as iterator:
            list(iterator)
    assert seen == list(range(60))


def test_functions_are_called_without_a_run_only_inside_one() -> None:
    one = hr.Dataset.range(1)
    for ds in (one.map(lambda _: is_inside_run()), one.map(lambda _: is_inside_run(), num_parallel_calls=1)):
        assert list(ds) == [True]
    assert not is_inside_run()


def inside_a_run(function: Callable[[], Any]) -> list[Any]:
    """What a function of a map gathers when it is called."""
    kept: list[Any] = []

    def call(number: int) -> int:
        kept.extend(function())
        return number

    list(hr.Dataset.range(1).map(call))
    return kept


def until_the_first_failure(elements: Iterable[Any]) -> list[Any]:
    """The elements up to the first that failed."""
    taken = []
    for element in elements:
        taken.append(element)
        if isinstance(element, Exception):
            break
    return taken


def _gathered(ds: hr.Dataset) -> list[Any]:
    """What reduce gets, and the error that ends it."""
    elements: list[Any] = []

    def gather(count: int, element: Any) -> int:
        elements.append(element)
        return count + 1

    try:
        ds.reduce(0, gather)
    except HeadraceError as error:
        elements.append(error)
    return elements


@given(small())
def test_what_one_reader_changes_in_place_the_next_does_not_see(build: Build) -> None:
    ds = build()
    expected = list(delivered(with_stages(build()), LIMIT))
    for element in delivered(iter(ds), LIMIT):
        for leaf in [] if isinstance(element, Exception) else optree.tree_leaves(element):
            if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
                leaf[...] = 0
        if isinstance(element, dict):
            element.clear()
    assert_same(expected, list(delivered(iter(ds), LIMIT)))


@pytest.mark.parametrize("source", sorted(SMALL))
def test_few_elements_without_functions_have_no_stages(source: str) -> None:
    plan = SMALL[source](3).batch(2).__headrace_plan__()
    is_small = is_quiet(plan) and SmallRun.of(plan) is not None
    assert is_small == ("generator" not in source and source not in ("without end", "the first that fit"))


def test_an_iterator_of_a_function_calls_no_more_than_it_gives_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def see(number: int) -> int:
        seen.append(number)
        return number

    def first(number: int) -> Any:
        return next(iter(hr.Dataset.range(number, number + 5).map(see).filter(lambda _: True)))

    monkeypatch.setattr("headrace.engine.calling_run._FIRST_S", 0.0)  # one is as much as is made at once
    assert list(hr.Dataset.range(3).map(first)) == seen == [0, 1, 2]


def test_a_function_cannot_read_the_iterator_that_calls_it_and_may_close_it() -> None:
    refused: list[Exception] = []
    iterators: list[DatasetIterator] = []

    def read(number: int) -> int:
        try:
            next(iterators[-1])
        except hr.errors.FailedPreconditionError as error:
            refused.append(error)
        if number == 2:
            iterators[-1].close()
        return number

    def outer(number: int) -> int:
        iterators.append(iter(hr.Dataset.range(5).map(read)))
        return sum(1 for _ in iterators[-1])

    (count,) = hr.Dataset.range(1).map(outer)
    assert count <= 2  # which was given before it was closed
    assert len(refused) >= 3


def test_small_plans_with_functions_have_no_run_of_their_own_in_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[object] = []
    monkeypatch.setattr("headrace.engine.calling_run.CallingRun.__init__", _noted(CallingRun.__init__, began))
    for then in (
        lambda w: w.map(lambda x: x + 1),
        lambda w: w.filter(lambda x: x % 2 == 0),
        lambda w: w.map(lambda x: x + 1).filter(lambda x: x > 3).take(2),
        lambda w: w.batch(2).map(lambda x: x + 1),
        lambda w: w.map(lambda x: x + 1).batch(2),
        lambda w: w.scan(0, lambda state, x: (state + x, state)),
        lambda w: w.take_while(lambda x: x % 10 < 7).skip(1),
        lambda w: w.enumerate().map(lambda i, x: i + x).padded_batch(3),
    ):
        began.clear()
        counts = list(hr.Dataset.range(40).window(10).map(lambda w, then=then: len(list(then(w)))))
        assert len(counts) == len(began) == 4


def _noted(init: Callable[..., None], began: list[object]) -> Callable[..., None]:
    def noted(self: object, *arguments: Any) -> None:
        began.append(self)
        init(self, *arguments)

    return noted
