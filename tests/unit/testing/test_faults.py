"""What users test their pipelines with: faults that come where they are wanted, as often as they are wanted, whoever dies of them."""

from __future__ import annotations

import builtins
import errno
import functools
import gc
import io
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.testing import faults
from headrace.testing.restoring import delivered

ROOT = Path(__file__).parents[3]


def double(x: int) -> int:
    return 2 * x


def results(function: Callable[..., Any], *elements: Any) -> list[Any]:
    found: list[Any] = []
    for element in elements:
        try:
            found.append(function(element))
        except Exception as error:
            found.append(type(error).__name__)
    return found


# ------------------------------------------------------------------------------ where, and how often


def test_a_number_is_that_of_a_call_and_comes_once() -> None:
    failing = faults.fail(double, OSError, at=2)
    assert results(failing, 1, 1, 1, 1) == [2, 2, "OSError", 2]


def test_a_predicate_has_the_arguments_of_the_call_and_each_element_fails_once() -> None:
    failing = faults.fail(double, OSError, at=lambda x: x % 2)
    assert results(failing, 1, 2, 3, 1, 3, 5) == ["OSError", 4, "OSError", 2, 6, "OSError"]


def test_an_element_may_fail_several_times_or_always() -> None:
    assert results(faults.fail(double, OSError, at=bool, times=2), 1, 1, 1) == ["OSError", "OSError", 2]
    assert results(faults.fail(double, OSError, at=bool, times=None), 1, 1, 1) == ["OSError"] * 3


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
    [
        (3, np.int64(3), True),
        ({"x": np.arange(3)}, {"x": np.arange(6)[::2] // 2}, True),
        (np.arange(3), np.arange(3.0), False),
        (np.zeros((2, 3)), np.zeros((3, 2)), False),
        (("a", "b"), ("ab", ""), False),
        (math.nan, -math.nan, True),
        (np.array(["a", None], object), np.array(["a", None], object), True),
        (Path("a"), Path("a"), True),
        (b"1", "1", False),
    ],
)
def test_an_element_is_known_by_what_it_is(one: Any, other: Any, *, are_equal: bool) -> None:
    failing = faults.fail(lambda x: None, OSError, at=lambda x: True)
    assert results(failing, one, other) == ["OSError", None if are_equal else "OSError"]


def test_a_seed_draws_the_same_elements_in_every_process() -> None:
    drawn = faults.chance(0.3, seed=5)
    code = "from headrace.testing import faults; d = faults.chance(0.3, seed=5); print([x for x in range(50) if d(x)])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert told.stdout.strip() == str([x for x in range(50) if drawn(x)])
    assert 5 <= sum(map(drawn, range(50))) <= 25
    assert [faults.chance(share, seed=1)(7) for share in (0, 1)] == [False, True]


def test_calls_of_several_threads_are_counted_together() -> None:
    counting = faults.fail(double, OSError, at=150)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.extend(results(counting, *range(50)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(found), found.count("OSError")) == (200, 1)


# ------------------------------------------------------------------------------ in processes


@pytest.mark.parametrize("executor", ["subprocess", "process"])
@pytest.mark.parametrize("injector", [faults.kill, faults.exit])
def test_a_process_that_dies_once_is_replaced_and_every_element_comes(executor: str, injector: Any) -> None:
    dataset = hr.Dataset.range(12).map(injector(double, at=lambda x: x == 5), num_parallel_calls=1)
    iterator = iter(dataset.with_options(hr.Options(executor=executor)))
    assert [int(x) for x in iterator] == [2 * x for x in range(12)]
    assert iterator.stats().restarts == 1


def test_an_element_that_kills_every_process_is_an_error_that_names_the_function() -> None:
    killing = faults.kill(double, at=lambda x: x == 5, times=None)
    came = list(delivered(iter(hr.Dataset.range(7).map(killing, num_parallel_calls=1, executor="process")), 9))
    assert [x for x in came if not isinstance(x, Exception)] == [0, 2, 4, 6, 8, 12]
    assert isinstance(came[5], hr.errors.WorkerError)
    assert str(came[5].stage).startswith("map 'double' (test_faults.py:")


@pytest.mark.parametrize(
    ("wrapped", "ended"),
    [
        ("faults.kill(abs, at=0)", lambda status: os.WTERMSIG(status) == signal.SIGKILL),
        ("faults.stop(abs, at=0)", lambda status: os.WSTOPSIG(status) == signal.SIGSTOP),
        ("faults.exit(abs, 7, at=0)", lambda status: os.waitstatus_to_exitcode(status) == 7),
    ],
)
def test_the_process_that_calls_is_killed_stopped_or_ended(wrapped: str, ended: Callable[[int], bool]) -> None:
    code = f"from headrace.testing import faults\n{wrapped}(1)"
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    try:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert ended(status)
    finally:
        process.kill()
        process.wait()


def test_what_has_happened_is_known_to_another_program_where_a_file_is_given(tmp_path: Path) -> None:
    first = faults.fail(double, OSError, at=lambda x: x == 1, record=tmp_path / "record")
    assert results(first, 1, 1) == ["OSError", 2]
    del first
    again = faults.fail(double, OSError, at=lambda x: x <= 2, record=tmp_path / "record")
    assert results(again, 1, 2) == [2, "OSError"]


def test_a_temporary_record_goes_with_the_function_that_was_wrapped_and_not_with_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    failing = faults.fail(double, OSError, at=1)
    copy = pickle.loads(pickle.dumps(failing))
    assert results(copy, 1, 1) == [2, "OSError"]
    del copy
    gc.collect()
    assert results(failing, 1) == [2]
    last = pickle.loads(pickle.dumps(failing))
    del failing
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(hr.errors.FailedPreconditionError, match="the record of a fault"):
        last(1)


# ------------------------------------------------------------------------------ what is done


def test_an_action_of_ones_own_comes_before_the_function() -> None:
    seen: list[Any] = []

    def noting(x: int) -> None:
        seen.append(x)

    rarely = faults.inject(noting, functools.partial(seen.append, "fault"), at=lambda x: x == 1)
    results(rarely, 0, 1, 2)
    assert seen == [0, "fault", 1, 2]


def test_a_function_may_have_several_faults() -> None:
    failing = faults.fail(faults.fail(double, OSError, at=lambda x: x == 1), KeyError, at=lambda x: x == 2)
    assert results(failing, 1, 2, 3) == ["OSError", "KeyError", 6]
    label = hr.Dataset.range(3).map(failing).__headrace_plan__().label
    assert label.startswith("map 'double' (test_faults.py:")


def test_the_error_is_the_one_that_was_given() -> None:
    given = OSError("the network is away")
    failing = faults.fail(double, given, at=lambda x: True, times=None)
    for _ in range(2):
        with pytest.raises(OSError, match="the network is away") as caught:
            failing(1)
        assert caught.value is given
        assert len(caught.traceback) == 3  # not longer each time


def test_a_delay_ends_and_the_function_is_called() -> None:
    assert results(faults.delay(double, 0.0, at=0), 1) == [2]


# ------------------------------------------------------------------------------ files


def test_bytes_are_changed_by_a_seed_and_put_back(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(100))
    damaged = []
    for seed in (1, 1, 2):
        with faults.corrupt(path, count=5, seed=seed):
            damaged.append(path.read_bytes())
        assert path.read_bytes() == bytes(100)
    assert [len(content) - content.count(0) for content in damaged] == [5, 5, 5]
    assert damaged[0] == damaged[1] != damaged[2]


@pytest.mark.parametrize(("to", "left"), [(0, 0), (7, 7), (100, 100), (0.25, 25), (0.0, 0)])
def test_a_file_is_cut_where_it_is_and_put_back(tmp_path: Path, to: float, left: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(range(100)))
    with path.open("rb") as file:
        with faults.truncate(path, to):
            assert file.read() == bytes(range(left))
        faults.truncate(path, to)
        assert path.read_bytes() == bytes(range(left))


def test_a_disk_takes_so_many_bytes_and_then_says_that_it_is_full(tmp_path: Path) -> None:
    full, other = tmp_path / "full", tmp_path / "other"
    full.mkdir()
    other.mkdir()
    with faults.disk_full(full, after_bytes=10, error=errno.EDQUOT):
        with (full / "a").open("wb", buffering=0) as file:
            assert file.write(b"x" * 7) == 7
            assert file.write(b"x" * 7) == 3
            with pytest.raises(OSError, match="quota") as caught:
                file.write(b"x")
        assert caught.value.errno == errno.EDQUOT
        with pytest.raises(OSError, match="quota"):
            (full / "b").write_text("text")
        (other / "c").write_text("text")
        assert (full / "a").read_bytes() == b"x" * 10
        with (full / "d").open("w+", encoding="utf-8") as text:
            assert text.read() == ""
    (full / "e").write_bytes(b"x" * 100)
    assert builtins.open is io.open


# ------------------------------------------------------------------------------ misuse


def full_disk(**given: Any) -> None:
    with faults.disk_full("a", **given):
        pass


ANY: Any = abs  # mypy would refuse what is refused here


@pytest.mark.parametrize(
    ("injector", "given", "said"),
    [
        (faults.kill, {"function": 3, "at": 1}, "function must be callable, not 3"),
        (faults.inject, {"function": ANY, "action": None, "at": 1}, "action must be callable, not None"),
        (
            faults.kill,
            {"function": ANY, "at": -1},
            "at must be a whole number from 0, the number of a call, or a function",
        ),
        (faults.kill, {"function": ANY, "at": True}, "at must be a whole number .* not True"),
        (faults.kill, {"function": ANY, "at": "5"}, "at must be a whole number .* not '5'"),
        (
            faults.stop,
            {"function": ANY, "at": 3, "times": 2},
            "times=2 is for a function: a call by its number, here 3",
        ),
        (
            faults.kill,
            {"function": ANY, "at": bool, "times": 0},
            "times must be a whole number from 1, or None for always",
        ),
        (
            faults.exit,
            {"function": ANY, "status": 256, "at": 1},
            "status must be a whole number from 0 to 255, not 256",
        ),
        (faults.fail, {"function": ANY, "error": "text", "at": 1}, "error must be an exception"),
        (faults.delay, {"function": ANY, "seconds": -1, "at": 1}, "seconds must be a number from 0, not -1"),
        (faults.delay, {"function": ANY, "seconds": math.nan, "at": 1}, "seconds must be a number from 0, not nan"),
        (faults.chance, {"probability": 1.5, "seed": 1}, "probability must be a number from 0 to 1, not 1.5"),
        (faults.chance, {"probability": 0.5, "seed": 0.5}, "seed must be a whole number, not 0.5"),
        (faults.corrupt, {"path": __file__, "count": 0}, "count must be a whole number from 1 to "),
        (
            faults.truncate,
            {"path": __file__, "to": 10**9},
            "to must be a whole number from 0 to .*or a share below 1.0",
        ),
        (faults.truncate, {"path": __file__, "to": 1.5}, "to must be a whole number .* not 1.5"),
        (full_disk, {"after_bytes": -1}, "after_bytes must be a whole number from 0, not -1"),
        (full_disk, {"error": 123456}, "error must be a number of the module errno"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_what_is_of_no_use_is_refused_by_name(injector: Callable[..., Any], given: dict[str, Any], said: str) -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match=said):
        injector(**given)


@pytest.mark.parametrize("damage", [faults.corrupt, faults.truncate])
def test_a_file_that_is_not_there_is_refused(damage: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(hr.errors.NotFoundError, match="which was to be damaged"):
        damage(tmp_path / "none")
