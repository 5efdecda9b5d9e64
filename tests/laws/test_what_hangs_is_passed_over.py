"""Laws 1, 3 and 6 for functions that do not return: at its timeout such an element has failed in its place, and all others come."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.hang_clock import LIMIT_S, HangClock, Hangs, held_up
from tests.laws.hosts import Hosts, one_process_for_plans
from tests.laws.running import Way, assert_same, elements_of, history, resumed, ways

import headrace as hr
from headrace.backends.process import deadlines, worker
from headrace.backends.process.worker import WorkerProcess

OnError = str | Callable[[hr.errors.HeadraceError], Any]
Make = Callable[[Hangs, OnError], hr.Dataset]

RANGE = hr.Dataset.range(12)
BY_OPTIONS = hr.Options(timeout_s=LIMIT_S)


class Numbered:
    """A source that is read by number."""

    def __init__(self, hangs: Hangs) -> None:
        self._hangs = hangs

    def __len__(self) -> int:
        return 12

    def __getitem__(self, number: int) -> int:
        return int(self._hangs.at(number))


def plus(number: Any, by: int = 100) -> Any:
    return number + by


def is_kept(number: Any) -> bool:
    return bool(number % 5 != 1)


def length_of_origin(error: hr.errors.HeadraceError) -> int:
    assert isinstance(error, TimeoutError)
    return -len(error.origin or "")


def timed(hangs: Hangs, on_error: OnError, calls: int | None = None, **settings: Any) -> hr.Dataset:
    return RANGE.map(hangs.at, calls, timeout_s=LIMIT_S, on_error=on_error, **settings)


# Every spelling of a map with a timeout.
MAKES: dict[str, Make] = {
    "serial": timed,
    "one worker": lambda hangs, on_error: timed(hangs, on_error, 1),
    "workers": lambda hangs, on_error: timed(hangs, on_error, 2),
    "autotune": lambda hangs, on_error: timed(hangs, on_error, hr.AUTOTUNE),
    "before maps that are one task with it": lambda hangs, _: timed(hangs, "raise", 2).map(plus, 2).map(hangs.at, 2),
    "behind maps that are one task with it": lambda hangs, _: (
        RANGE.map(plus, 2).map(lambda x: x - 100, 2).map(hangs.at, 2, timeout_s=LIMIT_S)
    ),
    "among loops": lambda hangs, on_error: (
        RANGE.map(plus)
        .filter(is_kept)
        .map(lambda x: hangs.at(x - 100), timeout_s=LIMIT_S, on_error=on_error)
        .enumerate()
        .map(lambda n, x: (n, plus(x)))
    ),
    "batched by workers": lambda hangs, on_error: timed(hangs, on_error, 2).batch(3),
    "by the options of all": lambda hangs, on_error: RANGE.map(hangs.at, 2, on_error=on_error).with_options(BY_OPTIONS),
    "drawing": lambda hangs, _: RANGE.random_map(hangs.drawn, 7, 2, timeout_s=LIMIT_S),
    "drawing serially": lambda hangs, _: RANGE.random_map(hangs.drawn, 7, timeout_s=LIMIT_S),
    "behind a shuffle": lambda hangs, on_error: RANGE.shuffle(5, 3).map(hangs.at, timeout_s=LIMIT_S, on_error=on_error),
    "before a shuffle": lambda hangs, on_error: timed(hangs, on_error, 2).shuffle(5, 3),
    "twice": lambda hangs, on_error: timed(hangs, on_error).repeat(2).prefetch(2),
    "a source": lambda hangs, _: hr.Dataset.source(Numbered(hangs)).with_options(BY_OPTIONS),
    "a source in workers": lambda hangs, _: hr.Dataset.source(Numbered(hangs), num_parallel_calls=2).with_options(
        BY_OPTIONS
    ),
    "inside flat_map": lambda hangs, on_error: hr.Dataset.range(3).flat_map(
        lambda x: hr.Dataset.range(4).map(lambda y: hangs.at(4 * x + y), timeout_s=LIMIT_S, on_error=on_error)
    ),
    "inside interleave": lambda hangs, _: (
        hr.Dataset.range(3)
        .interleave(
            lambda x: hr.Dataset.range(4).map(lambda y: hangs.at(4 * x + y)), cycle_length=2, num_parallel_calls=2
        )
        .with_options(BY_OPTIONS)
    ),
    "inside windows": lambda hangs, _: RANGE.group_by_window(
        lambda x: x % 2, lambda _, group: group.map(hangs.at), 4
    ).with_options(BY_OPTIONS),
    "of tuples": lambda hangs, on_error: RANGE.enumerate().map(
        lambda n, x: (hangs.at(x), n), timeout_s=LIMIT_S, on_error=on_error
    ),
}
makes = st.sampled_from(sorted(MAKES))
on_errors = st.sampled_from(["raise", "skip", length_of_origin])
numbers = st.frozensets(st.integers(0, 11), min_size=1, max_size=3)


def by_hang_clock(way: Way, executor: str) -> Way:
    # Nothing is read ahead of a state but what its own run reads: how often a function hangs is bounded.
    options = dataclasses.replace(way.options, executor=executor, timeout_s=None)
    return dataclasses.replace(way, options=options, clock=HangClock(), jumps=None)


def expected_of(make: str, hanging: frozenset[int], on_error: OnError) -> list[Any]:
    return elements_of(MAKES[make](Hangs(hanging), on_error))


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    hosts = Hosts()
    yield hosts
    hosts.end()


@given(make=makes, hanging=numbers, on_error=on_errors, way=ways(), executor=st.sampled_from(["thread", "inline"]))
def test_what_hangs_has_failed_in_its_place_and_all_else_comes(
    make: str, hanging: frozenset[int], on_error: OnError, way: Way, executor: str
) -> None:
    with held_up(hanging) as hangs:
        came = elements_of(MAKES[make](hangs, on_error), by_hang_clock(way, executor))
    assert_same(expected_of(make, hanging, on_error), came)


@given(
    make=makes,
    hanging=numbers,
    on_error=on_errors,
    one=ways(),
    other=ways(),
    executors=st.permutations(["thread", "inline"]),
)
def test_a_run_in_which_something_hangs_goes_on_from_any_state(
    make: str, hanging: frozenset[int], on_error: OnError, one: Way, other: Way, executors: list[str]
) -> None:
    with held_up(hanging) as hangs:
        came, states = history(MAKES[make](hangs, on_error), by_hang_clock(one, executors[0]), limit=30)
        for count, state in enumerate(states):
            dataset = MAKES[make](hangs, on_error)
            assert_same(came[count:], resumed(dataset, state, by_hang_clock(other, executors[1]), limit=30))


@given(hanging=numbers, on_error=on_errors, way=ways())
def test_in_any_order_all_else_comes_once(hanging: frozenset[int], on_error: OnError, way: Way) -> None:
    with held_up(hanging) as hangs:
        dataset = timed(hangs, on_error, 2, deterministic=False)
        came = elements_of(dataset, dataclasses.replace(by_hang_clock(way, "thread"), last_ones_first=True))
    assert_same(elements_of(timed(Hangs(hanging), on_error)), came, in_order=False)


class OfWorkers:
    """The clocks by which a process runs out of time when it hangs, and no other one does."""

    def __init__(self, folder: str | None) -> None:
        assert folder is not None  # functions hang
        self._folder = folder

    def monotonic(self) -> float:
        waiting = sys._getframe(2).f_locals["self"]  # who asks its deadlines
        assert isinstance(waiting, WorkerProcess)
        return 1e12 if Path(self._folder, str(waiting.pid)).exists() else 0.0


# Each hang costs the start of an interpreter.
@settings(max_examples=(settings().max_examples + 9) // 10)
@given(make=makes, hanging=st.frozensets(st.integers(0, 11), min_size=1, max_size=2), on_error=on_errors, way=ways())
def test_a_process_that_hangs_is_replaced_and_all_else_comes(
    make: str, hanging: frozenset[int], on_error: OnError, way: Way
) -> None:
    with held_up(hanging) as hangs, pytest.MonkeyPatch.context() as patch:
        patch.setattr(deadlines, "time", OfWorkers(hangs.folder))
        patch.setattr(worker, "_LONGEST_WAIT_S", 1e-3)
        came = elements_of(MAKES[make](hangs, on_error), by_hang_clock(way, "process"))
    assert_same(expected_of(make, hanging, on_error), came)


@settings(max_examples=(settings().max_examples + 2) // 3)
@given(make=makes, hanging=numbers, on_error=on_errors, one=ways(), other=ways())
def test_beside_the_trainer_it_is_the_same(
    hosts: Hosts, make: str, hanging: frozenset[int], on_error: OnError, one: Way, other: Way
) -> None:
    with held_up(hanging) as hangs, one_process_for_plans(hosts):
        came, states = history(MAKES[make](hangs, on_error), by_hang_clock(one, "subprocess"), limit=30)
        state = states[len(states) // 2]
        rest = resumed(MAKES[make](hangs, on_error), state, by_hang_clock(other, "subprocess"), limit=30)
    assert_same(expected_of(make, hanging, on_error), came)
    assert_same(came[len(states) // 2 :], rest)
