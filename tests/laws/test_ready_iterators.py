"""An iterator that has its elements at hand, as of a window, is what every iterator is, whenever something else than an element is asked of it."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import assert_same, through_json
from tests.laws.test_small_runs import HELD, LIMIT, WITH_STAGES, is_writable, small, with_stages

import headrace as hr
from headrace.errors import OutOfRangeError
from headrace.iterator import DatasetIterator, ready_iterator
from headrace.iterator.numpy_iterator import NumpyIterator, ReadyNumpyIterator
from headrace.iterator.ready_iterator import ReadyIterator
from headrace.testing.restoring import delivered

Build = Callable[[], hr.Dataset]


# What a window holds, and what few operations make of it.
WINDOWS = {name: source for name, source in HELD.items() if name != "many"}


class Asked:
    """An iterator of which this or that is asked, and what it answered."""

    def __init__(self, iterator: DatasetIterator) -> None:
        self.iterator = iterator
        self.state: dict[str, Any] = {}
        self.has_more = True

    def next(self) -> Any:
        try:
            return next(self.iterator)
        except StopIteration:
            self.has_more = False
            return "the end"
        except hr.errors.HeadraceError as error:
            return error

    def get_next(self) -> Any:
        try:
            return self.iterator.get_next()
        except OutOfRangeError:
            self.has_more = False
            return "the end"
        except hr.errors.HeadraceError as error:
            return error

    def saved(self) -> Any:
        self.state = through_json(self.iterator.state_dict())
        return self.state["delivered"]

    def loaded(self) -> Any:
        if self.state:
            self.iterator.load_state_dict(self.state)
            self.has_more = True
        return None

    def counted(self) -> Any:
        return self.iterator.stats().elements

    def ended(self) -> Any:
        return None if self.has_more else self.iterator.is_open

    def closed(self) -> Any:
        self.iterator.close()
        self.has_more = False
        return None

    def refused(self) -> Any:
        return hasattr(self.iterator, "no_such_thing"), hasattr(self.iterator, "__no_such_thing__")


QUESTIONS = ["next", "next", "next", "get_next", "saved", "loaded", "counted", "ended", "closed", "refused"]


def answers(iterator: DatasetIterator, questions: list[str], build: Build) -> list[Any]:
    """What it answers, and what comes after the last state."""
    asked = Asked(iterator)
    found = [getattr(asked, question)() for question in questions]
    if asked.state:
        again = with_stages(build())
        again.load_state_dict(asked.state)
        found += delivered(again, LIMIT)
    return found


@given(small(sources=WINDOWS), st.lists(st.sampled_from(QUESTIONS), max_size=20))
def test_it_answers_as_every_iterator_does(build: Build, questions: list[str]) -> None:
    expected, found = answers(with_stages(build()), questions, build), answers(iter(build()), questions, build)
    assert_same(expected, found)
    assert list(map(is_writable, found)) == list(map(is_writable, expected))


@given(small(), st.lists(st.sampled_from(QUESTIONS), max_size=20))
def test_it_does_so_in_a_function_of_a_run(build: Build, questions: list[str]) -> None:
    told: list[Any] = []

    def ask(_: int) -> int:
        told.append(answers(iter(build()), questions, build))
        return 0

    list(hr.Dataset.range(1).map(ask))
    assert_same(answers(with_stages(build()), questions, build), told[0])


@pytest.mark.parametrize("asked", ["saved", "counted", "refused", "loaded"])
@pytest.mark.parametrize("after", range(5))
def test_it_ends_whenever_something_was_asked(asked: str, after: int) -> None:
    (window,) = hr.Dataset.range(3).window(3)
    questions = [*["next"] * after, asked, *["next"] * (4 - after), "ended", "saved", "loaded", "next"]
    assert answers(iter(window), questions, lambda: window) == answers(with_stages(window), questions, lambda: window)


@given(small(sources=WINDOWS), st.lists(st.sampled_from(QUESTIONS), max_size=20))
def test_one_of_numpys_numbers_does_so_too(build: Build, questions: list[str]) -> None:
    plan = build().__headrace_plan__()
    expected = answers(NumpyIterator(plan, policy=WITH_STAGES), questions, build)
    assert_same(expected, answers(build().as_numpy_iterator(), questions, build))


def test_windows_are_read_by_it() -> None:
    kinds: list[type] = []
    for window in hr.Dataset.range(6).window(3):
        kinds += [type(iter(window)), type(iter(window.batch(2)))]
        assert type(window.as_numpy_iterator()) is ReadyNumpyIterator

    def read(n: int) -> int:
        kinds.append(type(iter(hr.Dataset.range(3))))
        return n

    list(hr.Dataset.range(1).map(read))
    assert kinds == [ReadyIterator] * 5
    assert type(iter(hr.Dataset.range(3))) is DatasetIterator  # which those see who look at the program


def test_an_error_in_the_middle_is_met_in_its_place() -> None:
    (window,) = hr.Dataset.range(3).map(lambda x: np.arange(x % 2)).window(3)
    iterator = iter(window.batch(2))
    with pytest.raises(hr.errors.InvalidArgumentError, match="element"):
        next(iterator)
    assert [batch.shape for batch in iterator] == [(1, 0)]


@pytest.mark.parametrize("times", range(20))
def test_threads_that_look_meanwhile_take_nothing_from_its_reader(times: int) -> None:
    (window,) = hr.Dataset.range(400).window(400)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        iterator = iter(window)
        states: list[dict[str, Any]] = []
        lookers = [threading.Thread(target=lambda: states.append(iterator.state_dict())) for _ in range(2)]
        taken = [next(iterator) for _ in range(times)]
        for looker in lookers:
            looker.start()
        taken += iterator  # by a call that may have begun before
        for looker in lookers:
            looker.join()
    finally:
        sys.setswitchinterval(before)
    assert taken == list(range(400))
    for state in states:
        again = iter(window)
        again.load_state_dict(state)
        assert list(again) == list(range(state["delivered"], 400))


def test_it_becomes_one_while_somebodys_code_asks_another() -> None:
    (window,) = hr.Dataset.range(40).window(40)
    others = iter(window)

    class Asking:
        def __del__(self) -> None:
            asked.append(others.state_dict()["delivered"])

    asked: list[int] = []
    begun: list[DatasetIterator] = []
    iterator = iter(window)
    begin = DatasetIterator.__init__

    def collected(self: DatasetIterator, *arguments: Any, **more: Any) -> None:
        if not begun:
            begun.append(self)
            Asking()  # which goes at once
        begin(self, *arguments, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DatasetIterator, "__init__", collected)
        assert iterator.state_dict()["delivered"] == 0
    assert asked == [0]
    assert list(iterator) == list(others) == list(range(40))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_copy_of_the_process_goes_on_with_it_whoever_asked_meanwhile() -> None:
    (window,) = hr.Dataset.range(5).window(5)
    iterator = iter(window)
    assert next(iterator) == 0
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with ready_iterator._BECOMING.lock:
            held.set()
            go_on.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a thread beside it, as from Python 3.12 on
        child = os.fork()
    if not child:
        os._exit(0 if next(iterator) == 1 and iterator.state_dict()["delivered"] == 2 else 1)
    go_on.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert list(iterator) == [1, 2, 3, 4]
