"""Law 5 for a pipeline in a process beside the trainer: whatever happens to either of them, nothing is left and nothing hangs."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cases.held import descriptors, join_threads

import headrace as hr
from headrace.processes import spare

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import headrace as hr

BESIDE = hr.Options(executor="subprocess")

def process_of(x):
    return os.getpid()

def waits(x):
    if x == 3:
        print("waits in", os.getpid(), flush=True)
        threading.Event().wait()
    return x
"""


@contextlib.contextmanager
def program(body: str, *, start_new_session: bool = False) -> Iterator[subprocess.Popen[str]]:
    """A program that prints, run in an interpreter of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        start_new_session=start_new_session,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def assert_it_ends(pid: int) -> None:
    """Waits for the end of a process that is nobody's child here; fails if it does not come."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], LIMIT_S)[0], f"process {pid} is left"
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param("for pid in hr.Dataset.range(9).map(process_of).with_options(BESIDE): print(pid)", 0, id="end"),
        pytest.param(
            "ds = hr.Dataset.range(9).map(process_of).with_options(BESIDE)\nfor pid in ds:\n    print(pid)\n    break",
            0,
            id="break",
        ),
        pytest.param(
            "it = iter(hr.Dataset.range(10**9).map(process_of).with_options(BESIDE))\nprint(next(it))", 0, id="held"
        ),
        pytest.param(
            "it = iter(hr.Dataset.range(10**9).map(process_of).with_options(BESIDE))\nprint(next(it))\nsys.exit(3)",
            3,
            id="sys.exit",
        ),
        pytest.param(
            "it = iter(hr.Dataset.range(10**9).map(process_of).with_options(BESIDE))\nprint(next(it))\n1 / 0",
            1,
            id="an exception",
        ),
        pytest.param(
            """
            it = iter(hr.Dataset.range(9).map(process_of).prefetch(2).with_options(BESIDE))
            print(next(it), flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            """,
            -signal.SIGTERM,
            id="SIGTERM",
        ),
        pytest.param(
            """
            it = iter(hr.Dataset.range(10**9).map(process_of).prefetch(2).with_options(BESIDE))
            print(next(it), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
            """,
            -signal.SIGKILL,
            id="SIGKILL",
        ),
        pytest.param(
            """
            its = [iter(hr.Dataset.range(10**9).map(process_of).with_options(BESIDE)) for _ in range(2)]
            print(next(its[0]))
            threading.Thread(target=lambda: [x for x in its[1]], daemon=True).start()
            """,
            0,
            id="read by a daemon thread",
        ),
    ],
)
def test_the_process_ends_with_the_trainer_however_that_ends(body: str, status: int) -> None:
    with program(body) as process:
        output, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == status
        assert_it_ends(int(output.split()[0]))


def test_a_function_that_never_returns_keeps_neither_of_them() -> None:
    body = """
    it = iter(hr.Dataset.range(9).map(waits).with_options(BESIDE))
    print(next(it), flush=True)
    """
    with program(body) as process:
        output, errors = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, errors) == (0, "")
        for line in output.splitlines():
            if line.startswith("waits in"):
                assert_it_ends(int(line.split()[-1]))


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux, whose kernel tells a process of it")
@pytest.mark.parametrize("hangups", ["SIG_DFL", "SIG_IGN"])
@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_a_process_whose_function_keeps_the_lock_ends_with_a_trainer_that_was_killed(
    executor: str, hangups: str
) -> None:
    body = f"""
    import ctypes
    signal.signal(signal.SIGHUP, signal.{hangups})

    def keeps_the_lock(x):
        print(os.getpid(), flush=True)
        ctypes.PyDLL(None).sleep(10_000)

    ds = hr.Dataset.range(9).map(keeps_the_lock, num_parallel_calls=1)
    next(iter(ds.with_options(hr.Options(executor={executor!r}))))
    """
    with program(body) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
        try:
            assert_it_ends(pid)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux, whose kernel tells a process of the trainer's end")
@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_with_nohup_a_hangup_of_the_terminal_ends_nothing_and_the_trainers_end_is_heard_as_ever(executor: str) -> None:
    body = f"""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def heard(x):
        caught = next(line for line in open("/proc/self/status") if line.startswith("SigCgt"))
        return os.getpid(), os.getsid(0) == os.getpid(), int(caught.split()[1], 16) >> signal.SIGHUP - 1 & 1

    ds = hr.Dataset.range(99).map(heard, num_parallel_calls=1).with_options(hr.Options(executor={executor!r}))
    came = []
    for row in ds:
        came.append(row)
        os.killpg(0, signal.SIGHUP)
    print(len(set(came)), *came[0][1:])
    """
    with program(body, start_new_session=True) as process:
        assert process.communicate(timeout=LIMIT_S) == ("1 True 1\n", "")


def test_ctrl_c_ends_the_run_and_the_state_is_that_of_what_was_delivered() -> None:
    body = """
    ds = hr.Dataset.range(9).map(waits).with_options(BESIDE)
    it = iter(ds)
    came = []
    try:
        for x in it:
            came.append(int(x))
    except KeyboardInterrupt:
        state = it.state_dict()
        print(came == list(range(state["delivered"])), len(came) <= 3)
    """
    with program(body) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline().split()[-1])
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, output, errors) == (0, "True True\n", "")
        assert_it_ends(pid)


