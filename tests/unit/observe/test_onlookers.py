"""When a process can be looked at: while it has a run that lasts, and never for more than a four-hundredth of its time."""

from __future__ import annotations

import threading

import pytest
from tests.unit.queues.background import HandClock

from headrace.observe.onlookers import Onlookers
from headrace.observe.watch import Watch

LIMIT_S = 30.0


class Doors:
    """Makes doors, and knows what became of them."""

    def __init__(self, clock: HandClock, takes_s: float = 0.0) -> None:
        self._clock = clock
        self._takes_s = takes_s
        self.did: list[str] = []
        self.was_opened = threading.Event()

    def __call__(self) -> Doors:
        return self

    def open(self) -> None:
        self._clock.move(self._takes_s)
        self.did.append("opened")
        self.was_opened.set()

    def close(self) -> None:
        self.did.append("closed")

    def leave_to_parent(self) -> None:
        self.did.append("left")

    def count(self, what: str) -> int:
        return self.did.count(what)

    def are_open(self) -> bool:
        return self.count("opened") > self.count("closed")


def onlookers_of(clock: HandClock, doors: Doors) -> Onlookers:
    onlookers = Onlookers(clock=clock, watch=Watch(clock=clock))
    onlookers.come_by(doors)
    return onlookers


def test_the_door_opens_when_a_run_has_lasted_a_second_and_closes_with_the_last_run() -> None:
    clock = HandClock()
    doors = Doors(clock)
    onlookers, runs = onlookers_of(clock, doors), [object(), object()]
    onlookers.begins(runs[0])
    clock.move(0.9)
    onlookers.lasts(clock.now_s())
    assert not doors.count("opened")
    clock.move(0.2)
    onlookers.lasts(clock.now_s())
    onlookers.begins(runs[1])
    onlookers.lasts(clock.now_s())
    assert doors.did == ["opened"]
    onlookers.ends(runs[0])
    onlookers.ends(runs[0])
    assert doors.are_open()
    onlookers.ends(runs[1])
    assert not doors.are_open()


def test_runs_that_are_short_are_shown_when_their_process_has_run_for_a_second() -> None:
    clock = HandClock()
    doors = Doors(clock)
    onlookers = onlookers_of(clock, doors)
    for number in range(6):
        run = object()
        onlookers.begins(run)
        assert doors.are_open() == (number >= 4)  # that begin 1.2 s after the first, and later
        clock.move(0.3)
        onlookers.ends(run)


def test_opening_the_door_takes_at_most_a_four_hundredth_of_the_time() -> None:
    clock = HandClock()
    doors = Doors(clock, takes_s=0.01)
    onlookers = onlookers_of(clock, doors)
    end_s = clock.now_s() + 400
    while clock.now_s() < end_s:
        run = object()
        onlookers.begins(run)
        clock.move(0.05)
        onlookers.ends(run)
    assert 80 <= doors.count("opened") <= 100
    assert not doors.are_open()


def test_the_watch_opens_the_door_where_nothing_comes() -> None:
    clock = HandClock()
    doors = Doors(clock)
    watch = Watch(clock=clock)
    onlookers, run = Onlookers(clock=clock, watch=watch), object()
    onlookers.come_by(doors)
    onlookers.begins(run)
    assert onlookers.is_waiting
    watch.add(onlookers)
    clock.move(1.1)
    assert doors.was_opened.wait(LIMIT_S)
    onlookers.ends(run)
    assert not doors.are_open()
    assert not any(thread.name == "headrace-watch" for thread in threading.enumerate())


def test_a_run_that_is_closed_while_the_door_opens_leaves_it_closed() -> None:
    clock = HandClock()

    class ClosedMeanwhile(Doors):
        def open(self) -> None:
            super().open()
            onlookers._runs.discard(id(run))  # as another thread does, just before it finds no door

    doors, run = ClosedMeanwhile(clock), object()
    onlookers = onlookers_of(clock, doors)
    onlookers.begins(run)
    clock.move(2)
    onlookers.lasts(clock.now_s())
    assert doors.did == ["opened", "closed"]


@pytest.mark.parametrize("refused", [OSError("no sockets here"), RuntimeError("can't start new thread")])
def test_a_door_that_cannot_be_opened_is_no_runs_error_and_is_tried_once(refused: Exception) -> None:
    clock = HandClock()
    tries = []

    class Stuck(Doors):
        def open(self) -> None:
            tries.append(1)
            raise refused

    onlookers = onlookers_of(clock, Stuck(clock))
    for _ in range(3):
        run = object()
        onlookers.begins(run)
        clock.move(2)
        onlookers.lasts(clock.now_s())
        onlookers.ends(run)
    assert tries == [1]


def test_a_process_that_another_one_answers_for_has_no_door() -> None:
    clock = HandClock()
    doors = Doors(clock)
    onlookers, run = onlookers_of(clock, doors), object()
    onlookers.come_by(None)
    onlookers.begins(run)
    clock.move(2)
    onlookers.lasts(clock.now_s())
    onlookers.look()
    onlookers.ends(run)
    assert not onlookers.is_waiting
    assert not doors.count("opened")


def test_a_copy_of_the_process_leaves_the_door_to_its_parent_and_has_one_of_its_own() -> None:
    clock = HandClock()
    doors = Doors(clock)
    onlookers, run = onlookers_of(clock, doors), object()
    onlookers.begins(run)
    clock.move(2)
    onlookers.lasts(clock.now_s())
    onlookers.forget()
    assert doors.did == ["opened", "left"]
    other = object()
    onlookers.begins(other)
    onlookers.ends(other)
    assert doors.did == ["opened", "left", "opened", "closed"]
