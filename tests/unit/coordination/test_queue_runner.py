"""Threads that fill a queue, and how they end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.unit.queues.background import LIMIT_S, Background, HandClock, until, waiting

from headrace.coordination import (
    Coordinator,
    Latch,
    QueueRunner,
    add_queue_runner,
    get_collection,
    scope,
    start_queue_runners,
)
from headrace.errors import CancelledError, FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from headrace.queues import FIFOQueue


@pytest.fixture(autouse=True)
def pipeline_of_its_own() -> Iterator[None]:
    with scope():
        yield


def counting(queue: FIFOQueue, end: int) -> Callable[[], None]:
    """An op that enqueues 0, 1, … and then says that its input is at its end."""
    numbers = iter(range(end))
    turn = threading.Lock()

    def op() -> None:
        with turn:
            number = next(numbers, None)
        if number is None:
            raise OutOfRangeError("the numbers are at their end")
        queue.enqueue(number)

    return op


def drained(queue: FIFOQueue) -> list[Any]:
    taken = []
    while True:
        try:
            taken.append(queue.dequeue(timeout_s=LIMIT_S))
        except OutOfRangeError:
            return taken


def ended(threads: list[threading.Thread]) -> bool:
    for thread in threads:
        thread.join(LIMIT_S)
    return not any(thread.is_alive() for thread in threads)


# ---- a clean end


def test_the_last_thread_that_ends_cleanly_closes_the_queue() -> None:
    queue = FIFOQueue(3)
    runner = QueueRunner(queue, [counting(queue, 10)] * 2)
    threads = runner.create_threads(start=True)
    assert sorted(drained(queue)) == list(range(10))
    assert ended(threads)
    assert runner.exceptions_raised == []


def test_a_thread_that_ends_cleanly_leaves_the_queue_open_for_the_others() -> None:
    queue, gate = FIFOQueue(3), Latch()

    def later() -> None:
        assert gate.wait(LIMIT_S)
        raise OutOfRangeError("the end")

    def at_once() -> None:
        raise OutOfRangeError("the end")

    threads = QueueRunner(queue, [at_once, later]).create_threads(start=True)
    threads[0].join(LIMIT_S)
    assert not queue.is_closed()
    gate.set()
    assert ended(threads)
    assert queue.is_closed()


def test_join_needs_no_stop_where_all_has_come_to_its_end() -> None:
    queue = FIFOQueue(20)
    coord = Coordinator()
    threads = QueueRunner(queue, [counting(queue, 10)]).create_threads(coord=coord, start=True)
    join = Background(lambda: coord.join(threads))
    join.result()
    assert not coord.should_stop()
    assert drained(queue) == list(range(10))


def test_a_chain_of_runners_ends_from_its_beginning() -> None:
    names, rows = FIFOQueue(2), FIFOQueue(2)
    add_queue_runner(QueueRunner(names, [counting(names, 7)]))
    add_queue_runner(QueueRunner(rows, [lambda: rows.enqueue(names.dequeue() * 10)] * 2))
    coord = Coordinator()
    threads = start_queue_runners(coord=coord)
    assert sorted(drained(rows)) == [number * 10 for number in range(7)]
    coord.request_stop()
    coord.join(threads)


def test_other_errors_can_be_the_end_too() -> None:
    queue = FIFOQueue(3)

    def op() -> None:
        raise StopIteration

    runner = QueueRunner(queue, [op], queue_closed_exception_types=(StopIteration,))
    assert ended(runner.create_threads(start=True))
    assert queue.is_closed()


def test_what_closes_the_queue_can_be_chosen() -> None:
    queue, called = FIFOQueue(3), []
    runner = QueueRunner(queue, [counting(queue, 0)], close_op=lambda: called.append("close"))
    assert ended(runner.create_threads(start=True))
    assert called == ["close"]
    with pytest.raises(FailedPreconditionError, match="has ended without closing it"):
        queue.dequeue()


# ---- a stop


def test_a_stop_ends_threads_that_wait_for_room() -> None:
    queue = FIFOQueue(2)
    coord = Coordinator()
    threads = QueueRunner(queue, [lambda: queue.enqueue("row")] * 3).create_threads(coord=coord, start=True)
    waiting(queue, producers=3)
    coord.request_stop()
    coord.join(threads)
    assert queue.is_closed()


def test_what_cancels_on_a_stop_can_be_chosen_and_is_called_once() -> None:
    queue, called = FIFOQueue(2), []

    def cancel() -> None:
        called.append("cancel")
        queue.close(cancel_pending_enqueues=True)

    coord = Coordinator()
    runner = QueueRunner(queue, [lambda: queue.enqueue("row")], cancel_op=cancel)
    threads = runner.create_threads(coord=coord, start=True)
    waiting(queue, producers=1)
    coord.request_stop()
    coord.join(threads)
    assert called == ["cancel"]


def test_errors_of_closing_are_ignored() -> None:
    queue = FIFOQueue(2)
    queue.close()
    coord = Coordinator()
    threads = QueueRunner(queue, [counting(queue, 0)]).create_threads(coord=coord, start=True)
    coord.join(threads)


# ---- a failure


def test_a_failure_reaches_the_coordinator_and_wakes_everybody() -> None:
    source, rows = FIFOQueue(2), FIFOQueue(2)
    failure = OSError("disk")

    def fail() -> None:
        source.dequeue()
        raise failure

    add_queue_runner(QueueRunner(rows, [fail, lambda: rows.enqueue(source.dequeue())]))
    add_queue_runner(QueueRunner(source, [lambda: source.enqueue("name")] * 2))
    coord = Coordinator()
    threads = start_queue_runners(coord=coord)
    drained(rows)
    with pytest.raises(OSError, match="disk") as caught:
        coord.join(threads)
    assert caught.value is failure
    assert not any(thread.is_alive() for thread in threads)


def test_whoever_takes_from_the_queue_of_a_failed_runner_sees_the_end_that_a_stop_makes() -> None:
    for _ in range(20):
        queue = FIFOQueue(2)
        go = Latch()

        def fail(go: Latch = go) -> None:
            assert go.wait(LIMIT_S)
            raise OSError("disk")

        coord = Coordinator()
        threads = QueueRunner(queue, [fail]).create_threads(coord=coord, start=True)
        get = Background(queue.dequeue)
        waiting(queue, consumers=1)
        go.set()
        assert isinstance(get.error(), OutOfRangeError)
        with pytest.raises(OSError, match="disk"):
            coord.join(threads)


def test_without_a_coordinator_a_failure_is_kept_raised_and_told_to_whoever_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    queue = FIFOQueue(2)
    failure = OSError("disk")

    def fail() -> None:
        raise failure

    runner = QueueRunner(queue, [fail])
    get = Background(queue.dequeue)
    waiting(queue, consumers=1)
    assert ended(runner.create_threads(start=True))
    assert runner.exceptions_raised == [failure]
    assert [report.exc_value for report in raised] == [failure]
    error = get.error()
    assert isinstance(error, FailedPreconditionError)
    assert error.__cause__ is failure
    assert "OSError('disk')" in caplog.text


def test_a_failure_is_not_taken_for_the_end_because_another_thread_ended_cleanly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda report: None)
    queue, failed = FIFOQueue(20), Latch()

    def fail() -> None:
        failed.set()
        raise OSError("disk")

    count = counting(queue, 3)

    def count_afterwards() -> None:
        assert failed.wait(LIMIT_S)
        count()

    threads = QueueRunner(queue, [fail, count_afterwards]).create_threads(start=True)
    assert ended(threads)
    assert [queue.dequeue() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(FailedPreconditionError):
        queue.dequeue()


# ---- threads


def test_threads_are_named_counted_and_registered_as_tensorflow_does() -> None:
    queue = FIFOQueue(2, name="examples")
    coord = Coordinator()
    runner = QueueRunner(queue, [lambda: queue.enqueue(1)] * 2)
    threads = runner.create_threads(coord=coord, daemon=True)
    assert [thread.name for thread in threads] == [
        "headrace-QueueRunnerThread-examples-0",
        "headrace-QueueRunnerThread-examples-1",
        "headrace-QueueRunnerThread-examples-close_on_stop",
    ]
    assert all(thread.daemon for thread in threads)
    assert not any(thread.is_alive() for thread in threads)
    assert runner.name == "examples"


def test_no_new_threads_are_made_while_the_old_ones_run() -> None:
    queue = FIFOQueue(2)
    coord = Coordinator()
    runner = QueueRunner(queue, [lambda: queue.enqueue(1)])
    threads = runner.create_threads(coord=coord, start=True)
    assert runner.create_threads(coord=coord, start=True) == []
    coord.request_stop()
    coord.join(threads)
    assert len(runner.create_threads()) == 1


@pytest.mark.parametrize("ops", [None, []])
def test_a_runner_needs_a_queue_and_an_op(ops: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        QueueRunner(FIFOQueue(1), ops)
    with pytest.raises(InvalidArgumentError):
        QueueRunner(None, [print])  # type: ignore[arg-type]  # what is tested


def test_an_op_that_was_called_instead_of_given_is_a_type_error_that_says_so() -> None:
    queue = FIFOQueue(1)
    with pytest.raises(TypeError, match="an enqueue op is a callable, such as lambda"):
        QueueRunner(queue, [queue.enqueue(1)])  # type: ignore[func-returns-value, list-item]  # what is tested


@pytest.mark.parametrize("types", [(), [OutOfRangeError], (3,), "text"])
def test_types_that_are_no_errors_are_a_type_error(types: Any) -> None:
    with pytest.raises(TypeError):
        QueueRunner(FIFOQueue(1), [print], queue_closed_exception_types=types)


def test_a_runner_can_be_asked_what_it_was_made_of() -> None:
    queue = FIFOQueue(1)
    runner = QueueRunner(queue, [print], close_op=dir, cancel_op=vars, queue_closed_exception_types=(CancelledError,))
    assert (runner.queue, runner.enqueue_ops) == (queue, [print])
    assert (runner.close_op, runner.cancel_op) == (dir, vars)
    assert runner.queue_closed_exception_types == (CancelledError,)


# ---- the runner that was never started


def test_a_dequeue_says_which_call_was_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    queue = FIFOQueue(2, clock=clock)
    for _ in range(2):
        add_queue_runner(QueueRunner(queue, [lambda: queue.enqueue(1)]))
    get = Background(queue.dequeue)
    waiting(queue, consumers=1)
    clock.move(5.0)
    until(lambda: bool(caplog.records))
    assert "2 runners are registered for this queue and were never started: call start_queue_runners" in caplog.text
    coord = Coordinator()
    threads = start_queue_runners(coord=coord)
    assert get.result() == 1
    coord.request_stop()
    coord.join(threads)


# ---- collections


def test_runners_are_started_together_in_the_order_in_which_they_were_added() -> None:
    queues = [FIFOQueue(1, name=name) for name in "ab"]
    for queue in queues:
        add_queue_runner(QueueRunner(queue, [print]))
    add_queue_runner(QueueRunner(FIFOQueue(1), [print]), collection="others")
    assert [runner.name for runner in get_collection()] == ["a", "b"]
    assert len(get_collection("others")) == 1
    threads = start_queue_runners(start=False)
    assert [thread.name.split("-")[2] for thread in threads] == ["a", "b"]
    assert all(thread.daemon for thread in threads)


def test_two_scopes_do_not_meet() -> None:
    add_queue_runner(QueueRunner(FIFOQueue(1, name="outside"), [print]))
    with scope():
        assert get_collection() == []
        add_queue_runner(QueueRunner(FIFOQueue(1, name="inside"), [print]))
        assert [runner.name for runner in get_collection()] == ["inside"]
    assert [runner.name for runner in get_collection()] == ["outside"]


def test_a_scope_belongs_to_the_thread_that_opens_it() -> None:
    add_queue_runner(QueueRunner(FIFOQueue(1, name="mine"), [print]))
    assert [runner.name for runner in Background(get_collection).result()] != ["mine"]


def test_a_second_pipeline_does_not_meet_the_remains_of_the_first() -> None:
    for _ in range(2):
        queue = FIFOQueue(3)
        add_queue_runner(QueueRunner(queue, [counting(queue, 5)]))
        coord = Coordinator()
        threads = start_queue_runners(coord=coord)
        assert drained(queue) == list(range(5))
        coord.request_stop()
        coord.join(threads)
        assert len(threads) == 2


def test_starting_nothing_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace"):
        assert start_queue_runners() == []
    assert "found no runners" in caplog.text
