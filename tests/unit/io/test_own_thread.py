from __future__ import annotations

import threading

import pytest

from headrace.errors import CancelledError
from headrace.io.own_thread import OwnThread

LIMIT_S = 60.0


def test_calls_from_any_thread_run_in_one() -> None:
    thread = OwnThread("headrace-test")
    seen = [thread.call(threading.get_ident) for _ in range(3)]
    other = threading.Thread(target=lambda: seen.append(thread.call(threading.get_ident)))
    other.start()
    other.join(LIMIT_S)
    assert len(set(seen)) == 1
    assert seen[0] != threading.get_ident()
    thread.end()


def test_what_a_call_raises_is_raised_where_it_was_asked_for() -> None:
    thread = OwnThread("headrace-test")
    with pytest.raises(ZeroDivisionError):
        thread.call(lambda: 1 // 0)
    assert thread.call(lambda: 2) == 2
    thread.end()


def test_a_thread_that_was_never_asked_was_never_started() -> None:
    before = threading.active_count()
    thread = OwnThread("headrace-test")
    assert threading.active_count() == before
    thread.end(last=lambda: pytest.fail("there is nothing to be done"))
    with pytest.raises(CancelledError):
        thread.call(lambda: 1)
    assert threading.active_count() == before


def test_stop_ends_a_wait_and_end_cancels_what_still_runs() -> None:
    thread, begun, release, done = OwnThread("headrace-test"), threading.Event(), threading.Event(), list[str]()

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
    thread.end(last=lambda: done.append("last"), cancel=release.set)
    thread.end(last=lambda: done.append("never"), cancel=lambda: pytest.fail("it has ended"))
    assert done == ["long", "last"]