def test_a_fork_of_the_trainer_is_told_that_the_run_is_not_its_own_and_does_the_run_no_harm() -> None:
    body = """
    it = iter(hr.Dataset.range(2000).map(lambda x: x).with_options(BESIDE))
    came = [next(it)]
    pid = os.fork()
    if not pid:
        try:
            for _ in it:
                pass
        except hr.errors.FailedPreconditionError as error:
            print("told" if "fork" in str(error) else error, flush=True)
        it.close()
        del it
        sys.exit()
    os.waitpid(pid, 0)
    print([int(x) for x in came + list(it)] == list(range(2000)))
    """
    with program(body) as process:
        output, errors = process.communicate(timeout=LIMIT_S)
        assert (output, errors) == ("told\nTrue\n", "")


def test_what_a_function_started_does_not_hide_the_death_of_the_process(tmp_path: Path) -> None:
    body = f"""
    once = {str(tmp_path / "once")!r}
    def forks_and_dies(x):
        if x == 5 and not os.path.exists(once):
            open(once, "w").close()
            child = os.fork()
            if child:
                print(child, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()  # with all that the process had open
        return x
    ds = hr.Dataset.range(9).map(forks_and_dies).with_options(BESIDE)
    print([int(x) for x in ds] == list(range(9)), flush=True)
    """
    with program(body) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        came = process.stdout.readline()
        os.kill(child, signal.SIGKILL)
        assert came == "True\n"
        assert "was killed by SIGKILL" in process.communicate(timeout=LIMIT_S)[1]


def pids_of(elements: Iterable[Any]) -> set[int]:
    return {int(pid) for pid in elements}


def broken_off(dataset: hr.Dataset) -> int:
    with iter(dataset) as iterator:
        return int(next(iterator))


def own_pid(x: int) -> int:
    return os.getpid()


def in_processes(executor: str) -> hr.Dataset:
    dataset = hr.Dataset.range(3)
    if executor == "process":
        return dataset.map(own_pid, num_parallel_calls=2, executor="process")
    return dataset.map(own_pid).with_options(hr.Options(executor="subprocess"))


IN_PROCESSES = ["process", "subprocess"]


@pytest.mark.parametrize("executor", IN_PROCESSES)
def test_a_process_that_nobody_needs_ends_and_the_next_epoch_has_another(executor: str) -> None:
    dataset = in_processes(executor)
    with iter(dataset) as needs_it:
        first = {int(next(needs_it))}
    assert_it_ends(*first)
    assert pids_of(dataset).isdisjoint(first)


@pytest.mark.parametrize("executor", IN_PROCESSES)
def test_processes_wait_for_the_next_epoch_when_one_has_been_read_to_its_end(
    executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spare, "_STAYS_S", 300.0)
    dataset = in_processes(executor)
    first = pids_of(dataset)
    # Of another plan, a process that stays a second: when it has ended, more than that has passed.
    assert_it_ends(broken_off(in_processes("subprocess")))
    assert pids_of(dataset) <= first
    broken_off(dataset)
    for pid in first:
        assert_it_ends(pid)


def test_a_process_ends_when_it_has_waited_for_an_epoch_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spare, "_STAYS_S", 1.5)
    for executor in IN_PROCESSES:
        dataset = in_processes(executor)
        for pid in pids_of(dataset):
            assert_it_ends(pid)


def test_an_epoch_that_is_kept_in_memory_stays_with_its_process_and_goes_with_the_dataset() -> None:
    dataset = (
        hr.Dataset.range(3).map(lambda x: (x, os.getpid())).cache().with_options(hr.Options(executor="subprocess"))
    )
    (pid,) = {int(pid) for _, pid in dataset}
    assert {int(pid) for _, pid in dataset} == {pid}
    assert Path(f"/proc/{pid}").exists()
    del dataset
    assert_it_ends(pid)


def test_processes_that_called_functions_and_end_by_themselves_leave_no_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = descriptors()
    dataset = hr.Dataset.range(3).map(lambda x: os.getpid(), num_parallel_calls=2, executor="process")
    monkeypatch.setattr(spare, "_STAYS_S", 0.0)
    for pid in set(dataset):
        assert_it_ends(int(pid))
    join_threads(LIMIT_S)  # who heard of their end
    assert descriptors().keys() <= before.keys()


@pytest.mark.parametrize("executor", ["thread", "process", "subprocess"])
def test_a_function_that_forks_and_returns_in_the_copy_gives_its_elements_once(executor: str) -> None:
    body = f"""
    def forks(x):
        if x % 5 == 1:
            child = os.fork()
            if child:
                os.waitpid(child, 0)
        return x
    ds = hr.Dataset.range(20).map(forks, num_parallel_calls=1).with_options(hr.Options(executor={executor!r}))
    print([int(x) for x in ds] == list(range(20)))
    """
    with program(body) as process:
        output, errors = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, output) == (0, "True\n"), errors


def test_a_copy_of_the_trainer_does_not_keep_the_process_when_the_trainer_ends() -> None:
    body = """
    it = iter(hr.Dataset.range(10**9).map(process_of).with_options(BESIDE))
    pid = next(it)
    if not os.fork():
        print(os.getpid(), pid, flush=True)
        os.close(1)
        os.close(2)
        threading.Event().wait()
    """
    with program(body) as process:
        assert process.stdout is not None
        copy, beside = map(int, process.stdout.readline().split())
        try:
            process.wait(LIMIT_S)
            assert_it_ends(beside)
        finally:
            os.kill(copy, signal.SIGKILL)
