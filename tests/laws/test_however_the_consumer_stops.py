"""Law 5 for every way in which a consumer stops, on every executor, in a program of its own: nothing is left, nothing hangs, and the exit
status is that of a program without us."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.laws.running import THOROUGH

from headrace.live.asking import running

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 80.0

EXECUTORS: Final = ("inline", "thread", "process", "subprocess", "processes beside")

# None of them ends soon.
PLANS: Final = {
    "parallel map": "numbers.map(add_one, num_parallel_calls=2)",
    "prefetch": "numbers.map(add_one).prefetch(3)",
    "interleave": "numbers.interleave(few, cycle_length=3, num_parallel_calls=2)",
    "cache on disk": "numbers.take(10**6).map(row, num_parallel_calls=2).cache(folder + '/kept')",
    "shuffle": "numbers.map(add_one, num_parallel_calls=2).shuffle(50).batch(4)",
}

PROGRAM: Final = """
import gc, glob, os, signal, sys, threading, time, warnings
import numpy as np
import headrace as hr
from headrace.observe.onlookers import ONLOOKERS

warnings.simplefilter("error")
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # of os.fork, which is what is tested
folder, executor = sys.argv[1:3]

def add_one(x):
    return x + 1

def row(x):
    return np.full(1000, x)

def few(x):
    return hr.Dataset.range(5).map(lambda y: x * 10 + y)

