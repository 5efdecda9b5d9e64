from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from headrace.errors import CancelledError
from headrace.io.sql.connection_thread import ConnectionThread

LIMIT_S = 60.0


def test_calls_from_any_thread_run_in_one() -> None:
    thread = ConnectionThread("headrace-test")
    seen = [thread.call(threading.get_ident) for _ in range(3)]
    other = threading.Thread(target=lambda: seen.append(thread.call(threading.get_ident)))
    other.start()
    other.join(LIMIT_S)
    assert len(set(seen)) == 1
    assert seen[0] != threading.get_ident()
    thread.end()


def test_what_a_call_raises_is_raised_where_it_was_asked_for() -> None:
    thread = ConnectionThread("headrace-test")
    with pytest.raises(ZeroDivisionError):
        thread.call(lambda: 1 // 0)
    assert thread.call(lambda: 2) == 2
    thread.end()


def test_a_thread_that_was_never_asked_was_never_started() -> None:
    before = threading.active_count()
    thread = ConnectionThread("headrace-test", last=lambda: pytest.fail("there is nothing to be done"))
    assert threading.active_count() == before
    thread.end()
    with pytest.raises(CancelledError):
        thread.call(lambda: 1)
    assert threading.active_count() == before


def test_stop_ends_a_wait_and_end_cancels_what_still_runs() -> None:
    begun, release, done = threading.Event(), threading.Event(), list[str]()
    thread = ConnectionThread("headrace-test", last=lambda: done.append("last"), cancel=release.set)

    def long() -> None:
        begun.set()
        assert release.wait(LIMIT_S)
        done.append("long")

    raised: list[BaseException] = []

    def ask() -> None:
        with pytest.raises(CancelledError) as caught:
            thread.call(long)
        raised.append(caught.value)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(LIMIT_S)
    thread.stop()
    asking.join(LIMIT_S)
    assert raised
    assert not done  # what runs is not waited for
    thread.end()
    thread.end()
    assert done == ["long", "last"]


def test_what_cannot_be_cancelled_is_waited_for_as_long_as_is_said() -> None:
    begun, release = threading.Event(), threading.Event()
    thread = ConnectionThread("headrace-test")

    def wait() -> None:
        begun.set()
        release.wait(LIMIT_S)

    def ask() -> None:
        with pytest.raises(CancelledError):
            thread.call(wait)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(LIMIT_S)
    thread.end(limit_s=0.0)
    release.set()
    thread.end()
    asking.join(LIMIT_S)
    assert not asking.is_alive()


PROGRAM = """
import sqlite3
import headrace as hr
counting = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
dataset = hr.SqlDataset(counting, lambda: sqlite3.connect(":memory:")).with_options(hr.Options(executor={executor!r}))
left = iter(dataset.prefetch(1))
print(next(left))
"""


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_nobody_waits_for_a_query_that_is_left_open_at_the_exit(executor: str) -> None:
    program = PROGRAM.format(executor=executor)
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], check=True, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert (ended.stdout, ended.stderr) == ("(1,)\n", "")
