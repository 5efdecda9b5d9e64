"""Law 5 for elements that failed: what a function had open is given back when nobody has its error any more, not when the garbage is collected."""

from __future__ import annotations

import collections
import contextlib
import gc
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases.held import join_threads
from tests.laws.elements import Failing
from tests.laws.plans import Recipe, recipes
from tests.laws.running import REFERENCE, Way, running, ways

import headrace as hr
from headrace.observe import frames
from headrace.physical.workers.subplan_reader import PrefetchingReader
from headrace.testing.restoring import delivered

DS = hr.Dataset
OPEN: weakref.WeakSet[Open] = weakref.WeakSet()
EVERYTHING_LOOKED_AT = frames._holds, frames._reaches, frames._since, frames._within, frames._hands_over, frames._begins
LOOKED_AT: tuple[Any, ...] = ()
EXECUTORS = pytest.mark.parametrize("executor", ["thread", "inline"])


class Open:
    """As a file that a function has open where it fails."""

    def __init__(self) -> None:
        OPEN.add(self)


@pytest.fixture(autouse=True)
def nothing_is_open() -> None:
    OPEN.clear()


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the functions themselves look around: who does it from another thread has the frames until it is that thread's turn again."""
    monkeypatch.setattr("headrace.physical.lock_watch.can_probe", lambda: False)
    monkeypatch.setattr(f"{__name__}.LOOKED_AT", EVERYTHING_LOOKED_AT)


@contextlib.contextmanager
def no_garbage_collected() -> Iterator[None]:
    """Has what is in a circle stay meanwhile."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def pass_over(iterator: hr.DatasetIterator, count: int) -> Any:
    """Takes so many elements, and returns the last one."""
    return next(iter(collections.deque(delivered(iterator, count), maxlen=1)), None)


def look_around() -> None:
    """Looks at the variables of what works on elements here, as what watches a run does at any moment."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if any(frame.f_code in marked for marked in LOOKED_AT):
            frame.f_locals  # noqa: B018


def fails(*element: Any) -> Any:
    opened = Open()
    look_around()
    if int(np.max(element[0])) % 3 == 1:
        raise ValueError(f"with {opened}")
    return element[0]


def fails_always(*_: Any) -> Any:
    opened = Open()
    look_around()
    raise ValueError(f"with {opened}")


def gives_dataset(x: Any) -> hr.Dataset:
    fails(x)
    return DS.from_tensors(x)


def gives_failing(x: Any) -> hr.Dataset:
    return DS.range(2).map(lambda y: fails(x))


def generates() -> Iterator[int]:
    for x in range(7):
        yield fails(x) if x != 4 else x
        with contextlib.suppress(ValueError):
            fails(x)


PLANS: dict[str, Callable[[], hr.Dataset]] = {
    "map": lambda: DS.range(7).map(fails),
    "chain": lambda: DS.range(7).map(fails).map(fails).filter(lambda x: True),
    "parallel map": lambda: DS.range(7).map(fails, 2),
    "timed map": lambda: DS.range(7).map(fails, timeout_s=36_000),
    "timed parallel map": lambda: DS.range(7).map(fails, 2, timeout_s=36_000),
    "timed vectorized map": lambda: DS.range(7).map(hr.vectorized(fails), timeout_s=36_000),
    "vectorized map": lambda: DS.range(7).map(hr.vectorized(fails)),
    "parallel vectorized map": lambda: DS.range(7).map(hr.vectorized(fails), 2),
    "random_map": lambda: DS.range(7).random_map(lambda rng, x: fails(x)),
    "skipped": lambda: DS.range(7).map(fails, on_error="skip"),
    "replaced": lambda: DS.range(7).map(fails, 2, on_error=lambda error: -1),
    "badly replaced": lambda: DS.range(7).map(fails, on_error=fails_always),
    "ignored": lambda: DS.range(7).map(fails, 2).ignore_errors(),
    "filter": lambda: DS.range(7).filter(lambda x: fails(x) >= 0),
    "take_while": lambda: DS.range(7).take_while(lambda x: fails(x) >= 0),
    "scan": lambda: DS.range(7).scan(0, lambda state, x: (state, fails(x))),
    "batch": lambda: DS.range(7).map(fails, 2).batch(2),
    "shuffle": lambda: DS.range(7).map(fails).shuffle(3).prefetch(1),
    "from_generator": lambda: DS.from_generator(generates),
    "group_by_window": lambda: DS.range(7).group_by_window(fails, lambda key, group: group.batch(2), 2),
    "zip": lambda: DS.zip((DS.range(7).map(fails), DS.range(7).map(fails))),
    "flat_map": lambda: DS.range(7).flat_map(gives_dataset),
    "interleave": lambda: DS.range(7).interleave(gives_dataset, 2),
    "parallel interleave": lambda: DS.range(7).interleave(gives_dataset, 2, num_parallel_calls=2),
    "inside flat_map": lambda: DS.range(7).flat_map(gives_failing),
    "inside parallel interleave": lambda: DS.range(7).interleave(gives_failing, 2, num_parallel_calls=2),
}


