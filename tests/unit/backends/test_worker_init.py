"""What a process calls before it works, and which one it is told that it is."""

from __future__ import annotations

import importlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.testing import faults

# The functions of a script, which are sent with its variables.
SCRIPT = """
import headrace as hr
prepared = None

def setup():
    global prepared
    prepared = (prepared or 0) + 1

def look(x):
    return x, prepared

def dataset_of(x):
    before = prepared
    return hr.Dataset.range(1).map(lambda y: (x, before))
"""
calls_here = 0


def counts() -> None:
    global calls_here  # noqa: PLW0603 - as such functions do
    calls_here += 1


def where(x: int) -> tuple[Any, ...]:
    info = hr.worker_info()
    if info is None:
        return x, os.getpid(), calls_here, -1, -1, ""
    return x, os.getpid(), calls_here, info.index, info.num_workers, info.executor


def fails() -> None:
    raise OSError("no server")


def leaves() -> None:
    raise SystemExit(3)


def dies() -> None:
    os._exit(5)


def writes_to(path: Path) -> Any:
    def write() -> None:
        info = hr.worker_info()
        assert info is not None
        with path.open("a") as file:
            file.write(f"{os.getpid()} {info.index}\n")

    return write


def with_init(dataset: hr.Dataset, init: Any, executor: str = "process", **settings: Any) -> hr.Dataset:
    return dataset.with_options(hr.Options(worker_init=init, executor=executor, **settings))


