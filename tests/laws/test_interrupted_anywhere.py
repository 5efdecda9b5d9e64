"""Laws 3 and 5 under Ctrl-C, wherever it comes: nothing hangs, no thread is left, and the place is that of what was delivered."""

from __future__ import annotations

import contextlib
import gc
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.interrupting import interrupted
from tests.laws.plans import Recipe, recipes
from tests.laws.running import (
    LIMIT,
    REFERENCE,
    THOROUGH,
    Alternating,
    AlwaysAhead,
    Way,
    assert_same,
    elements_of,
    in_blocks_of,
    resumed,
    running,
    through_json,
    ways,
)
from tests.laws.test_it_always_ends import busy_plans, nothing_left, open_files, threads

import headrace as hr
from headrace.errors import FailedPreconditionError, HeadraceError
from headrace.physical.workers.overlap_tuner import OverlapTuner
from headrace.testing.restoring import delivered

# A file that was opened at that very moment is held by the traceback alone, and closed with it: `with open()` does no better.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")

# Every point where a run may be interrupted, or one in a few: there are hundreds of them, and a thousand while it ends.
STRIDE = 1 if THOROUGH else 5
STRIDE_AT_THE_END = 1 if THOROUGH else 15


@pytest.fixture(autouse=True)
def no_frames_for_the_tests_behind() -> Iterator[None]:
    """Errors hold the frames in which they came, and those the files of their plans, until they are collected."""
    yield
    gc.collect()


def nothing_left_behind() -> bool:
    """No thread at once; no file once the frames are gone that were interrupted, and they may stand in a circle."""
    return not threads() and (nothing_left() or (gc.collect() >= 0 and nothing_left()))


def next_one(iterator: hr.DatasetIterator) -> list[Any]:
    """The next element, or its error; nothing at the end."""
    try:
        return [next(iterator)]
    except HeadraceError as error:
        return [error]
    except StopIteration:
        return []


@given(recipes(), ways(), st.integers(0, 8), st.integers(0, 300))
def test_what_ctrl_c_stopped_goes_on_behind_the_last_element_delivered(
    recipe: Recipe, way: Way, count: int, point: int
) -> None:
    expected = elements_of(recipe.build())
    with running(recipe.build(), way) as iterator:
        came = list(delivered(iterator, count))
        with interrupted(point) as interruption:
            try:
                came += next_one(iterator)
            except KeyboardInterrupt:
                assert interruption.came
        state = through_json(iterator.state_dict())
    assert not threads(), f"{interruption.where}: {threads()}"
    assert_same(expected[len(came) :], resumed(recipe.build(), state, way, limit=LIMIT - len(came)))


# All that runs in the consumer's thread is passed through point by point: little where a prefetch has another thread for it.
PLANS = [*((plan, AlwaysAhead) for plan in sorted(busy_plans())), ("prefetch", Alternating)]


@pytest.mark.parametrize(("plan", "overlap"), PLANS)
@pytest.mark.parametrize("count", [0, 1, 6])
def test_ctrl_c_ends_the_run_before_it_is_handled(plan: str, overlap: type[OverlapTuner], count: int) -> None:
    for point in itertools.count(count % STRIDE, STRIDE):
        iterator = in_blocks_of(None, busy_plans()[plan], overlap=overlap)
        for _ in range(count):
            next(iterator)
        with interrupted(point) as interruption:
            try:
                next(iterator)
            except KeyboardInterrupt:
                # Where the very first instruction was interrupted nothing has begun, and nothing ends.
                assert point == 0 or not threads(), f"{interruption.where}: {threads()}"
        iterator.close()
        assert nothing_left_behind(), f"closed after {interruption.where}: {threads()}, {open_files()}"
        if not interruption.came:
            break


@pytest.mark.parametrize(("plan", "overlap"), PLANS)
@pytest.mark.parametrize(
    "end", [lambda iterator: next(iterator, None), lambda iterator: iterator.close()], ids=["next", "close"]
)
def test_ctrl_c_while_a_run_ends_leaves_nothing_once_it_is_closed(
    plan: str, overlap: type[OverlapTuner], end: Callable[[hr.DatasetIterator], object]
) -> None:
    for point in itertools.count(step=STRIDE_AT_THE_END):
        iterator = in_blocks_of(None, busy_plans()[plan].take(5), overlap=overlap)
        list(delivered(iterator, 5))
        with interrupted(point) as interruption, contextlib.suppress(KeyboardInterrupt):
            end(iterator)
        iterator.close()
        assert nothing_left_behind(), f"closed after {interruption.where}: {threads()}, {open_files()}"
        if not interruption.came:
            break


@given(recipes(), st.integers(0, 8), st.integers(0, 300))
def test_the_reference_has_a_place_or_says_that_it_has_none(recipe: Recipe, count: int, point: int) -> None:
    with running(recipe.build(), REFERENCE) as iterator:
        came = list(delivered(iterator, count))
        with interrupted(point) as interruption, contextlib.suppress(KeyboardInterrupt):
            came += next_one(iterator)
        try:
            state = through_json(iterator.state_dict())
        except FailedPreconditionError:
            assert interruption.came
            return
    assert_same(
        elements_of(recipe.build())[len(came) :], resumed(recipe.build(), state, REFERENCE, limit=LIMIT - len(came))
    )
