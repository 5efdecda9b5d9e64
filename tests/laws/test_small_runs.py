"""A small plan by itself, as functions read a window: a run without stages gives what one with them gives, and tells the same of it.

The other laws give their plans options, and a plan with options has stages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import assert_same, through_json
from tests.laws.small_plans import SOURCES, STEPS

import headrace as hr
from headrace.engine import SmallRun
from headrace.errors import HeadraceError
from headrace.iterator import DatasetIterator
from headrace.physical.run_policy import RunPolicy
from headrace.plan.quiet import is_quiet
from headrace.testing.restoring import delivered

Build = Callable[[], hr.Dataset]
# What a run does that is free to choose; where that is another than the usual one, it has stages.
WITH_STAGES = RunPolicy()
LIMIT = 40


def _window(mapped: Callable[[Any], Any]) -> Callable[[int], Any]:
    return lambda n: next(iter(hr.Dataset.range(20).map(mapped).window(1 + n % 6)))


HELD = {
    "a window": lambda n: next(iter(hr.Dataset.range(20).window(1 + n % 6))),
    "windows side by side": lambda n: hr.Dataset.zip(_window(lambda x: (x, {"row": np.full(2, x)}))(n)),
    "a window of rows that differ": _window(lambda x: np.arange(x % 3)),  # of which no batch can be made
    "many": lambda n: hr.Dataset.range(300 + n),  # more than are taken apart at once
}
SMALL = SOURCES | HELD
QUIET = {
    **{name: step for name, step in STEPS.items() if name.startswith(("enumerate", "take", "skip ", "batch", "zip"))},
    "repeat": STEPS["repeat"],
    "padded_batch": lambda ds: ds.padded_batch(2),
    "ragged_batch": lambda ds: ds.ragged_batch(2),
}


@st.composite
def small(draw: st.DrawFn) -> Build:
    """A plan of a few elements without functions, made anew each time."""
    source = SMALL[draw(st.sampled_from(sorted(SMALL)))]
    steps = [QUIET[name] for name in draw(st.lists(st.sampled_from(sorted(QUIET)), max_size=3))]
    number = draw(st.integers(0, 9))

    def build() -> hr.Dataset:
        ds = source(number)
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

    def from_stages(ds: hr.Dataset) -> list[Any]:
        with with_stages(ds) as iterator:
            return list(iterator)

    expected, gathered = read(from_stages), read(lambda ds: [*_gathered(ds)])
    assert_same([expected], [gathered])
    single = read(lambda ds: ds.get_single_element())
    if isinstance(expected, list) and len(expected) == 1:
        assert_same(expected, [single])
    else:
        assert isinstance(single, HeadraceError)


def _gathered(ds: hr.Dataset) -> list[Any]:
    elements: list[Any] = []
    ds.reduce(0, lambda count, element: elements.append(element) or count)
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
    assert is_small == (source not in ("a generator", "without end"))
