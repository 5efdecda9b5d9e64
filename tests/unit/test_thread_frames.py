"""Frames of threads are read where nothing is collected, and the program's own wish to collect is left as it was."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from types import FrameType

import pytest

from headrace import thread_frames
from headrace.thread_frames import frames_of_threads, frames_outwards


def run(program: str) -> None:
    """Runs a program in an interpreter of its own, where nothing else has threads or is told of forks."""
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether garbage could be collected at each look."""
    could: list[bool] = []
    look = sys._current_frames

    def noted() -> dict[int, FrameType]:
        could.append(gc.isenabled())
        return look()

    monkeypatch.setattr(sys, "_current_frames", noted)
    return could


def test_garbage_that_ends_a_threads_local_data_does_not_hang_a_look() -> None:
    # With sys._current_frames itself CPython 3.11.7 hangs here at one of the first looks.
    program = """
        import gc, threading
        from headrace.thread_frames import frames_of_threads
        class Garbage:
            def __init__(self, size):
                self.itself, self.local, self.more = self, threading.local(), [[] for _ in range(size)]
                self.local.value = 1
        may_end = threading.Event()
        for _ in range(20):
            threading.Thread(target=may_end.wait).start()
        gc.set_threshold(5, 1, 1)
        for number in range(1000):
            Garbage(number % 7)
            frames_of_threads().clear()
        may_end.set()
        """
    run(program)


def test_nothing_is_collected_while_frames_are_read_and_it_is_afterwards(looks: list[bool]) -> None:
    frames_of_threads().clear()
    assert looks == [False]
    assert gc.isenabled()


def test_a_program_that_collects_nothing_goes_on_so(looks: list[bool]) -> None:
    gc.disable()
    try:
        frames_of_threads().clear()
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert looks == [False]


def test_a_look_within_a_look_ends_no_pause_but_its_own() -> None:
    seen: list[bool] = []

    def outer() -> None:
        thread_frames._PAUSE.during(lambda: None)
        seen.append(gc.isenabled())

    thread_frames._PAUSE.during(outer)
    assert seen == [False]
    assert gc.isenabled()


def test_two_threads_pause_one_after_the_other() -> None:
    begun, may_end = threading.Event(), threading.Event()
    ended: list[str] = []

    def first() -> None:
        begun.set()
        assert may_end.wait(60)
        ended.append("first")

    one = threading.Thread(target=lambda: thread_frames._PAUSE.during(first))
    other = threading.Thread(target=lambda: thread_frames._PAUSE.during(lambda: ended.append("second")))
    one.start()
    assert begun.wait(60)
    other.start()
    may_end.set()
    one.join()
    other.join()
    assert ended == ["first", "second"]
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_in_the_middle_of_anothers_look_collects_and_looks() -> None:
    program = """
        import gc, os, threading
        from headrace import thread_frames
        begun, may_end = threading.Event(), threading.Event()
        def looking():
            begun.set()
            may_end.wait()
        threading.Thread(target=lambda: thread_frames._PAUSE.during(looking)).start()
        begun.wait()
        assert not gc.isenabled()
        child = os.fork()
        if not child:
            is_right = gc.isenabled() and threading.get_ident() in thread_frames.frames_of_threads()
            os._exit(0 if is_right else 1)
        status = os.waitpid(child, 0)[1]
        may_end.set()
        assert status == 0
        """
    run(program)


def test_frames_come_from_the_innermost_outwards() -> None:
    here = sys._getframe()
    frames = frames_outwards(here)
    assert frames[0] is here
    assert frames[1] is here.f_back
    assert frames[-1].f_back is None
    assert frames_outwards(None) == []
