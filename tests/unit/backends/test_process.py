"""What a user sees of functions that are called in processes."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.laws.running import AlwaysAhead, Beside, RestlessCalls, Way, running

import headrace as hr
from headrace.machine import Share
from headrace.testing import faults
from headrace.testing.restoring import delivered


def in_processes(dataset: hr.Dataset, function: Any, calls: int = 2, **settings: Any) -> hr.Dataset:
    return dataset.map(function, num_parallel_calls=calls, executor="process", **settings)


def with_process(x: int) -> tuple[int, int]:
    return x, os.getpid()


def test_calls_run_in_as_many_processes_as_were_asked_for_and_in_none_of_ours() -> None:
    came = list(in_processes(hr.Dataset.range(50), with_process))
    assert [x for x, _ in came] == list(range(50))
    pids = {int(pid) for _, pid in came}
    assert os.getpid() not in pids
    assert len(pids) <= 2


def test_the_next_epoch_has_the_processes_of_the_last() -> None:
    dataset = in_processes(hr.Dataset.range(5), with_process, calls=1)
    first = {int(pid) for _, pid in dataset}
    assert {int(pid) for _, pid in dataset} == first


def test_all_processes_hash_texts_alike_however_often_they_are_replaced(tmp_path: Path) -> None:
    def hashed(number: int) -> tuple[int, int]:
        if number == 20 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid(), hash("one text")

    beside = hr.Dataset.range(1).map(hashed).with_options(hr.Options(executor="subprocess"))
    called = hr.Dataset.range(40).map(hashed, num_parallel_calls=2, executor="process")
    told = set(beside) | set(called)
    assert len({pid for pid, _ in told}) >= 3
    assert len({value for _, value in told}) == 1


def test_options_send_all_parallel_maps_to_processes_but_those_that_stay() -> None:
    dataset = hr.Dataset.range(4).map(lambda x: os.getpid(), num_parallel_calls=1)
    dataset = dataset.map(lambda pid: (pid, os.getpid()), num_parallel_calls=2, executor="thread")
    dataset = dataset.map(lambda *pids: (*pids, os.getpid()))
    for there, stays, serial in dataset.with_options(hr.Options(executor="process")):
        assert there != os.getpid()
        assert stays == serial == os.getpid()


def fails(x: int) -> int:
    if x % 3 == 2:
        raise KeyError("label")
    return x


def test_explain_says_which_functions_are_called_in_processes_and_which_stay() -> None:
    def inner(x: Any) -> hr.Dataset:
        return hr.Dataset.range(x)

    ds = hr.Dataset.range(3).map(with_process, num_parallel_calls=2).flat_map(inner).interleave(inner)
    said = ds.with_options(hr.Options(executor="process")).explain()
    where = said[said.index("functions are called") :].splitlines()[1:]
    labels = [
        (
            line.split(":")[0].strip(),
            [name for name in ("map 'with_process'", "flat_map", "interleave") if name in line],
        )
        for line in where
    ]
    assert labels == [("in processes", ["map 'with_process'"]), ("in this process", ["flat_map", "interleave"])]
    assert "functions are called" not in ds.explain()
    beside = ds.with_options(hr.Options(executor="subprocess")).explain()
    assert beside.endswith("functions are called\n  in a process beside this one: everything")


def test_an_error_names_its_element_and_the_run_goes_on() -> None:
    came = list(delivered(iter(in_processes(hr.Dataset.range(5), fails)), 9))
    assert [x for x in came if isinstance(x, int)] == [0, 1, 3, 4]
    (error,) = [x for x in came if isinstance(x, hr.errors.DataError)]
    assert error.origin == "element 2"
    assert error.stage is not None
    assert error.stage.startswith("map 'fails'")
    assert isinstance(error.__cause__, KeyError)


def test_failures_are_skipped_and_replaced_as_in_threads() -> None:
    assert list(in_processes(hr.Dataset.range(6), fails, on_error="skip")) == [0, 1, 3, 4]
    assert list(in_processes(hr.Dataset.range(4), fails, on_error=lambda error: -1)) == [0, 1, -1, 3]


def same(x: int) -> int:
    return x


def dying_at(number: int) -> Any:
    """A function that kills whatever process calls it with a number."""
    return faults.kill(same, at=lambda x: x == number, times=None)


def test_an_element_that_kills_its_process_is_a_failure_of_its_own_and_all_others_come_once() -> None:
    dataset = in_processes(hr.Dataset.range(20), dying_at(7))
    came = list(delivered(iter(dataset), 30))
    assert [x for x in came if isinstance(x, int)] == [x for x in range(20) if x != 7]
    error = came[7]
    assert isinstance(error, hr.errors.WorkerError)
    assert error.origin == "element 7"
    assert "was killed by SIGKILL" in str(error)
    assert list(in_processes(hr.Dataset.range(9), dying_at(7), on_error="skip")) == [
        *range(7),
        8,
    ]
    assert list(in_processes(hr.Dataset.range(9), dying_at(7), on_error=lambda error: -1)) == [
        *range(7),
        -1,
        8,
    ]


def test_a_process_that_dies_once_is_replaced_and_nothing_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    function = faults.exit(same, 3, at=lambda x: x == 5)
    with caplog.at_level(logging.WARNING, "headrace"):
        assert list(in_processes(hr.Dataset.range(12), function)) == list(range(12))
    (record,) = caplog.records
    assert "ended with exit status 3: another goes on" in record.getMessage()


def test_what_processes_do_is_told_of_the_stage_whose_function_they_call() -> None:
    dataset = in_processes(hr.Dataset.range(12), faults.exit(same, 3, at=lambda x: x == 5)).map(same)
    with iter(dataset) as iterator:
        assert len(list(iterator)) == 12
        stats = iterator.stats()
    source, called, after, *_ = stats.stages
    assert (stats.restarts, source.restarts, called.restarts, after.restarts) == (1, 0, 1, 0)
    assert (called.elements, called.service.count) == (12, 12)
    assert called.cpu_share is not None
    assert "restarts" in str(stats)


def test_too_many_deaths_end_the_run() -> None:
    dataset = in_processes(hr.Dataset.range(9), dying_at(2))
    with pytest.raises(hr.errors.WorkerError, match=r"as often as Options\(max_restarts=\) allows"):
        list(dataset.with_options(hr.Options(max_restarts=1)))


def test_random_numbers_are_those_of_threads() -> None:
    def drawn(executor: str | None) -> list[float]:
        dataset = hr.Dataset.range(9).random_map(
            lambda rng, x: x + float(rng.random()), seed=4, num_parallel_calls=2, executor=executor
        )
        return list(dataset)

    assert drawn("process") == drawn(None)


def test_large_elements_come_in_batches_and_may_be_kept() -> None:
    dataset = in_processes(hr.Dataset.range(32), lambda x: {"x": np.full((64, 64), x), "label": x}).batch(8)
    kept = list(dataset)
    assert [batch["label"].tolist() for batch in kept] == [list(range(at, at + 8)) for at in range(0, 32, 8)]
    assert all((batch["x"][:, 0, 0] == batch["label"]).all() for batch in kept)


def test_large_elements_go_to_processes_and_memory_is_used_again() -> None:
    dataset = hr.Dataset.range(60).map(lambda x: np.full(300_000, x))
    assert [int(x) for x in in_processes(dataset, lambda array: array[0])] == list(range(60))


def test_several_maps_in_a_row_are_one_call_and_a_failure_is_of_the_one_that_failed() -> None:
    dataset = in_processes(in_processes(hr.Dataset.range(3), lambda x: x + 1), fails)
    came = list(delivered(iter(dataset), 9))
    assert came[0] == 1
    assert isinstance(came[1], hr.errors.DataError)
    assert str(came[1].stage).startswith("map 'fails'")
    assert came[2] == 3


def locked_in_the_middle(x: int) -> dict[str, Any]:
    return {"x": x, "held": threading.Lock() if x == 3 else x}


def test_what_cannot_be_sent_back_is_a_failure_in_its_place_that_names_it() -> None:
    came = list(delivered(iter(in_processes(hr.Dataset.range(7), locked_in_the_middle)), 9))
    assert [one["x"] for one in came if isinstance(one, dict)] == [0, 1, 2, 4, 5, 6]
    error = came[3]
    assert isinstance(error, hr.errors.InvalidArgumentError)
    assert "its component ['held'], of type lock, cannot be sent to the trainer's process" in error.reason
    assert error.origin == "element 3"
    assert str(error.stage).startswith("map 'locked_in_the_middle'")


@pytest.mark.parametrize(
    ("on_error", "expected"),
    [("skip", [0, 1, 2, 4, 5, 6]), (lambda error: {"x": -1, "held": -1}, [0, 1, 2, -1, 4, 5, 6])],
    ids=["skipped", "replaced"],
)
def test_what_cannot_be_sent_back_is_skipped_or_replaced_as_any_other_failure(
    on_error: Any, expected: list[int]
) -> None:
    dataset = in_processes(hr.Dataset.range(7), locked_in_the_middle, on_error=on_error)
    assert [one["x"] for one in dataset] == expected


def test_an_element_that_cannot_be_sent_to_a_process_is_a_failure_in_its_place() -> None:
    dataset = in_processes(hr.Dataset.range(7).map(locked_in_the_middle), lambda one: one["x"])
    came = list(delivered(iter(dataset), 9))
    assert [one for one in came if isinstance(one, int)] == [0, 1, 2, 4, 5, 6]
    assert isinstance(came[3], hr.errors.InvalidArgumentError)
    assert "its component ['held'], of type lock, cannot be sent to a process" in came[3].reason
    assert list(dataset.ignore_errors()) == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize("operation", ["map", "random_map", "interleave", "worker_init", "inside a zip"])
def test_what_cannot_be_sent_there_is_an_error_at_iter_that_names_the_variable(operation: str) -> None:
    lock, source = threading.Lock(), hr.Dataset.range(2)
    processes = hr.Options(executor="process")
    dataset = {
        "map": in_processes(source, lambda x: (lock, x)),
        "random_map": source.random_map(lambda rng, x: (lock, x), num_parallel_calls=2).with_options(processes),
        "interleave": source.interleave(
            lambda x: hr.Dataset.from_tensors((lock, x)), 2, num_parallel_calls=2
        ).with_options(processes),
        "worker_init": in_processes(source, str).with_options(hr.Options(worker_init=lambda: lock)),
        "inside a zip": hr.Dataset.zip((source, in_processes(source, lambda x: (lock, x)))),
    }[operation]
    with pytest.raises(hr.errors.InvalidArgumentError, match="variable 'lock', of type lock"):
        iter(dataset)


def test_what_is_looked_up_to_go_on_from_a_state_is_called_in_processes_as_well() -> None:
    def thrice(x: int, pid: int) -> hr.Dataset:
        return hr.Dataset.range(3).map(lambda _: (x, pid))

    dataset = in_processes(hr.Dataset.range(4), with_process, calls=1).flat_map(thrice)
    iterator = iter(dataset)
    first = [next(iterator) for _ in range(4)]  # in the middle of a dataset, whose element is read again
    resumed = iter(dataset)
    resumed.load_state_dict(iterator.state_dict())
    came = [*first, *resumed]
    assert [x for x, _ in came] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert os.getpid() not in {int(pid) for _, pid in came}


@dataclasses.dataclass
class Pair:
    """Of no other test: a process has not met it before."""

    x: Any
    y: Any


def test_columns_of_a_class_that_a_process_has_not_met_are_structure_there() -> None:
    dataset = hr.Dataset.from_tensor_slices(Pair(np.arange(5), np.arange(5.0)))
    assert list(in_processes(dataset, lambda pair: pair.x + pair.y)) == [0, 2, 4, 6, 8]


@dataclasses.dataclass
class Label:
    """Of no other test, as above."""

    number: int
    name: str


def test_rows_of_a_class_that_was_made_in_processes_alone_are_structure_here() -> None:
    labels = in_processes(hr.Dataset.range(4), lambda x: Label(x, str(x)))
    (batch,) = labels.batch(4)
    assert (batch.number.tolist(), batch.name.tolist()) == ([0, 1, 2, 3], ["0", "1", "2", "3"])


def test_processes_need_a_number_of_calls_and_a_name_that_is_known() -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match="needs num_parallel_calls"):
        hr.Dataset.range(3).map(fails, executor="process")
    with pytest.raises(hr.errors.InvalidArgumentError, match="executor must be 'thread', 'process' or None"):
        hr.Dataset.range(3).map(fails, executor="fork")


def test_an_iterator_that_is_left_early_leaves_no_wait_behind(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def stuck(x: int) -> int:
        if x:
            pipe.read_bytes()
        return x

    iterator = iter(in_processes(hr.Dataset.range(9), stuck))
    assert next(iterator) == 0
    iterator.close()


def test_it_goes_on_from_a_state_of_threads() -> None:
    dataset = hr.Dataset.range(12).shuffle(5, seed=1, reshuffle_each_iteration=False)
    threads, processes = dataset.map(fails, 2, on_error="skip"), in_processes(dataset, fails, on_error="skip")
    iterator = iter(threads)
    first = [next(iterator) for _ in range(3)]
    again = iter(processes)
    again.load_state_dict(iterator.state_dict())
    assert first + list(again) == list(threads)


def test_an_on_error_function_is_told_where_the_element_came_from() -> None:
    dataset = in_processes(hr.Dataset.range(4), fails, on_error=lambda error: error.origin)
    assert list(dataset) == [0, 1, "element 2", 3]


def test_a_function_that_ends_its_program_ends_the_run_with_that() -> None:
    def leaves(x: int) -> int:
        raise SystemExit(3)

    with pytest.raises(SystemExit, match="3"):
        list(in_processes(hr.Dataset.range(3), leaves))


class CodedError(Exception):
    """An exception that cannot be made again of what it says."""

    def __init__(self, code: int, *, more: str) -> None:
        super().__init__(code)
        self.more = more


def test_an_exception_whose_constructor_wants_more_is_still_of_its_class() -> None:
    def raises(x: int) -> int:
        raise CodedError(5, more="yes")

    with pytest.raises(hr.errors.DataError) as caught:
        list(in_processes(hr.Dataset.range(1), raises))
    assert isinstance(caught.value.__cause__, CodedError)
    assert (caught.value.__cause__.args, caught.value.__cause__.more) == ((5,), "yes")


def row_of(x: int) -> dict[str, np.ndarray]:
    return {"row": np.arange(3) + x, "other": np.full((2, 2), x, np.float32)}


def rows_that_differ(x: int) -> np.ndarray:
    return np.zeros(3 if x == 5 else 2)


def test_rows_that_a_batch_stacks_come_as_few_arrays_and_the_batches_are_those_of_threads() -> None:
    dataset = in_processes(hr.Dataset.range(11), row_of).batch(4)
    for batch, first in zip(dataset, (0, 4, 8), strict=True):
        count = min(4, 11 - first)
        assert batch["row"].tolist() == [[x, x + 1, x + 2] for x in range(first, first + count)]
        assert batch["other"].dtype == np.float32
        assert batch["other"].shape == (count, 2, 2)
        assert all(array.flags.writeable for array in batch.values())


def row_or_failure(x: int) -> Any:
    if x % 9 == 5:
        raise ValueError(x)
    return np.full((64, 64), x, np.float32)


def firsts_or_error(came: Any) -> Any:
    return str(came) if isinstance(came, Exception) else came[:, 0, 0].tolist()


@pytest.mark.parametrize("drop", [False, True])
def test_batches_that_lie_where_a_process_wrote_them_fail_resume_and_are_owned_as_those_of_threads(drop: bool) -> None:
    dataset = in_processes(hr.Dataset.range(90), row_or_failure).batch(4, drop_remainder=drop)
    threads = hr.Dataset.range(90).map(row_or_failure, num_parallel_calls=2).batch(4, drop_remainder=drop)
    expected = [firsts_or_error(one) for one in delivered(iter(threads), 99)]
    iterator, resumed = iter(dataset), iter(dataset)
    came = list(delivered(iterator, 5))
    resumed.load_state_dict(iterator.state_dict())
    iterator.close()
    came += delivered(resumed, 99)
    assert [firsts_or_error(one) for one in came] == expected
    batches = [one for one in came if isinstance(one, np.ndarray)]
    for number, batch in enumerate(batches):
        batch[:] = -number
    assert [(batch == -number).all() for number, batch in enumerate(batches)] == [True] * len(batches)


def test_rows_that_differ_are_an_error_of_their_batch_alone() -> None:
    came = list(delivered(iter(in_processes(hr.Dataset.range(8), rows_that_differ).batch(2)), 9))
    assert [isinstance(one, np.ndarray) for one in came] == [True, True, False, True]
    assert "shapes differ: [2] and [3]" in str(came[2])


def test_with_autotune_processes_start_with_the_run_and_are_tried_as_soon_as_they_are_there() -> None:
    dataset = in_processes(hr.Dataset.range(1).repeat(), with_process, calls=hr.AUTOTUNE)
    until_s = time.monotonic() + 60.0
    with iter(dataset) as iterator:
        assert int(next(iterator)[1]) == os.getpid()
        while int(next(iterator)[1]) == os.getpid():
            assert time.monotonic() < until_s
        first = next(one for one in iterator.stats().decisions if one.what == "workers")
    assert (first.before, first.reason.partition(";")[0]) == (0, "the processes have started")


def test_with_autotune_a_function_that_cannot_be_sent_is_an_error_before_the_first_element() -> None:
    lock = threading.Lock()
    dataset = in_processes(hr.Dataset.range(3), lambda x: (x, lock), calls=hr.AUTOTUNE)
    with pytest.raises(hr.errors.InvalidArgumentError, match="lock"):
        next(iter(dataset))


def test_threads_that_others_want_beside_them_wait_for_a_process_that_is_free() -> None:
    """Calls in threads that are found to pay have threads of their own, and those of the processes may be in more threads meanwhile."""
    dataset = hr.Dataset.range(60)
    for _ in range(3):
        dataset = dataset.map(same, num_parallel_calls=hr.AUTOTUNE, executor="process").prefetch(1)
        dataset = dataset.map(same, num_parallel_calls=hr.AUTOTUNE).prefetch(1)
    way = Way(hr.Options(), block_sizes=(1,), overlap=AlwaysAhead, concurrency=Beside, calls=RestlessCalls)
    with mock.patch("headrace.engine.run.current_share", return_value=Share(2, 1 << 30)), running(dataset, way) as it:
        assert [int(x) for x in it] == [*range(60)]


@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_a_function_that_closes_all_descriptors_ends_its_process_which_says_so(
    executor: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def closes(x: int) -> int:
        os.closerange(3, 200)
        return x

    with pytest.raises(hr.errors.WorkerError, match="exit status 1"):
        list(hr.Dataset.range(1).map(closes, num_parallel_calls=1).with_options(hr.Options(executor=executor)))
    assert "closed descriptors that were not its own" in capfd.readouterr().err


def test_a_copy_that_a_function_made_and_did_not_end_is_told_as_that(capfd: pytest.CaptureFixture[str]) -> None:
    def forks(x: int) -> int:
        copy = os.fork()
        if copy:
            os.waitpid(copy, 0)
        return x

    assert [int(x) for x in in_processes(hr.Dataset.range(1), forks, calls=1)] == [0]
    told = capfd.readouterr().err
    assert "which a function made with os.fork, has come back from that function" in told
    assert "closed descriptors" not in told


def test_a_file_in_an_element_is_an_error_and_nothing_is_read_of_it() -> None:
    def opened(x: int) -> Any:
        return x, Path(__file__).open() if x == 2 else x

    came = list(delivered(iter(in_processes(hr.Dataset.range(4), opened)), 9))
    assert [one[0] for one in came if isinstance(one, tuple)] == [0, 1, 3]
    assert "its component [1], of type TextIOWrapper, cannot be sent to the trainer's process" in str(came[2])


def test_a_process_that_a_function_ended_without_an_error_is_counted_as_one_that_died() -> None:
    def leaves(x: int) -> int:
        if x == 1:
            os._exit(0)
        return x

    with iter(in_processes(hr.Dataset.range(3), leaves, calls=1, on_error="skip")) as iterator:
        assert [int(x) for x in iterator] == [0, 2]
        assert iterator.stats().restarts >= 2
