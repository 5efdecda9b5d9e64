"""The worker pool of one pipeline."""

from __future__ import annotations

import threading
from unittest import mock

import pytest

from headrace.backends.thread import WorkerPool
from headrace.errors import CancelledError

LIMIT_S = 30.0


def test_tasks_run_in_order_in_one_worker() -> None:
    pool, done, ran = WorkerPool(1), threading.Event(), list[int]()
    for number in range(50):
        pool.submit(lambda number=number: ran.append(number))  # type: ignore[misc]  # a default binds it
    pool.submit(done.set)
    assert done.wait(LIMIT_S)
    pool.stop()
    pool.join()
    assert ran == list(range(50))


def test_as_many_tasks_run_at_once_as_there_are_workers() -> None:
    pool, meeting = WorkerPool(4), threading.Barrier(5)

    def meet() -> None:
        meeting.wait(LIMIT_S)

    for _ in range(4):
        pool.submit(meet)
    meeting.wait(LIMIT_S)
    pool.stop()
    pool.join()


def test_no_thread_is_started_that_has_no_task() -> None:
    pool = WorkerPool(100_000)
    for _ in range(20):
        done = threading.Event()
        pool.submit(done.set)
        assert done.wait(LIMIT_S)
        while pool.unfinished:  # it says that it has ended
            threading.Event().wait(0.001)
    assert len(pool.threads) == 1
    pool.stop()
    pool.join()


def test_a_system_that_starts_no_more_threads_leaves_the_work_to_those_that_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool, done, go, ran = WorkerPool(8), threading.Event(), threading.Event(), list[int]()

    def first() -> None:
        assert go.wait(LIMIT_S)

    pool.submit(first)
    with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
        for number in range(5):
            pool.submit(lambda number=number: ran.append(number))  # type: ignore[misc]  # a default binds it
    pool.submit(done.set)
    go.set()
    assert done.wait(LIMIT_S)
    pool.stop()
    pool.join()
    assert ran == list(range(5))
    assert pool.workers == 1
    assert "1 work for this run" in caplog.text


def test_after_stop_nothing_begins_and_what_runs_is_waited_for() -> None:
    pool, running, go, ran = WorkerPool(1), threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        running.set()
        assert go.wait(LIMIT_S)
        ran.append("first")

    pool.submit(first)
    pool.submit(lambda: ran.append("second"))
    assert running.wait(LIMIT_S)
    pool.stop()
    pool.submit(lambda: ran.append("third"))
    go.set()
    pool.join()
    assert ran == ["first"]


def test_a_task_may_stop_and_join_its_own_pool() -> None:
    pool, done = WorkerPool(2), threading.Event()

    def end() -> None:
        pool.stop()
        pool.join()
        done.set()

    pool.submit(end)
    assert done.wait(LIMIT_S)
    pool.join()


def test_a_pool_that_was_never_used_has_no_threads() -> None:
    pool = WorkerPool(8)
    pool.stop()
    pool.join()
    assert pool.workers == 8


def test_a_task_whose_stage_was_stopped_does_not_end_its_worker() -> None:
    pool, done = WorkerPool(1), threading.Event()

    def cancelled() -> None:
        raise CancelledError("the stage was stopped")

    pool.submit(cancelled)
    pool.submit(done.set)
    assert done.wait(LIMIT_S)
    pool.stop()
    pool.join()


def nothing() -> None:
    pass


def submit_many(pool: WorkerPool) -> None:
    for _ in range(20):
        pool.submit(nothing)


@pytest.mark.parametrize("workers", [1, 3])
def test_many_threads_may_submit_while_another_stops(workers: int) -> None:
    for _ in range(20):
        pool = WorkerPool(workers)
        threads = [threading.Thread(target=submit_many, args=(pool,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        pool.stop()
        for thread in threads:
            thread.join(LIMIT_S)
            assert not thread.is_alive()
        pool.join()
