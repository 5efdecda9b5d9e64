"""A system that starts no more threads, as where a container bounds them: elements are made without, or the run says what it lacks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from tests.laws.running import AlwaysAhead, Way, running

import headrace as hr
from headrace.observe.watch import WATCH

SYSTEM = "can't start new thread"
WAYS: dict[str, Callable[[], hr.Dataset]] = {
    "thread": lambda: hr.Dataset.range(20).map(abs, num_parallel_calls=2, timeout_s=60).prefetch(2),
    "process": lambda: hr.Dataset.range(20).map(abs, num_parallel_calls=2, executor="process").prefetch(2),
    "interleave": lambda: hr.Dataset.range(4).interleave(
        lambda x: hr.Dataset.range(5).map(lambda y: x + y), num_parallel_calls=2, executor="process"
    ),
    "subprocess": lambda: hr.Dataset.range(20).map(abs).with_options(hr.Options(executor="subprocess")),
}


@contextmanager
def no_threads_for(what: str) -> Iterator[list[str]]:
    """Has the system start no thread of a name; gives the names of those that were asked for."""
    start, refused = threading.Thread.start, list[str]()

    def start_or_not(thread: threading.Thread) -> None:
        if thread.name.startswith(what):
            refused.append(thread.name)
            raise RuntimeError(SYSTEM)
        start(thread)

    with mock.patch.object(threading.Thread, "start", start_or_not):
        yield refused


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["headrace-prefetch", "headrace-watch"])
def test_what_only_reads_ahead_or_looks_on_is_done_without(what: str, way: str) -> None:
    expected = list(WAYS[way]().with_options(hr.Options(executor="inline")))
    # No measurement decides whether there is to be a thread.
    with no_threads_for(what) as refused, running(WAYS[way](), Way(hr.Options(), overlap=AlwaysAhead)) as iterator:
        assert list(iterator) == expected
    assert refused or (what, way) == ("headrace-prefetch", "subprocess")  # which has its own in another process


@pytest.mark.parametrize(
    ("what", "ways"),
    [
        ("headrace-worker", ["thread", "process", "interleave"]),
        ("headrace-caller", ["thread"]),
        ("headrace-beside", ["process", "interleave", "subprocess"]),
    ],
)
def test_what_makes_the_elements_says_that_there_is_none(what: str, ways: list[str]) -> None:
    for way in ways:
        with no_threads_for(what), pytest.raises(hr.errors.ResourceExhaustedError, match=f"no thread that .*{SYSTEM}"):
            list(WAYS[way]())


def test_a_run_that_begins_when_there_are_threads_again_is_looked_after() -> None:
    with iter(WAYS["thread"]()) as first:
        with no_threads_for("headrace-watch"):
            next(first)
        with iter(WAYS["thread"]()) as second:
            next(second)
            assert "headrace-watch" in [thread.name for thread in threading.enumerate()]
    assert not WATCH._watched  # nobody is looked after any more
