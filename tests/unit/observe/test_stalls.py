"""When a wait is too long, and how that is told: once, with all who hold the run up, the longest first."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest
from tests.unit.queues.background import HandClock

import headrace as hr
from headrace.engine import Run
from headrace.log import LOG
from headrace.observe.onlookers import Onlookers
from headrace.observe.stalls import Stall, Vigil

LIMIT_S = 30.0


def vigil(clock: HandClock, *, patience_s: float | None = 30.0) -> Vigil:
    return Vigil(object(), lambda: (), patience_s, clock=clock)


def test_a_wait_is_told_when_it_is_too_long_and_not_before(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    watched = vigil(clock)
    watched.waiting_since_s = clock.now_s()
    clock.move(29.9)
    watched.look()
    assert not caplog.records
    clock.move(0.1)
    watched.look()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert caplog.messages[0].startswith("nothing came for 30 s: no function holds an element")


def test_a_wait_is_told_once_and_the_next_one_again(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    watched = vigil(clock)
    for waits in (1, 2):
        watched.waiting_since_s = clock.now_s()
        clock.move(31)
        watched.look()
        clock.move(31)
        watched.look()
        assert len(caplog.records) == waits


def test_a_consumer_that_does_not_wait_is_never_told(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    watched = vigil(clock)
    clock.move(1_000)
    watched.look()
    assert not caplog.records


def test_it_is_looked_at_next_when_its_wait_or_one_that_begins_now_could_be_too_long() -> None:
    clock = HandClock()
    watched = vigil(clock)
    assert watched.due_s() == clock.now_s() + 30
    watched.waiting_since_s = clock.now_s()
    clock.move(10)
    assert watched.due_s() == clock.now_s() + 20
    clock.move(20)
    watched.look()
    assert watched.due_s() == clock.now_s() + 30  # it was told of


class Hanging:
    """Functions that do not come back before they are let go."""

    def __init__(self, count: int) -> None:
        self.all_begun = threading.Barrier(count + 1)
        self.may_go = threading.Event()

    def __call__(self, x: int) -> int:
        self.all_begun.wait(LIMIT_S)
        assert self.may_go.wait(LIMIT_S)
        return x


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is logged, and an event with it."""
    messages: list[str] = []
    monkeypatch.setattr(LOG, "warning", lambda text, *values: messages.append(text % values))
    return messages


def in_thread(iterator: Any) -> threading.Thread:
    thread = threading.Thread(target=next, args=(iterator,), daemon=True)
    thread.start()
    return thread


def when_only_functions_hold(iterator: hr.DatasetIterator, count: int) -> tuple[Stall, ...]:
    """What holds the iterator, once the thread that handed the tasks out has nothing left to do and waits as well."""
    end_s = time.monotonic() + LIMIT_S
    while len(held := iterator.stalls()) > count:
        assert time.monotonic() < end_s, held
    return held


def test_of_many_workers_that_hang_four_are_shown_and_the_rest_counted(told: list[str]) -> None:
    hanging = Hanging(6)
    options = hr.Options(stall_warning_s=1_000, num_workers=6)
    with iter(hr.Dataset.range(6).map(hanging, num_parallel_calls=6).with_options(options)) as iterator:
        thread = in_thread(iterator)
        hanging.all_begun.wait(LIMIT_S)
        assert isinstance(iterator._run, Run)
        watched = iterator._run._vigil
        held = when_only_functions_hold(iterator, 6)
        assert sorted(str(stall.origin) for stall in held) == [f"element {number}" for number in range(6)]
        assert [stall.held_s for stall in held] == sorted((stall.held_s for stall in held), reverse=True)
        clock = HandClock()
        clock.move(watched.waiting_since_s + 2_000)  # type: ignore[operator]  # it waits
        watched._clock = clock
        watched.look()
        hanging.may_go.set()
        thread.join(LIMIT_S)
    (message,) = told
    assert message.count("has held element") == 4
    assert message.endswith("and 2 more: iterator.stalls() has them all")


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_a_hang_is_told_by_the_time_that_the_options_set(executor: str, caplog: pytest.LogCaptureFixture) -> None:
    warned = threading.Event()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has held element 0" in record.getMessage():
                warned.set()

    handler = Handler()
    logging.getLogger("headrace").addHandler(handler)
    try:
        dataset = hr.Dataset.range(1).map(lambda x: x if warned.wait(LIMIT_S) else None)
        assert list(dataset.with_options(hr.Options(stall_warning_s=0.01, executor=executor))) == [0]
    finally:
        logging.getLogger("headrace").removeHandler(handler)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "headrace-watch"]


def test_one_thread_watches_all_runs_and_ends_with_the_last() -> None:
    dataset = hr.Dataset.range(3).map(lambda x: x)
    with iter(dataset) as first:
        next(first)
        with iter(dataset) as second:
            next(second)
            assert len(threads()) == 1
        assert len(threads()) == 1
    assert not threads()


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(
            hr.Dataset.range(3).filter(lambda x: x < 3).with_options(hr.Options(stall_warning_s=0)), id="switched off"
        ),
        pytest.param(hr.Dataset.range(9).shuffle(3).batch(2), id="nothing that could hang"),
    ],
)
def test_no_thread_watches_what_needs_none(dataset: hr.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    # That a program lasts, for others to look at, is seen elsewhere.
    monkeypatch.setattr(Onlookers, "is_waiting", False)
    with iter(dataset) as iterator:
        next(iterator)
        assert not threads()


def test_of_a_run_inside_a_function_each_iterator_tells_its_own() -> None:
    hanging = Hanging(1)
    inner: list[hr.DatasetIterator] = []

    def reads_another(x: int) -> int:
        with iter(hr.Dataset.range(5, 6).map(hanging)) as iterator:
            inner.append(iterator)
            return int(next(iterator)) + x

    with iter(hr.Dataset.range(2).skip(1).map(reads_another)) as outer:
        thread = in_thread(outer)
        hanging.all_begun.wait(LIMIT_S)
        (of_outer,), (of_inner,) = outer.stalls(), inner[0].stalls()
        hanging.may_go.set()
        thread.join(LIMIT_S)
    assert "reads_another" in of_outer.stage
    assert of_outer.origin == "element 1"
    assert "hanging" in of_inner.stage.lower()
    assert of_inner.origin == "element 0"


def test_a_stall_is_told_in_words() -> None:
    stall = Stall(
        "map 'decode' (train.py:41)", "element 1203", 29.4, "headrace-worker-0", '  File "train.py", line 43\n'
    )
    assert str(stall) == (
        "map 'decode' (train.py:41) has held element 1203 for 29 s, in headrace-worker-0:\n  File \"train.py\", line 43"
    )