def what_is_open():
    return sorted(os.readlink(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{one}"))

def ours():
    return [thread for thread in threading.enumerate() if thread.name.startswith("headrace-")]

def check_nothing_is_left():
    gc.collect()
    for thread in ours():  # a process that nobody needs any more goes after a second, and with it the thread that listens to it
        thread.join(60)
    assert not ours(), ours()
    assert what_is_open() == open_before, set(what_is_open()) - set(open_before)
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        assert not children.read()
    print("nothing is left", flush=True)

def under_way(iterator, steps=5):
    for _ in range(steps):
        next(iterator)
    while not glob.glob(os.environ["XDG_RUNTIME_DIR"] + "/headrace/*.sock"):
        time.sleep(0.001)
    print("under way", flush=True)

numbers = hr.Dataset.counter()
if executor == "processes beside":
    options = hr.Options(executor="subprocess")
    numbers = numbers.map(abs, num_parallel_calls=2, executor="process")
else:
    options = hr.Options(executor=executor)
open_before = what_is_open()
ONLOOKERS._due_s = 0.0  # who runs pipelines for a second can be looked at: from now on
ds = (PLAN).with_options(options)
"""

# How it ends, and with which status. A signal comes when the program has said that it is under way.
STOPS: Final[dict[str, tuple[str, int]]] = {
    "break": (
        """
        for number, _ in enumerate(ds):
            if number == 5:
                break
        del _
        check_nothing_is_left()
        """,
        0,
    ),
    "an exception that is handled": (
        """
        try:
            for number, _ in enumerate(ds):
                if number == 5:
                    raise KeyError
        except KeyError:
            del _
        check_nothing_is_left()
        """,
        0,
    ),
    "an exception": ("it = iter(ds)\nunder_way(it)\nraise SystemError", 1),
    "sys.exit": ("it = iter(ds)\nunder_way(it)\nsys.exit(3)", 3),
    "the end of the program": ("it = iter(ds)\nunder_way(it)", 0),
    "os._exit": ("it = iter(ds)\nunder_way(it)\nos._exit(4)", 4),
    "close in another thread": (
        """
        it = iter(ds)
        under_way(it)
        closer = threading.Thread(target=it.close)
        closer.start()
        for _ in it:
            pass
        closer.join()
        _ = None
        del closer, it
        check_nothing_is_left()
        """,
        0,
    ),
    "garbage collection": (
        """
        cycle = [iter(ds)]
        cycle.append(cycle)
        under_way(cycle[0])
        del cycle
        check_nothing_is_left()
        """,
        0,
    ),
    "garbage collection in another thread": (
        """
        gc.disable()
        cycle = [iter(ds)]
        cycle.append(cycle)
        under_way(cycle[0])
        del cycle
        collector = threading.Thread(target=gc.collect)
        collector.start()
        collector.join()
        check_nothing_is_left()
        """,
        0,
    ),
    "read by a daemon thread": (
        """
        its = [iter(ds), iter(ds)]
        under_way(its[0])
        begun = threading.Event()
        def read():
            for _ in its[1]:
                begun.set()
        threading.Thread(target=read, daemon=True).start()
        assert begun.wait(60)
        """,
        0,
    ),
    "Ctrl-C that is handled": (
        """
        it, _ = iter(ds), None
        try:
            under_way(it)
            for _ in it:
                pass
        except KeyboardInterrupt:
            it.close()
        del it, _
        check_nothing_is_left()
        """,
        0,
    ),
    "Ctrl-C": ("it = iter(ds)\nunder_way(it)\nfor _ in it:\n    pass", -signal.SIGINT),
    "Ctrl-C twice": (
        """
        it = iter(ds)
        def again(signum, frame):
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.kill(os.getpid(), signal.SIGINT)  # which comes while the first one is on its way
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, again)
        under_way(it)
        for _ in it:
            pass
        """,
        -signal.SIGINT,
    ),
    "SIGTERM": ("it = iter(ds)\nunder_way(it)\nfor _ in it:\n    pass", -signal.SIGTERM),
    "SIGTERM that is an exit": (
        """
        def leave(signum, frame):
            sys.exit(9)
        signal.signal(signal.SIGTERM, leave)
        it = iter(ds)
        under_way(it)
        for _ in it:
            pass
        """,
        9,
    ),
    "SIGKILL": ("it = iter(ds)\nunder_way(it)\nfor _ in it:\n    pass", -signal.SIGKILL),
    "fork": (
        """
        it = iter(ds)
        under_way(it)
        child = os.fork()
        if not child:
            try:
                next(it)
            except hr.errors.FailedPreconditionError as error:
                assert "fork" in str(error), error
                it.close()
                del it
                assert next(iter(hr.Dataset.range(3).map(add_one).prefetch(1))) == 1  # and it can have its own
                sys.exit(0)
            sys.exit("the copy took itself for the run")
        assert os.waitpid(child, 0)[1] == 0
        next(it)
        it.close()
        del it
        check_nothing_is_left()
        """,
        0,
    ),
}
SIGNALS: Final = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}


def cases() -> Iterator[tuple[str, str, str]]:
    """Every way to stop, each on two executors, with another plan than its neighbours; all of all in a thorough run."""
    for number, stop in enumerate(STOPS):
        for other, executor in enumerate(EXECUTORS):
            if THOROUGH:
                yield from ((stop, executor, plan) for plan in PLANS)
            elif (number + other) % len(EXECUTORS) < 2:
                yield stop, executor, list(PLANS)[(2 * number + other) % len(PLANS)]
            elif (stop, executor) == ("garbage collection", "process"):
                yield stop, executor, "interleave"  # which knows its processes longest


def processes_of(mark: str) -> list[int]:
    """The processes that were started, by whomever, with that in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended, or is another's
            continue
    return found


def assert_they_end(mark: str) -> None:
    """Waits for the end of all processes of a program; fails if one does not come."""
    end_s = time.monotonic() + LIMIT_S
    while pids := processes_of(mark):
        try:
            handle = os.pidfd_open(pids[0])
        except ProcessLookupError:
            continue
        try:
            ended = select.select([handle], [], [], max(0.0, end_s - time.monotonic()))[0]
        finally:
            os.close(handle)
        if not ended:
            kill_all_of(mark)
            pytest.fail(f"left: {pids}")


def kill_all_of(mark: str) -> None:
    """Kills what a program that failed has left."""
    for pid in processes_of(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux, which tells what is left")
@pytest.mark.parametrize(("stop", "executor", "plan"), list(cases()))
def test_nothing_is_left_and_the_status_is_the_programs_own(
    stop: str, executor: str, plan: str, tmp_path: Path
) -> None:
    body, status = STOPS[stop]
    mark = f"headrace-{uuid.uuid4().hex}"
    runtime = Path(tempfile.mkdtemp(prefix="headrace-"))  # the path of a socket must be short
    temporary, kept = tmp_path / "temporary", tmp_path / "folder"
    temporary.mkdir()
    kept.mkdir()
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("PLAN", PLANS[plan]) + textwrap.dedent(body), str(kept), executor],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": path,
            "HEADRACE_TEST": mark,
            "HEADRACE_LIVE": "1",
            "TMPDIR": str(temporary),
            "XDG_RUNTIME_DIR": str(runtime),
        },
    )
    try:
        sent = [signal for name, signal in SIGNALS.items() if stop.startswith(name)]
        said = ""
        if sent:
            assert process.stdout is not None
            said = process.stdout.readline()
            process.send_signal(sent[0])
        output, errors = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        if sys.exc_info()[0] is not None:  # others may have its output open
            kill_all_of(mark)
        process.communicate()
    assert process.returncode == status, errors
    assert_they_end(mark)
    if "check_nothing_is_left" in body:
        assert (said + output).endswith("nothing is left\n")
    said_more = [line for line in errors.splitlines() if not line.startswith("cache: an epoch was left")]
    assert not said_more or (status in (1, -signal.SIGINT) and said_more[0].startswith("Traceback")), errors
    assert not list(temporary.iterdir())
    if stop in ("SIGKILL", "SIGTERM", "os._exit"):  # at which nobody is asked; the next that comes by removes it
        assert running([runtime / "headrace"]) == []
    else:
        assert not [one for one in kept.rglob("*") if one.is_file() and one.suffix != ".lock"]
    runtime.rmdir()  # nothing is in it