def test_each_process_calls_it_once_a_run_and_not_for_each_block(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    dataset = hr.Dataset.range(300).map(where, num_parallel_calls=2)
    for _ in range(2):
        path.write_text("")
        came = list(with_init(dataset, writes_to(path)))
        calls = [line.split() for line in path.read_text().splitlines()]
        indices = {int(pid): int(index) for pid, index in calls}
        assert len(indices) == len(calls)
        assert {int(row[1]): int(row[3]) for row in came}.items() <= indices.items()
        assert {(int(workers), str(executor)) for *_, workers, executor in came} == {(2, "process")}
        assert sorted(indices.values()) in ([0], [1], [0, 1])


def test_one_that_is_a_module_s_is_called_once_for_all_operations() -> None:
    calls = hr.Dataset.range(40).map(where, num_parallel_calls=1)
    calls = calls.batch(4).map(lambda *rows: (*rows[1:3], *where(0)[1:3]), num_parallel_calls=1)
    for pids, before, pid, after in with_init(calls, counts, num_workers=1, optimize=False):
        assert set(pids.tolist()) == {pid}
        assert set(before.tolist()) == {after}


@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_what_it_sets_is_what_the_functions_of_its_script_see_in_each_run(executor: str) -> None:
    script: dict[str, Any] = {"__name__": "__main__"}
    exec(SCRIPT, script)
    dataset = hr.Dataset.range(4).map(script["look"], num_parallel_calls=1)
    for run in range(2):
        # The functions of a pipeline's own process stay from run to run, where it has not ended meanwhile as nobody needed it.
        expected = {1} if executor == "process" else {1, run + 1}
        calls = [int(n) for _, n in with_init(dataset, script["setup"], executor)]
        assert len(calls) == 4
        assert len(set(calls)) == 1
        assert set(calls) <= expected
    assert script["prepared"] is None


def test_a_function_that_makes_datasets_sees_it_too() -> None:
    script: dict[str, Any] = {"__name__": "__main__"}
    exec(SCRIPT, script)
    opened = hr.Dataset.range(2).interleave(script["dataset_of"], num_parallel_calls=1)
    assert [int(n) for _, n in with_init(opened, script["setup"])] == [1, 1]


def test_processes_of_a_process_call_it_and_that_one_does_not() -> None:
    script: dict[str, Any] = {"__name__": "__main__"}
    exec(SCRIPT, script)
    dataset = hr.Dataset.range(3).map(script["look"], num_parallel_calls=1, executor="process").map(lambda *row: row)
    for _ in range(2):
        assert [int(n) for _, n in with_init(dataset, script["setup"], "subprocess")] == [1] * 3


def test_the_trainer_has_no_number_and_the_process_of_a_pipeline_is_the_only_one() -> None:
    assert hr.worker_info() is None
    ((*_, index, workers, executor),) = hr.Dataset.range(1).map(where).with_options(hr.Options(executor="subprocess"))
    assert (index, workers, executor) == (0, 1, "subprocess")
    assert hr.worker_info() is None


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_threads_have_no_number_and_call_nothing_before(executor: str) -> None:
    (row,) = with_init(hr.Dataset.range(1).map(where, num_parallel_calls=1), fails, executor)
    assert row[1:] == (os.getpid(), calls_here, -1, -1, "")


def test_one_that_takes_the_place_of_another_calls_it_and_has_its_number(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    dataset = hr.Dataset.range(9).map(faults.exit(where, 3, at=lambda x: x == 5), num_parallel_calls=1)
    came = list(with_init(dataset, writes_to(path)))
    assert [int(row[0]) for row in came] == list(range(9))
    assert {int(row[3]) for row in came} == {0}
    calls = [line.split() for line in path.read_text().splitlines()]
    assert [index for _, index in calls] == ["0", "0"]
    assert len({pid for pid, _ in calls}) == 2


def test_an_idle_process_calls_that_of_the_next_run(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    dataset = hr.Dataset.range(3).map(where, num_parallel_calls=1)
    for path in (first, second):
        (pid,) = {
            int(row[1]) for row in with_init(dataset, writes_to(path))
        }  # the same, unless it has been idle for long
        assert path.read_text() == f"{pid} 0\n"
    list(dataset.with_options(hr.Options(executor="process")))
    assert len(first.read_text().splitlines()) == len(second.read_text().splitlines()) == 1


def parallel(**settings: Any) -> hr.Dataset:
    return hr.Dataset.range(5).map(lambda x: x, num_parallel_calls=1, **settings)


@pytest.mark.parametrize(
    ("dataset", "executor", "init"),
    [
        (parallel(on_error="skip"), "process", fails),
        (parallel().ignore_errors(), "process", leaves),
        (hr.Dataset.range(3).interleave(lambda x: hr.Dataset.range(2), num_parallel_calls=1), "process", fails),
        (hr.Dataset.range(3).ignore_errors(), "subprocess", leaves),
    ],
    ids=["skipping", "ignoring", "interleave", "subprocess"],
)
def test_one_that_fails_ends_the_run_and_is_named(dataset: hr.Dataset, executor: str, init: Any) -> None:
    with iter(with_init(dataset, init, executor)) as iterator:
        with pytest.raises(hr.errors.WorkerError, match=f"worker_init '{init.__name__}'") as raised:
            next(iterator)
        cause = raised.value.__cause__
        assert isinstance(cause, OSError if init is fails else SystemExit)
        assert any(f"in {init.__name__}" in note for note in cause.__notes__)
        assert list(iterator) == []


@pytest.mark.parametrize("executor", ["process", "subprocess"])
@pytest.mark.parametrize(
    "settings", [{}, {"on_error": "skip"}, {"on_error": lambda _: -1}], ids=["", "skip", "replace"]
)
def test_one_that_kills_its_process_ends_the_run(executor: str, settings: dict[str, Any]) -> None:
    where = r", in worker_init 'dies' \(test_worker_init.py:55\)" if executor == "process" else " before it began"
    with pytest.raises(hr.errors.WorkerError, match=f"ended with exit status 5{where}"):
        list(with_init(parallel(**settings), dies, executor, max_restarts=3))


def test_one_that_kills_its_process_ends_a_run_of_datasets_too() -> None:
    datasets = hr.Dataset.range(3).interleave(lambda _: hr.Dataset.range(2), num_parallel_calls=1, executor="process")
    with pytest.raises(hr.errors.WorkerError, match="ended with exit status 5, in worker_init 'dies'"):
        list(with_init(datasets, dies, max_restarts=4))


def test_one_that_kills_a_process_now_and_then_costs_no_element(tmp_path: Path) -> None:
    left = [tmp_path / str(number) for number in range(4)]

    def dies_at_first() -> None:
        for path in left:
            if not path.exists():
                path.touch()
                os._exit(5)

    assert list(with_init(parallel(), dies_at_first)) == list(range(5))


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_an_import_that_kills_its_process_is_no_element_s_fault(
    tmp_path: Path, on_error: str, monkeypatch: Any
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "deadly_here.py").write_text("def same(x): return x\n")
    import deadly_here  # type: ignore[import-not-found]  # it was just written

    (tmp_path / "deadly_here.py").write_text("import os; os._exit(6)\n")
    dataset = hr.Dataset.range(5).map(deadly_here.same, num_parallel_calls=1, executor="process", on_error=on_error)
    with pytest.raises(hr.errors.WorkerError, match="exit status 6, while it imported what the functions need"):
        list(dataset.with_options(hr.Options(max_restarts=3)))


@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_one_that_cannot_be_sent_is_refused_before_anything_runs(executor: str) -> None:
    connection = threading.Lock()

    def uses() -> None:
        connection.acquire()

    with pytest.raises(
        hr.errors.InvalidArgumentError, match=r"worker_init 'uses'.*variable 'connection', of type lock"
    ):
        next(iter(with_init(parallel(), uses, executor)))


def test_what_is_left_to_headrace_is_called_in_no_process_that_was_not_prepared() -> None:
    dataset = hr.Dataset.range(200).map(where, num_parallel_calls=hr.AUTOTUNE)
    assert os.getpid() not in {int(row[1]) for row in with_init(dataset, counts)}


def test_only_a_function_is_taken_and_elements_states_and_fingerprints_know_nothing_of_it() -> None:
    with pytest.raises(TypeError, match=r"Options.worker_init must be callable or None, not int"):
        hr.Options(worker_init=3)  # type: ignore[arg-type]
    dataset = hr.Dataset.range(20).shuffle(5, seed=1, reshuffle_each_iteration=False)
    dataset = dataset.map(lambda x: x + 1, num_parallel_calls=1)
    prepared = with_init(dataset, counts)
    assert hr.fingerprint(prepared) == hr.fingerprint(dataset)
    assert "worker_init=counts" in prepared.explain()
    with iter(prepared) as iterator:
        first = [next(iterator) for _ in range(7)]
        state = iterator.state_dict()
    with iter(dataset) as iterator:
        iterator.load_state_dict(state)
        assert first + list(iterator) == list(dataset)


def hangs() -> None:
    threading.Event().wait()


HANGING = pytest.mark.parametrize("executor", ["process", "subprocess"])


def hanging(executor: str, **options: Any) -> hr.Dataset:
    ds = hr.Dataset.range(3).map(where, num_parallel_calls=1, on_error="skip")
    return ds.with_options(hr.Options(executor=executor, timeout_s=0.1, **options))


@HANGING
def test_one_that_does_not_return_is_an_error_with_its_stack(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.plan.timeouts._LEAST_S", 3.0)
    with pytest.raises(hr.errors.DeadlineExceededError, match="did not return in the process") as caught:
        list(hanging(executor, worker_init=hangs))
    assert str(caught.value.stage).startswith("worker_init 'hangs'")
    assert "in hangs" in caught.value.stack


@HANGING
def test_a_process_that_does_not_start_is_an_error(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.plan.timeouts._LEAST_S", 0.3)
    monkeypatch.setattr("headrace.processes.spare._spare", [])
    monkeypatch.setattr("headrace.processes.host._PROGRAM", "import threading; threading.Event().wait()")
    with pytest.raises(hr.errors.DeadlineExceededError, match=r"did not start.* within 0\.3 s"):
        list(hanging(executor))


@HANGING
def test_an_import_that_does_not_return_is_an_error_with_its_stack(
    executor: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = tmp_path / "hanging_there.py"
    module.write_text(
        "import sys, threading\n"
        "if 'headrace.worker.__main__' in sys.modules: threading.Event().wait()\n"
        "def function(x): return x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("headrace.plan.timeouts._LEAST_S", 3.0)
    function = importlib.import_module("hanging_there").function
    dataset = hr.Dataset.range(3).map(function, num_parallel_calls=1, on_error="skip")
    with pytest.raises(hr.errors.DeadlineExceededError, match="did not import what") as caught:
        list(dataset.with_options(hr.Options(executor=executor, timeout_s=0.1)))
    assert f'"{module}", line 2 in <module>' in caught.value.stack
