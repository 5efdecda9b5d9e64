"""Elements that one process can pickle and another cannot make again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.backends.process.worker import WorkerProcess
from headrace.testing.restoring import delivered
from headrace.worker import served_readings

BAD = {0, 4, 5, 9}


class Unmade:
    """Says how it is pickled, and cannot be made of that."""

    def __init__(self, x: int) -> None:
        self.x = x

    def __reduce__(self) -> Any:
        return _unmade, (self.x,)


def _unmade(x: int) -> Unmade:
    raise RuntimeError("it cannot be made again")


class CountsOnAttributes:
    """Looks for its attributes in one of them, which is not there yet when it is made again."""

    def __init__(self, x: int) -> None:
        self.held = {"x": x}

    def __getattr__(self, name: str) -> Any:
        return self.held[name]


def some_bad(x: int) -> Any:
    kind = CountsOnAttributes if x % 2 else Unmade
    return (x, kind(x) if x in BAD else x)


def first(x: int, held: Any) -> int:
    return x


def of(dataset: hr.Dataset, executor: str) -> hr.Dataset:
    return dataset.with_options(hr.Options(executor=executor))


def out_of_workers() -> hr.Dataset:
    return of(hr.Dataset.range(10).map(some_bad, 2), "process")


def out_of_the_process() -> hr.Dataset:
    return of(hr.Dataset.range(10).map(some_bad, 2), "subprocess")


def out_of_datasets() -> hr.Dataset:
    return of(hr.Dataset.range(1).interleave(ten, num_parallel_calls=2), "process")


def into_workers() -> hr.Dataset:
    return hr.Dataset.range(10).map(some_bad).map(first, 2, executor="process")


def into_datasets() -> hr.Dataset:
    made = hr.Dataset.range(10).map(some_bad)
    return made.interleave(lambda x, held: hr.Dataset.from_tensors(x), 1, num_parallel_calls=1, executor="process")


def ten(_: int) -> hr.Dataset:
    return hr.Dataset.range(10).map(some_bad)


ALL = [out_of_workers, out_of_the_process, out_of_datasets, into_workers, into_datasets]
PLACES = {
    out_of_workers: "map 'some_bad'",
    out_of_the_process: "map 'some_bad'",
    out_of_datasets: "interleave 'ten'",
    into_workers: "map 'first'",
    into_datasets: "interleave '<lambda>'",
}


def number(one: Any) -> Any:
    return None if isinstance(one, Exception) else one[0] if isinstance(one, tuple) else one


EXPECTED = [None if x in BAD else x for x in range(10)]


@pytest.mark.parametrize("built", ALL)
def test_only_those_fail_and_say_where_and_why(built: Callable[[], hr.Dataset]) -> None:
    came = list(delivered(iter(built()), 20))
    assert [*map(number, came)] == EXPECTED
    for x, error in enumerate(came):
        if x in BAD:
            assert isinstance(error, hr.errors.InvalidArgumentError)
            assert f"element {x}" in str(error.origin)
            assert str(error.stage).startswith(PLACES[built])
            assert f"its component [1], of type {type(some_bad(x)[1]).__name__}, can be pickled" in error.reason
            assert type(error.__cause__) is (RecursionError if x % 2 else RuntimeError)


@pytest.mark.parametrize("built", [one for one in ALL if one is not out_of_the_process])  # where all of it came before
def test_others_follow_where_failures_are_skipped(built: Callable[[], hr.Dataset]) -> None:
    assert [*map(number, built().ignore_errors())] == [x for x in range(10) if x not in BAD]


@pytest.mark.parametrize("built", ALL)
def test_every_state_among_them_is_exact(built: Callable[[], hr.Dataset]) -> None:
    iterator = iter(built())
    states = [iterator.state_dict() for _ in delivered(iterator, 10)]
    assert next(iterator, None) is None
    for given, state in enumerate(states, 1):
        resumed = iter(built())
        resumed.load_state_dict(state)
        assert [*map(number, delivered(resumed, 20))] == EXPECTED[given:]


@pytest.mark.parametrize("made", [out_of_workers, into_workers])
@pytest.mark.parametrize("on_error", ["skip", lambda error: (-1, 0)], ids=["skipped", "replaced"])
def test_on_error_has_them_as_any_other_failure(made: Any, on_error: Any) -> None:
    source = hr.Dataset.range(10)
    if made is out_of_workers:
        came = source.map(some_bad, 2, executor="process", on_error=on_error)
    else:
        came = source.map(some_bad).map(first, 2, executor="process", on_error=on_error)
    assert [*map(number, came)] == (
        [x for x in range(10) if x not in BAD] if on_error == "skip" else [-1 if x in BAD else x for x in range(10)]
    )


def test_functions_are_called_once_on_each_element_all_the_same(tmp_path: Any) -> None:
    def noted(x: int) -> Any:
        with (tmp_path / str(x)).open("a") as file:
            file.write(".")
        return some_bad(x)

    dataset = hr.Dataset.range(10).map(noted, 2, executor="process")
    assert [*map(number, delivered(iter(dataset), 20))] == EXPECTED
    assert {path.read_text() for path in tmp_path.iterdir()} == {"."}


@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_a_function_that_cannot_be_made_again_is_an_error_that_says_so(executor: str) -> None:
    unmade = Unmade(0)
    dataset = of(hr.Dataset.range(3).map(lambda x: unmade.x, 1), executor)
    with pytest.raises(hr.errors.InvalidArgumentError, match="cannot be made again in another process") as raised:
        list(dataset)
    assert isinstance(raised.value.__cause__, RuntimeError)
    if executor == "process":  # the other has all of the plan at once
        assert str(raised.value.stage).startswith("map '<lambda>'")


def test_a_process_keeps_nothing_of_datasets_that_were_read() -> None:
    def locked(x: int) -> hr.Dataset:
        mapped = hr.Dataset.range(4).map(lambda y: threading.Lock() if y == 2 else len(served_readings._readings))
        return mapped.take(x % 5)  # some are empty

    dataset = hr.Dataset.range(40).interleave(locked, 1, num_parallel_calls=1, executor="process")
    assert max(dataset.ignore_errors()) < 10


class Boxed:
    def __init__(self, x: int) -> None:
        self.array = np.full(50_000, x)


def arrays(x: int) -> Any:
    return {"array": np.full(50_000, x), "text": str(x), "number": 1.5 * x, "nested": (x, [b"raw", None])}


@pytest.mark.parametrize(
    ("made", "keeps"), [(arrays, False), (Boxed, True), (lambda x: np.datetime64(int(x), "D"), False)]
)
def test_a_process_keeps_what_it_sent_only_where_a_class_may_say_that_it_cannot_be_made_again(
    monkeypatch: pytest.MonkeyPatch, made: Callable[[int], Any], keeps: bool
) -> None:
    told: list[int] = []
    holds = WorkerProcess._holds

    def noted(worker: WorkerProcess, there_bytes: int) -> None:
        told.append(there_bytes)
        holds(worker, there_bytes)

    monkeypatch.setattr(WorkerProcess, "_holds", noted)
    assert len(list(of(hr.Dataset.range(6).map(made, 2), "process"))) == 6
    assert len(told) > 0
    assert (max(told) > 0) is keeps