@EXECUTORS
@pytest.mark.parametrize("plan", PLANS)
def test_what_a_function_had_open_is_given_back_with_its_error(plan: str, executor: str) -> None:
    dataset = PLANS[plan]().with_options(hr.Options(executor=executor))
    with no_garbage_collected():
        iterator = iter(dataset)
        pass_over(iterator, 20)
        iterator.close()
        del iterator
        join_threads(10)
        assert len(OPEN) == 0


@EXECUTORS
@pytest.mark.parametrize("plan", PLANS)
def test_where_a_run_is_broken_off_what_failed_ahead_is_given_back_too(plan: str, executor: str) -> None:
    for count in range(1, 6):
        dataset = PLANS[plan]().with_options(hr.Options(executor=executor))
        with no_garbage_collected():
            iterator = iter(dataset)
            pass_over(iterator, count)
            iterator.close()
            del iterator
            join_threads(10)
            assert len(OPEN) == 0


def test_what_fails_while_the_run_is_stopped_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    entered, stopped = threading.Event(), threading.Event()
    stop = PrefetchingReader.stop

    def stopping(self: PrefetchingReader) -> None:
        stop(self)
        stopped.set()

    def fails_late(x: int) -> int:
        opened = Open()
        entered.set()
        assert stopped.wait(60)
        raise ValueError(f"with {opened}")

    monkeypatch.setattr(PrefetchingReader, "stop", stopping)
    with no_garbage_collected():
        iterator = iter(DS.range(1).interleave(lambda x: DS.range(2).map(fails_late), 1, num_parallel_calls=1))
        reader = threading.Thread(target=pass_over, args=(iterator, 1))
        reader.start()
        assert entered.wait(60)
        iterator.close()
        reader.join()
        del iterator, reader
        join_threads(10)
        assert len(OPEN) == 0


@given(recipes(), st.one_of(st.just(REFERENCE), ways()))
def test_no_error_outlives_a_run(recipe: Recipe, way: Way) -> None:
    Failing.alive.clear()
    with no_garbage_collected():
        with running(recipe.build(), way) as iterator:
            pass_over(iterator, 60)
        del iterator
        join_threads(10)
        assert len(Failing.alive) == 0


# What drops an element that failed tells it nobody: of the two that fail in a batch one is told.
DROPPING: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "batch": lambda ds: ds.batch(4),
    "padded_batch": lambda ds: ds.padded_batch(4),
    "rebatch": lambda ds: ds.batch(4).rebatch(3),
    "zip": lambda ds: DS.zip((ds, ds)),
    "skip": lambda ds: ds.skip(300),
    "ignore_errors": lambda ds: ds.ignore_errors(),
    "nothing": lambda ds: ds,
}


@EXECUTORS
@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize("dropping", DROPPING)
@pytest.mark.parametrize("on_error", ["raise", "skip", fails_always, lambda _: -1])
def test_errors_do_not_gather_while_a_run_goes_on(dropping: str, on_error: Any, executor: str) -> None:
    failing = DS.range(600).map(fails_always, on_error=on_error)
    dataset = DROPPING[dropping](failing).concatenate(DROPPING[dropping](DS.range(9_000).map(lambda _: len(OPEN))))
    with no_garbage_collected(), iter(dataset.with_options(hr.Options(executor=executor))) as iterator:
        assert int(np.max(pass_over(iterator, 21_000))) == 0


@EXECUTORS
def test_who_has_an_error_has_the_users_frames_and_none_of_a_pipeline(executor: str) -> None:
    def decode(x: int) -> int:
        missing = Open()
        raise ValueError(f"with {missing}")

    iterator = iter(DS.range(3).map(decode).with_options(hr.Options(executor=executor)))
    with pytest.raises(hr.errors.DataError) as raised:
        next(iterator)
    cause = raised.value.__cause__
    assert cause is not None
    frames = [frame for frame, _ in traceback.walk_tb(cause.__traceback__)]
    assert isinstance(frames[-1].f_locals["missing"], Open)
    for frame in frames[:-1]:
        assert not frame.f_locals
    assert "raise ValueError" in "".join(traceback.format_exception(raised.value))
    (failed,) = iterator.stats().failures
    assert "raise ValueError" in failed.first[0].traceback


def fails_at_first(x: int) -> int:
    """Says of later elements what it has still open in its process."""
    if x < 40:
        fails_always(x)
    return len(OPEN)


@pytest.mark.parametrize("executor", ["process", "subprocess"])
@pytest.mark.parametrize("on_error", ["raise", "skip", lambda _: -1])
def test_processes_give_back_what_functions_had_open_in_them(executor: str, on_error: Any) -> None:
    options = hr.Options(executor=executor, num_workers=2, worker_init=gc.disable)
    with iter(DS.range(20_000).map(fails_at_first, 2, on_error=on_error).with_options(options)) as iterator:
        assert pass_over(iterator, 21_000) == 0
