"""A thread that does the same thing again and again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.queues.background import HandClock, until

from headrace.coordination import Coordinator, LooperThread
from headrace.errors import InvalidArgumentError


def test_it_calls_back_to_back_until_a_stop() -> None:
    coord = Coordinator()
    calls: list[tuple[int, str]] = []

    def target(number: int, text: str) -> None:
        calls.append((number, text))
        if len(calls) == 3:
            coord.request_stop()

    LooperThread.loop(coord, None, target, args=(1,), kwargs={"text": "a"})
    coord.join()
    assert calls == [(1, "a")] * 3


def test_it_calls_at_its_interval() -> None:
    clock = HandClock()
    coord = Coordinator(clock=clock)
    calls: list[float] = []
    thread = LooperThread.loop(coord, 60.0, lambda: calls.append(clock.now_s()))
    until(lambda: len(calls) == 1)
    clock.move(59.0)
    clock.move(1.0)
    until(lambda: len(calls) == 2)
    coord.request_stop()
    coord.join()
    assert calls == [1000.0, 1060.0]
    assert thread.daemon


def test_a_failure_stops_its_coordinator() -> None:
    coord = Coordinator()

    def target() -> None:
        raise OSError("disk")

    LooperThread.loop(coord, None, target)
    with pytest.raises(OSError, match="disk"):
        coord.join()


def test_a_subclass_says_what_happens_before_and_after() -> None:
    coord = Coordinator()
    story: list[str] = []

    class Teller(LooperThread):
        def start_loop(self) -> None:
            story.append("start")

        def run_loop(self) -> None:
            story.append("run")
            coord.request_stop()

        def stop_loop(self) -> None:
            story.append("stop")

    Teller(coord, None).start()
    coord.join()
    assert story == ["start", "run", "stop"]


@pytest.mark.parametrize(
    "arguments", [{"coord": "none"}, {"args": (1,)}, {"kwargs": {"a": 1}}], ids=["coord", "args", "kwargs"]
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        LooperThread(**{"coord": Coordinator(), "timer_interval_secs": None} | arguments)
