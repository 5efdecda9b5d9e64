"""What a user sees of datasets that processes open and read."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.iterator import DatasetIterator
from headrace.testing import faults
from headrace.testing.restoring import delivered

Inner = Callable[[int], hr.Dataset]


def in_processes(function: Inner, count: int = 5, **settings: Any) -> hr.Dataset:
    wanted: dict[str, Any] = {
        "cycle_length": 3,
        "block_length": 2,
        "num_parallel_calls": 2,
        "executor": "process",
    } | settings
    return hr.Dataset.range(count).interleave(function, **wanted)


def in_threads(function: Inner, count: int = 5, **settings: Any) -> hr.Dataset:
    return in_processes(function, count, executor="thread", **settings)


def with_process(x: int) -> hr.Dataset:
    outer = int(x)
    pid = os.getpid()
    return hr.Dataset.range(6).map(lambda y: (outer, y, pid, os.getpid()))


def numbers(x: int) -> hr.Dataset:
    outer = int(x)
    return hr.Dataset.range(4 + 3 * outer).map(lambda y: 100 * outer + y)


def drawn(x: int) -> hr.Dataset:
    inside = hr.Dataset.range(9).shuffle(4).random_map(lambda rng, y: (y, int(rng.integers(1000))))
    return inside.batch(2)


def fails_inside(x: int) -> hr.Dataset:
    def failing(y: int) -> int:
        if y == 2:
            raise KeyError("label")
        return y

    return hr.Dataset.range(4).map(failing)


def fails_to_open(x: int) -> Any:
    if x == 1:
        raise KeyError("file")
    return 7 if x == 2 else hr.Dataset.range(2)


def told(dataset: hr.Dataset) -> list[Any]:
    return [str(one) if isinstance(one, Exception) else one for one in delivered(iter(dataset), 99)]


def test_the_function_and_what_it_makes_run_in_processes_and_the_order_is_that_of_threads() -> None:
    came = list(in_processes(with_process))
    assert [one[:2] for one in came] == [one[:2] for one in in_threads(with_process)]
    assert os.getpid() not in {pid for one in came for pid in one[2:]}
    assert len({pid for one in came for pid in one[2:]}) <= 2


def test_options_have_processes_read_what_is_interleaved_in_parallel_and_nothing_else() -> None:
    options = hr.Options(executor="process")
    parallel = in_processes(with_process, executor=None).with_options(options)
    serial = in_processes(with_process, executor=None, num_parallel_calls=None).with_options(options)
    stays = in_processes(with_process, executor="thread").with_options(options)
    assert os.getpid() not in {one[3] for one in parallel}
    assert {one[3] for one in serial} == {one[3] for one in stays} == {os.getpid()}


@pytest.mark.parametrize("function", [numbers, drawn], ids=["numbers", "drawn"])
@pytest.mark.parametrize("executor", [None, "subprocess"])
def test_elements_are_those_of_threads_and_every_state_goes_on_in_any_executor(
    function: Inner, executor: str | None
) -> None:
    options = hr.Options(seed=3, executor=executor)
    ours, theirs = in_processes(function).with_options(options), in_threads(function).with_options(hr.Options(seed=3))
    iterator = iter(ours)
    elements, states = [], []
    for element in theirs:
        elements.append(element)
        assert repr(next(iterator)) == repr(element)
        states.append(iterator.state_dict())
    assert next(iterator, None) is None
    for given in range(0, len(states), 7):
        for dataset in (ours, theirs):
            resumed = iter(dataset)
            resumed.load_state_dict(states[given])
            assert repr(list(resumed)) == repr(elements[given + 1 :])


@pytest.mark.parametrize("function", [fails_inside, fails_to_open], ids=["inside", "to open"])
def test_errors_have_the_words_and_the_places_that_they_have_in_threads(function: Inner) -> None:
    ours = told(in_processes(function))
    assert [one.partition("\nraised in")[0] if isinstance(one, str) else one for one in ours] == told(
        in_threads(function)
    )


def test_a_process_that_dies_is_replaced_and_each_element_comes_once() -> None:
    kill = faults.kill(lambda y: y, at=lambda y: y == 5)
    dataset = in_processes(lambda x: hr.Dataset.range(8).map(kill), 1, cycle_length=2)
    iterator = iter(dataset)
    came: list[int] = []
    states: list[dict[str, Any]] = []
    for element in iterator:
        came.append(element)
        states.append(iterator.state_dict())
    assert came == list(range(8))
    assert iterator.stats().restarts == 1
    for given, state in enumerate(states, 1):
        resumed = iter(in_threads(lambda x: hr.Dataset.range(8).map(lambda y: y), 1, cycle_length=2))
        resumed.load_state_dict(state)
        assert list(resumed) == list(range(given, 8))


def dies(y: int) -> int:
    if y == 3:
        os._exit(5)
    return y


def test_an_element_of_which_processes_die_names_the_place() -> None:
    dataset = in_processes(lambda x: hr.Dataset.range(6).map(dies), 2, cycle_length=2)
    with pytest.raises(
        hr.errors.WorkerError, match="3 processes that read its dataset died after 3 elements"
    ) as caught:
        list(dataset)
    assert str(caught.value.stage).startswith("interleave")
    assert caught.value.origin in ("element 0", "element 1")


def dies_in_the_middle(x: int) -> hr.Dataset:
    return hr.Dataset.range(10 * x, 10 * x + 4).map(lambda y: os._exit(5) if y == 12 else y)


def fails_in_the_middle(x: int) -> hr.Dataset:
    def numbers() -> Iterator[int]:
        for y in range(10 * x, 10 * x + 4):
            if y == 12:
                raise KeyError(y)
            yield y

    return hr.Dataset.from_generator(numbers)


def elements_or_none(of: hr.Dataset | DatasetIterator, count: int = 30) -> list[int | None]:
    found = delivered(of if isinstance(of, DatasetIterator) else iter(of), count)
    return [None if isinstance(one, hr.errors.HeadraceError) else int(one) for one in found]


@pytest.mark.parametrize(("cycle_length", "block_length"), [(2, 1), (3, 1), (2, 3)])
def test_a_dataset_that_kills_processes_in_the_middle_is_as_one_whose_generator_fails_there(
    cycle_length: int, block_length: int
) -> None:
    turns = {"cycle_length": cycle_length, "block_length": block_length}
    expected = elements_or_none(in_threads(fails_in_the_middle, 4, **turns))
    assert expected.count(None) == 1
    assert elements_or_none(in_processes(dies_in_the_middle, 4, **turns)) == expected


def test_positions_before_and_after_an_element_that_kills_processes_go_on_there() -> None:
    dataset = in_processes(dies_in_the_middle, 3, cycle_length=2)
    expected = elements_or_none(in_threads(fails_in_the_middle, 3, cycle_length=2))
    place = expected.index(None)
    iterator = iter(dataset)
    assert elements_or_none(iterator, place) == expected[:place]
    states = [iterator.state_dict()]
    with pytest.raises(hr.errors.WorkerError, match="died after 2 elements"):
        next(iterator)
    states.append(iterator.state_dict())
    iterator.close()
    for given, state in enumerate(states, place):
        resumed = iter(dataset)
        resumed.load_state_dict(state)
        assert elements_or_none(resumed) == expected[given:]


def killed_when_opened(x: int) -> hr.Dataset:
    return os._exit(5) if x == 1 else hr.Dataset.range(10 * x, 10 * x + 3)


def killed_when_first_read(x: int) -> hr.Dataset:
    return hr.Dataset.range(10 * x, 10 * x + 3).map(lambda y: os._exit(5) if y == 10 else y)


def failing_when_opened(x: int) -> hr.Dataset:
    return hr.Dataset.range(10 * x, 10 * x + 3 // (x != 1))


def elements_and_origins(dataset: hr.Dataset) -> list[Any]:
    came: list[Any] = []
    with iter(dataset) as iterator:
        while len(came) < 20:
            try:
                came.append(int(next(iterator)))
            except StopIteration:
                return came
            except hr.errors.HeadraceError as error:
                came.append(error.origin)
    raise AssertionError(came)


@pytest.mark.parametrize("cycle_length", [2, 3])
@pytest.mark.parametrize("killed", [killed_when_opened, killed_when_first_read])
def test_a_dataset_that_kills_processes_before_it_gives_anything_is_an_error_in_its_place(
    killed: Inner, cycle_length: int
) -> None:
    killing = in_processes(killed, 4, cycle_length=cycle_length)
    failing = elements_and_origins(in_threads(failing_when_opened, 4, cycle_length=cycle_length))
    assert "element 1" in failing
    assert elements_and_origins(killing) == failing
    assert elements_and_origins(killing.ignore_errors()) == [one for one in failing if one != "element 1"]


def kill_processes_of(iterator: Any) -> None:
    for worker in list(iterator._run._elsewhere._all):
        worker.kill()
        worker._host._line.ended.wait(10)


def test_a_position_in_what_a_dead_process_gave_is_found_again() -> None:
    dataset = in_processes(numbers, 3)
    iterator = iter(dataset)
    first = [next(iterator) for _ in range(5)]
    kill_processes_of(iterator)
    state = iterator.state_dict()
    rest = list(iterator)
    resumed = iter(in_threads(numbers, 3))
    resumed.load_state_dict(state)
    assert list(resumed) == rest
    assert first + rest == list(in_threads(numbers, 3))


def test_a_position_is_found_again_before_an_element_of_which_processes_die() -> None:
    iterator = iter(in_processes(lambda x: hr.Dataset.range(6).map(dies), 1, cycle_length=2))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    kill_processes_of(iterator)
    state = iterator.state_dict()
    resumed = iter(in_threads(lambda x: hr.Dataset.range(6), 1, cycle_length=2))
    resumed.load_state_dict(state)
    assert list(resumed) == [3, 4, 5]


@pytest.mark.parametrize(("allowed", "found"), [(9, True), (2, False)])
def test_a_position_is_looked_for_as_often_as_processes_may_die(tmp_path: Path, allowed: int, found: bool) -> None:
    def is_called_again(y: int) -> int:
        for call in range(5):
            with contextlib.suppress(FileExistsError):
                (tmp_path / f"{y} {call}").touch(exist_ok=False)
                break
        if y == 1 and 1 <= call < (4 if found else 5):
            os._exit(5)
        return y

    iterator = iter(
        in_processes(lambda x: hr.Dataset.range(6).map(is_called_again), 1, cycle_length=2).with_options(
            hr.Options(max_restarts=allowed)
        )
    )
    assert [next(iterator) for _ in range(2)] == [0, 1]
    kill_processes_of(iterator)
    if found:
        state = iterator.state_dict()
        resumed = iter(in_threads(lambda x: hr.Dataset.range(6), 1, cycle_length=2))
        resumed.load_state_dict(state)
        assert list(resumed) == [2, 3, 4, 5]
    else:
        with pytest.raises(hr.errors.WorkerError, match=r"so has each that was to find where it was.*exit"):
            iterator.state_dict()
    iterator.close()


def test_a_dataset_with_a_cache_is_read_in_the_process_that_has_the_cache() -> None:
    inside = hr.Dataset.range(3).map(lambda y: (y, os.getpid())).cache()
    dataset = in_processes(lambda x: inside, 4)
    assert {pid for _ in range(2) for _, pid in dataset} == {os.getpid()}


def test_what_cannot_be_sent_back_is_a_failure_in_its_place() -> None:
    def locked(x: int) -> hr.Dataset:
        return hr.Dataset.range(4).map(lambda y: (y, threading.Lock() if y == 2 else y))

    came = list(delivered(iter(in_processes(locked, 1, cycle_length=2)), 9))
    assert [one[0] for one in came if isinstance(one, tuple)] == [0, 1, 3]
    assert isinstance(came[2], hr.errors.InvalidArgumentError)
    assert "its component [1], of type lock, cannot be sent to the trainer's process" in str(came[2])


def test_what_cannot_be_sent_there_is_an_error_in_its_place_or_names_the_variable() -> None:
    lock = threading.Lock()
    with pytest.raises(hr.errors.InvalidArgumentError, match="variable 'lock', of type lock"):
        list(in_processes(lambda x: hr.Dataset.from_tensors((lock, x))))
    outer = hr.Dataset.range(3).map(lambda x: threading.Lock() if x == 1 else x)
    dataset = outer.interleave(lambda x: hr.Dataset.range(2), 2, num_parallel_calls=2, executor="process")
    came = list(delivered(iter(dataset), 9))
    assert [isinstance(one, int) for one in came].count(False) == 1
    assert "of type lock, cannot be sent to a process" in next(str(one) for one in came if isinstance(one, Exception))


def test_datasets_without_end_are_read_no_further_than_in_threads(tmp_path: Path) -> None:
    def endless(x: int) -> hr.Dataset:
        def noted(y: int) -> np.ndarray:
            with (tmp_path / str(int(x))).open("a") as file:
                file.write(".")
            return np.zeros(1 << 20, np.uint8)

        return hr.Dataset.range(1 << 40).map(noted)

    dataset = in_processes(endless, 3).with_options(hr.Options(ram_budget=1 << 20))
    iterator = iter(dataset)
    for _ in range(6):
        next(iterator)
    iterator.close()
    assert sum(len(path.read_text()) for path in tmp_path.iterdir()) < 60


def test_any_order_has_the_same_elements_and_its_states_lose_none() -> None:
    dataset = in_processes(numbers, deterministic=False)
    expected = Counter(in_threads(numbers))
    iterator = iter(dataset)
    came = [next(iterator) for _ in range(20)]
    state = iterator.state_dict()
    assert Counter(came + list(iterator)) == expected
    resumed = iter(dataset)
    resumed.load_state_dict(state)
    assert Counter(came + list(resumed)) == expected


def test_maps_and_batches_after_it_are_as_after_threads() -> None:
    dataset = in_processes(numbers).map(lambda x: np.full(3, x), num_parallel_calls=2, executor="process").batch(4)
    assert [batch[:, 0].tolist() for batch in dataset] == [batch.tolist() for batch in in_threads(numbers).batch(4)]


def test_an_executor_needs_a_number_of_calls_and_a_name_that_is_known() -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match="needs num_parallel_calls"):
        hr.Dataset.range(3).interleave(numbers, executor="process")
    with pytest.raises(hr.errors.InvalidArgumentError, match="executor must be 'thread', 'process' or None"):
        in_processes(numbers, executor="fork")


def test_a_function_inside_that_does_not_return_is_given_up_at_its_timeout(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def stuck(y: int) -> int:
        if y == 1:
            pipe.read_bytes()
        return y

    dataset = in_processes(lambda x: hr.Dataset.range(3).map(stuck, timeout_s=0.5), 1, cycle_length=2)
    came = list(delivered(iter(dataset), 9))
    assert [one for one in came if isinstance(one, int)] == [0, 2]
    assert isinstance(came[1], hr.errors.DeadlineExceededError)
