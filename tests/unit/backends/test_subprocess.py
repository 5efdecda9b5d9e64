"""What a user sees of a pipeline in a process beside this one."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.laws.running import paced

import headrace as hr
from headrace.backends.subprocess import RemoteRun, plan_process
from headrace.iterator import DatasetIterator
from headrace.physical.run_policy import RunPolicy
from headrace.processes.connection import Connection
from headrace.processes.host import Host
from headrace.testing import faults
from headrace.testing.restoring import delivered

HOST: list[Host] = []


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An interpreter takes a third of a second to start: it is kept for the next run of a test, and ended with the test."""

    def shared() -> Host:
        if not HOST or not HOST[-1].is_alive:
            HOST.append(Host())
        return HOST[-1]

    monkeypatch.setattr(plan_process, "_new_host", shared)
    yield
    while HOST:
        HOST.pop().end()


def beside(dataset: hr.Dataset, **options: Any) -> hr.Dataset:
    return dataset.with_options(hr.Options(executor="subprocess", **options))


def with_process(x: int) -> tuple[int, int]:
    return x, os.getpid()


def test_functions_run_in_another_process_that_is_one_for_all_of_them() -> None:
    pids = {int(pid) for _, pid in beside(hr.Dataset.range(20).map(with_process, num_parallel_calls=2))}
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_each_run_has_the_variables_folder_and_modules_that_the_program_has_when_it_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def looked_up(x: int) -> tuple[Any, ...]:
        return (
            os.environ.get("HEADRACE_TEST", "none"),
            str(Path.cwd()),
            importlib.util.find_spec("found_later") is not None,
            os.getpid(),
        )

    here, dataset = Path.cwd(), beside(hr.Dataset.range(1).map(looked_up))
    (before,) = dataset
    monkeypatch.setenv("HEADRACE_TEST", "é")
    (changed,) = dataset
    monkeypatch.delenv("HEADRACE_TEST")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "found_later.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    (moved,) = dataset
    assert before[:3] == ("none", str(here), False)
    assert changed == ("é", *before[1:])
    assert moved == ("none", str(tmp_path), True, before[3])


def test_batches_are_views_of_memory_that_may_be_kept_and_written_to() -> None:
    dataset = beside(hr.Dataset.range(64).map(lambda x: np.full(1000, x)).batch(8))
    kept = list(dataset)
    assert [batch[0, 0] for batch in kept] == [0, 8, 16, 24, 32, 40, 48, 56]
    assert not any(batch.flags.owndata for batch in kept)
    kept[0][:] = -1
    assert kept[1][0, 0] == 8


def test_memory_that_is_let_go_is_used_again() -> None:
    dataset = beside(hr.Dataset.range(300).map(lambda x: np.full((256, 1024), x, np.float32)))
    places = {array.__array_interface__["data"][0] for array in dataset}
    assert len(places) < 100  # of 300


def test_a_small_or_empty_array_is_its_own() -> None:
    arrays = list(beside(hr.Dataset.from_tensors((np.zeros(3), np.zeros((0, 2)), "text", b"bytes", 1.5))))
    assert [np.shape(leaf) for leaf in arrays[0]] == [(3,), (0, 2), (), (), ()]


def fails(x: int) -> int:
    if x == 2:
        raise KeyError("label")
    return x


def test_an_error_names_its_element_and_tells_the_traceback_of_its_process() -> None:
    iterator = iter(beside(hr.Dataset.range(4).map(fails)))
    assert [next(iterator), next(iterator)] == [0, 1]
    with pytest.raises(hr.errors.DataError, match=r"map 'fails' \(.*\), element 2: KeyError") as caught:
        next(iterator)
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError)
    assert 'raise KeyError("label")' in "".join(cause.__notes__)
    assert list(iterator) == [3]


def test_failures_come_in_their_places_and_the_end_behind_them_whichever_elements_fail() -> None:
    for count in range(1, 5):
        for failing in itertools.chain.from_iterable(itertools.combinations(range(count), n) for n in range(count + 1)):

            def picky(x: int, failing: tuple[int, ...] = failing) -> int:
                return 1 // (x not in failing)

            iterator = iter(beside(hr.Dataset.range(count).map(picky)))
            for place in range(count):
                if place in failing:
                    with pytest.raises(hr.errors.DataError, match=f"element {place}: ZeroDivisionError"):
                        next(iterator)
                else:
                    assert next(iterator) == 1
            assert next(iterator, None) is None


def test_a_position_is_found_again_also_where_the_process_that_looks_for_it_dies() -> None:
    # The first process calls nine times, the next once.
    dataset = beside(hr.Dataset.range(9).map(faults.kill(with_process, at=9)))
    iterator = iter(dataset)
    pids = {int(next(iterator)[1]) for _ in range(9)}
    os.kill(pids.pop(), signal.SIGKILL)
    resumed = iter(dataset)
    resumed.load_state_dict(iterator.state_dict())
    assert list(resumed) == []


