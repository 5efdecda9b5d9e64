"""Who stops whom, and who hears of a failure."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import traceback
import weakref
from typing import Any

import pytest
from tests.unit.queues.background import LIMIT_S, Background, HandClock, waiting

from headrace.coordination import Coordinator, Latch
from headrace.errors import CancelledError, OutOfRangeError
from headrace.queues import Channel, FIFOQueue


def started(target: Any) -> threading.Thread:
    thread = threading.Thread(target=target, name="headrace-test", daemon=True)
    thread.start()
    return thread


# ---- a latch


def test_a_latch_lets_everybody_go_on_once_it_is_set() -> None:
    latch = Latch()
    waits = [Background(latch.wait) for _ in range(3)]
    assert not latch.wait(timeout_s=0)
    latch.set()
    latch.set()
    assert all(wait.result() for wait in waits)
    assert latch.is_set
    assert latch.wait()


def test_a_latch_is_waited_for_on_the_clock_it_was_given() -> None:
    clock = HandClock()
    latch = Latch(clock=clock)
    wait = Background(lambda: latch.wait(timeout_s=10))
    clock.move(10)
    assert wait.result() is False
    assert latch.wait(timeout_s=-1) is False


# ---- stopping


def test_a_stop_is_requested_and_can_be_cleared() -> None:
    coord = Coordinator()
    assert not coord.should_stop()
    coord.request_stop()
    assert coord.should_stop()
    assert coord.wait_for_stop()
    coord.clear_stop()
    assert not coord.should_stop()
    assert not coord.wait_for_stop(0)


def test_who_waits_for_a_stop_goes_on_when_it_comes_or_when_the_time_is_over() -> None:
    clock = HandClock()
    coord = Coordinator(clock=clock)
    late = Background(lambda: coord.wait_for_stop(5.0))
    patient = Background(coord.wait_for_stop)
    clock.move(5.0)
    assert late.result() is False
    coord.request_stop()
    assert patient.result() is True


def test_the_first_failure_is_the_one_that_join_raises() -> None:
    coord = Coordinator()
    coord.request_stop(OSError("first"))
    coord.request_stop(ValueError("second"))
    with pytest.raises(OSError, match="first"):
        coord.join()
    assert coord.joined


def test_a_failure_after_a_clean_stop_is_not_raised() -> None:
    coord = Coordinator()
    coord.request_stop()
    coord.request_stop(CancelledError("because it was stopped"))
    coord.join()


def test_the_end_of_the_input_is_no_failure() -> None:
    coord = Coordinator()
    coord.request_stop(OutOfRangeError("the end"))
    assert coord.should_stop()
    coord.join()
    coord.request_stop(OutOfRangeError("again"))


def test_what_is_no_failure_can_be_chosen() -> None:
    coord = Coordinator(clean_stop_exception_types=(KeyError, StopIteration))
    coord.request_stop(StopIteration())
    coord.join()
    strict = Coordinator(clean_stop_exception_types=())
    strict.request_stop(OutOfRangeError("the end"))
    with pytest.raises(OutOfRangeError):
        strict.join()


def test_a_failure_after_join_is_raised_where_it_is_reported() -> None:
    coord = Coordinator()
    coord.request_stop()
    coord.join()
    with pytest.raises(ValueError, match="late"):
        coord.request_stop(ValueError("late"))
    coord.request_stop()


def test_a_failure_may_be_reported_as_exc_info() -> None:
    coord = Coordinator()
    try:
        int("no number")
    except ValueError:
        coord.request_stop(sys.exc_info())  # type: ignore[arg-type]  # in an except block it is no triple of None
    with pytest.raises(ValueError, match="no number"):
        coord.raise_requested_exception()


@pytest.mark.parametrize("ex", ["a text", (None, "a text", None), 3])
def test_what_is_no_exception_is_a_type_error(ex: Any) -> None:
    with pytest.raises(TypeError, match="ex must be an exception"):
        Coordinator().request_stop(ex)


def test_clear_stop_forgets_the_failure_and_the_join() -> None:
    coord = Coordinator()
    coord.request_stop(ValueError("old"))
    with pytest.raises(ValueError, match="old"):
        coord.join()
    coord.clear_stop()
    coord.request_stop(ValueError("raised only by join"))  # and not here: it is as if it had never been joined
    coord.clear_stop()
    coord.join()
    coord.raise_requested_exception()


@pytest.mark.parametrize("failure", [ValueError("bad"), KeyboardInterrupt()])
def test_what_is_raised_in_the_block_stops_everything_and_is_raised_by_join(failure: BaseException) -> None:
    coord = Coordinator()
    with coord.stop_on_exception():
        raise failure
    assert coord.should_stop()
    with pytest.raises(type(failure)) as caught:
        coord.join()
    assert caught.value is failure


def test_join_raises_a_failure_with_the_traceback_of_the_thread_it_came_from() -> None:
    coord = Coordinator()

    def where_it_went_wrong() -> None:
        raise ValueError("bad")

    def work() -> None:
        with coord.stop_on_exception():
            where_it_went_wrong()

    started(work)
    assert coord.wait_for_stop(LIMIT_S)
    with pytest.raises(ValueError) as caught:
        coord.join()
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "where_it_went_wrong" in names


# ---- what is called on a stop


def test_a_stop_wakes_everybody_who_waits_on_what_the_coordinator_closes() -> None:
    coord = Coordinator()
    empty, full = FIFOQueue(1), FIFOQueue(1)
    channel: Channel[int] = Channel(capacity=1)
    full.enqueue(1)
    for queue in (empty, full, channel):
        coord.closes(queue)
    get, put, take = Background(empty.dequeue), Background(lambda: full.enqueue(2)), Background(channel.get)
    waiting(empty, consumers=1)
    waiting(full, producers=1)
    waiting(channel, consumers=1)
    coord.request_stop()
    assert isinstance(get.error(), OutOfRangeError)
    assert isinstance(put.error(), CancelledError)
    assert isinstance(take.error(), OutOfRangeError)


def test_what_is_registered_after_the_stop_is_called_at_once() -> None:
    coord = Coordinator()
    coord.request_stop()
    called: list[int] = []
    coord.on_stop(lambda: called.append(1))
    assert called == [1]


def test_each_callback_is_called_once_and_one_that_fails_keeps_none_from_it(caplog: pytest.LogCaptureFixture) -> None:
    coord = Coordinator()
    called: list[str] = []
    coord.on_stop(lambda: called.append("before"))
    coord.on_stop(lambda: called.remove("never there"))
    coord.on_stop(lambda: called.append("after"))
    coord.request_stop()
    coord.request_stop()
    assert called == ["before", "after"]
    assert "a callback of on_stop failed" in caplog.text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_the_process_comes_out_once_all_callbacks_were_called(kind: type[BaseException]) -> None:
    coord = Coordinator()
    called: list[str] = []

    def interrupted() -> None:
        raise kind

    for callback in (interrupted, lambda: called.append("after"), interrupted, lambda: called.append("last")):
        coord.on_stop(callback)
    with pytest.raises(kind):
        coord.request_stop()
    assert called == ["after", "last"]


def test_a_stop_may_be_requested_by_a_finalizer_while_the_coordinator_is_at_work() -> None:
    coord = Coordinator()
    channel: Channel[int] = Channel(capacity=1)

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

    def make_garbage() -> None:
        weakref.finalize(Cycle(), coord.request_stop)

    coord.on_stop(make_garbage)
    coord.on_stop(gc.collect)
    coord.closes(channel)
    get = Background(channel.get)
    waiting(channel, consumers=1)
    coord.request_stop()
    assert isinstance(get.error(), OutOfRangeError)


# ---- joining


def test_join_waits_for_the_threads_it_is_given_and_for_those_that_registered() -> None:
    coord = Coordinator()
    gates = [Latch(), Latch()]
    threads = [started(gate.wait) for gate in gates]
    coord.register_thread(threads[0])
    join = Background(lambda: coord.join([threads[1], threads[0]]))
    gates[0].set()
    threads[0].join(LIMIT_S)
    assert join.runs
    gates[1].set()
    join.result()
    assert not any(thread.is_alive() for thread in threads)
    assert coord.joined


def test_join_passes_over_threads_that_were_never_started_and_its_own() -> None:
    coord = Coordinator()
    coord.register_thread(threading.current_thread())
    coord.join([threading.Thread(target=print)])


def test_threads_that_outlive_the_grace_period_are_named() -> None:
    clock = HandClock()
    coord = Coordinator(clock=clock)
    stubborn = Latch()
    thread = started(stubborn.wait)
    join = Background(lambda: coord.join([thread], stop_grace_period_secs=3))
    coord.request_stop()
    while join.runs:
        clock.move(1.0)
    error = join.error()
    assert isinstance(error, RuntimeError)
    assert "threads still running: headrace-test" in str(error)
    stubborn.set()


def test_the_failure_goes_before_threads_that_outlive_the_grace_period() -> None:
    coord = Coordinator()
    stubborn = Latch()
    thread = started(stubborn.wait)
    coord.request_stop(ValueError("the reason"))
    with pytest.raises(ValueError, match="the reason"):
        coord.join([thread], stop_grace_period_secs=0)
    stubborn.set()


def test_threads_that_outlive_the_grace_period_can_be_ignored(caplog: pytest.LogCaptureFixture) -> None:
    coord = Coordinator()
    stubborn = Latch()
    thread = started(stubborn.wait)
    coord.request_stop()
    with caplog.at_level(logging.INFO, "headrace"):
        coord.join([thread], stop_grace_period_secs=0, ignore_live_threads=True)
    assert "headrace-test" in caplog.text
    stubborn.set()