def test_a_position_that_kills_whoever_looks_for_it_is_an_error_that_says_so() -> None:
    # The first process calls nine times, each of the next two once.
    function = faults.kill(faults.kill(with_process, at=9), at=10)
    iterator = iter(beside(hr.Dataset.range(9).map(function), max_restarts=1))
    pids = {int(next(iterator)[1]) for _ in range(9)}
    os.kill(pids.pop(), signal.SIGKILL)
    with pytest.raises(
        hr.errors.WorkerError, match="so has each that was to find where it was: the last one was killed"
    ):
        iterator.state_dict()


@dataclasses.dataclass
class Pair:
    """Of no other test: the trainer has not met it before."""

    x: Any
    y: Any


def test_columns_of_a_class_that_the_trainer_has_not_met_are_structure_there() -> None:
    dataset = beside(hr.Dataset.range(40).map(lambda x: Pair(x, np.full(3, x))).batch(4).unbatch())
    iterator = iter(dataset)
    assert [int(pair.y.sum()) for pair in iterator] == [3 * x for x in range(40)]


class NotImportableError(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("no")


def fails_badly(x: int) -> int:
    raise NotImportableError("own words")


def test_an_exception_that_cannot_be_pickled_is_told_in_words() -> None:
    with pytest.raises(hr.errors.DataError, match="NotImportableError: own words"):
        next(iter(beside(hr.Dataset.range(4).map(fails_badly))))


def test_an_element_that_cannot_be_sent_is_a_failure_in_its_place_and_every_state_is_exact() -> None:
    dataset = beside(hr.Dataset.range(6).map(lambda x: (x, threading.Lock() if x == 2 else x)))
    came = list(delivered(iter(dataset), 9))
    assert [one[0] for one in came if isinstance(one, tuple)] == [0, 1, 3, 4, 5]
    error = came[2]
    assert isinstance(error, hr.errors.InvalidArgumentError)
    assert "its component [1], of type lock, cannot be sent to the trainer's process" in error.reason
    assert error.origin == "element 2"
    assert error.stage is not None
    assert error.stage.startswith("map '<lambda>'")
    iterator = iter(dataset)
    states = [iterator.state_dict()]
    for _ in range(2):
        next(iterator)
        states.append(iterator.state_dict())
    with pytest.raises(hr.errors.InvalidArgumentError, match="of type lock"):
        next(iterator)
    states.append(iterator.state_dict())
    for given, state in enumerate(states):
        resumed = iter(dataset)
        resumed.load_state_dict(state)
        left = [one[0] if isinstance(one, tuple) else None for one in delivered(resumed, 9)]
        assert left == [0, 1, None, 3, 4, 5][given:]


def same(x: int) -> int:
    return x


def test_a_process_that_dies_is_replaced_and_the_log_says_how_it_died(caplog: pytest.LogCaptureFixture) -> None:
    dataset = beside(hr.Dataset.range(9).map(faults.kill(same, at=lambda x: x == 5)))
    iterator = iter(dataset)
    with caplog.at_level(logging.WARNING, "headrace"):
        assert list(iterator) == list(range(9))
    assert iterator.stats().restarts == 1
    assert "1 process died and replaced" in str(iterator.stats())
    (record,) = caplog.records
    assert "was killed by SIGKILL" in record.getMessage()
    assert "another goes on" in record.getMessage()


def test_that_a_cache_keeps_nothing_is_said_once_however_many_processes_find_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for dataset in [beside(hr.Dataset.range(10**7).map(same).cache()) for _ in range(2)]:
        caplog.clear()
        pids = set()
        for _ in range(2):
            with iter(dataset) as iterator:
                assert next(iterator) == 0
                assert isinstance(iterator._run, RemoteRun)
                assert iterator._run._session is not None
                host = iterator._run._session.host
            host.end()  # as one does that nobody has needed for a while
            pids.add(host.pid)
        assert len(pids) == 2
        assert caplog.text.count("so nothing is kept") == 1


def test_an_element_that_ends_its_process_each_time_is_an_error_that_says_where() -> None:
    iterator = iter(beside(hr.Dataset.range(9).map(faults.exit(same, 7, at=lambda x: x == 3, times=None))))
    came: list[int] = []
    with pytest.raises(
        hr.errors.WorkerError, match=r"ended with exit status 7 .*after element 3 of this run"
    ) as caught:
        came.extend(iterator)
    assert came == [0, 1, 2]
    assert "map 'same'" in str(caught.value)


def test_no_restart_is_allowed_where_none_is_wanted() -> None:
    with pytest.raises(hr.errors.WorkerError, match="as often as Options\\(max_restarts=\\) allows"):
        list(beside(hr.Dataset.range(9).map(faults.kill(same, at=5)), max_restarts=0))


@pytest.mark.parametrize(
    ("dataset", "options", "keeps_order"),
    [
        (hr.Dataset.range(9).map(with_process, 2), {}, True),
        (hr.Dataset.range(9).map(with_process, 2), {"deterministic": False}, False),
        (hr.Dataset.range(9).map(with_process, 2, deterministic=False).batch(2), {}, False),
    ],
)
def test_where_any_operation_gives_what_is_ready_first_no_element_is_left_out_by_its_place(
    dataset: hr.Dataset, options: dict[str, Any], keeps_order: bool
) -> None:
    iterator = iter(beside(dataset, **options))
    next(iterator)
    assert isinstance(iterator._run, RemoteRun)
    assert iterator._run._order.is_ordered is keeps_order


def test_what_is_read_ahead_of_a_consumer_that_waits_is_three_elements_where_each_takes_long(tmp_path: Path) -> None:
    log = tmp_path / "read"

    def reading(x: int) -> int:
        with log.open("a") as file:
            file.write("x")
        return x

    policy = RunPolicy(pace=paced((1,)))  # as of elements that take some milliseconds each
    iterator = DatasetIterator(beside(hr.Dataset.range(10**6).map(reading)).__headrace_plan__(), policy=policy)
    for count in range(1, 20):
        next(iterator)
        until_s = time.monotonic() + 20
        while log.stat().st_size < count + 2 and time.monotonic() < until_s:
            iterator.stalls()  # a question and an answer: the other process has its turns meanwhile
    iterator.close()
    assert 19 + 2 <= log.stat().st_size <= 19 + 3


def test_statistics_are_those_of_its_stages_and_stay_when_it_has_ended() -> None:
    iterator = iter(beside(hr.Dataset.range(9).map(fails, on_error="skip").batch(2)))
    assert [batch.tolist() for batch in iterator] == [[0, 1], [3, 4], [5, 6], [7, 8]]
    stats = iterator.stats()
    assert stats.elements == 4
    assert [stage.name.split()[0] for stage in stats.stages] == ["range", "map", "batch"]
    assert stats.stages[1].failed == 1
    assert stats.ram_budget_bytes > 0


def waits_for(path: str) -> Any:
    def stuck(x: int) -> int:
        with open(path, "rb") as pipe:  # noqa: PTH123 - it waits until somebody opens the other end
            pipe.read()
        return x

    return stuck


def test_what_holds_it_up_is_told_from_the_other_process(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    iterator = iter(beside(hr.Dataset.range(1).map(waits_for(str(pipe)))))
    came: list[Any] = []
    reader = threading.Thread(target=lambda: came.extend(iterator))
    reader.start()
    stalls: tuple[Any, ...] = ()
    while not any("stuck" in stall.stage for stall in stalls):
        stalls = iterator.stalls()
    assert "pipe.read()" in stalls[0].stack or "open(" in stalls[0].stack
    pipe.open("wb").close()
    reader.join()
    assert came == [0]


def test_the_rank_of_a_job_is_that_of_the_trainer() -> None:
    dataset = hr.Dataset.range(8).distributed_batch(4, num_streams=2, steps=2)
    for rank in range(2):
        options = hr.Options(rank=rank, world_size=2, seed=1)
        here = [batch.tolist() for batch in dataset.with_options(options)]
        assert [batch.tolist() for batch in beside(dataset, rank=rank, world_size=2, seed=1)] == here


def test_its_log_is_ours(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headrace"):
        iterator = iter(beside(hr.Dataset.range(3).map(fails, on_error="skip")))
        list(iterator)
        iterator.stats()  # which come behind what was logged
    assert any("element 2" in record.getMessage() for record in caplog.records)


def test_a_state_is_taken_after_the_end_after_close_and_in_another_executor() -> None:
    dataset = hr.Dataset.range(9).shuffle(4, seed=3, reshuffle_each_iteration=False).map(lambda x: x + 1)
    iterator = iter(beside(dataset))
    first = [next(iterator) for _ in range(4)]
    bookmark = iterator.bookmark()
    state = iterator.state_dict()
    iterator.close()
    assert bookmark() == state
    assert iterator.state_dict() == state
    again = iter(dataset)
    again.load_state_dict(state)
    assert first + list(again) == list(dataset)


def test_windows_is_told_that_it_has_no_such_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.processes.segment.sys.platform", "win32")
    with pytest.raises(hr.errors.MissingExtraError, match="need Linux or macOS"):
        DatasetIterator(beside(hr.Dataset.range(3)).__headrace_plan__())


def test_a_handler_of_signals_in_the_middle_of_a_message_gets_no_state_and_waits_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send, refused = Connection.send, list[str]()

    def interrupted(self: Connection, message: Any, descriptors: Any = ()) -> None:
        if b"position" in bytes(message) and not refused:
            with pytest.raises(hr.errors.FailedPreconditionError, match="a handler of signals") as raised:
                iterator.state_dict()
            refused.append(str(raised.value))
        send(self, message, descriptors)

    with iter(hr.Dataset.range(4).with_options(hr.Options(executor="subprocess"))) as iterator:
        assert next(iterator) == 0
        monkeypatch.setattr(Connection, "send", interrupted)
        state = iterator.state_dict()
        assert refused
        assert list(iterator) == [1, 2, 3]
        iterator.load_state_dict(state)
        assert list(iterator) == [1, 2, 3]
