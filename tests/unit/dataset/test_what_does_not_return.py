"""What a map does with a function that does not return within ``timeout_s``."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace as hr
from headrace.semantics import timed_calls

# A function that hangs is over it, however fast the machine is; what none of these tests asserts on is how long anything takes.
SHORT_S = 0.05
HOURS_S = 36_000.0
LIMIT_S = 60.0


class Hanging:
    """A function that returns from some numbers only when it is let go."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers
        self.calls: list[int] = []
        self.may_go = threading.Event()

    def at(self, number: int) -> int:
        self.calls.append(int(number))
        if number in self.numbers:
            assert self.may_go.wait(LIMIT_S)
        return number


@pytest.fixture
def hanging() -> Iterator[Callable[..., Hanging]]:
    """Makes such functions, which are let go at the end."""
    made: list[Hanging] = []

    def make(*numbers: int) -> Hanging:
        made.append(Hanging(*numbers))
        return made[-1]

    yield make
    for one in made:
        one.may_go.set()


def raised_by(iterator: Iterator[Any]) -> hr.errors.DeadlineExceededError:
    with pytest.raises(hr.errors.DeadlineExceededError) as caught:
        next(iterator)
    return caught.value


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_the_error_says_which_element_hangs_and_in_which_line(hanging: Callable[..., Hanging], executor: str) -> None:
    dataset = hr.Dataset.range(3).map(hanging(0).at, timeout_s=SHORT_S).with_options(hr.Options(executor=executor))
    with iter(dataset) as iterator:
        error = raised_by(iterator)
    assert isinstance(error, TimeoutError)
    assert error.stage is not None
    assert error.stage.startswith("map 'Hanging.at' (test_what_does_not_return.py:")
    assert error.origin == "element 0"
    assert re.search(r'test_what_does_not_return\.py", line \d+, in at\n    assert self\.may_go\.wait', error.stack)
    assert error.stack.rstrip() in "".join(error.__notes__)


def test_what_a_thread_that_was_left_behind_gives_is_dropped_and_it_calls_nothing_more(
    hanging: Callable[..., Hanging],
) -> None:
    hang = hanging(0)
    with iter(hr.Dataset.range(8).map(hang.at, timeout_s=SHORT_S, on_error="skip")) as iterator:
        assert next(iterator) == 1
        hang.may_go.set()
        assert list(iterator) == [2, 3, 4, 5, 6, 7]
    for thread in threading.enumerate():
        if thread.name.startswith(timed_calls.LEFT_BEHIND):
            thread.join(LIMIT_S)
    assert hang.calls == list(range(8))


def test_what_is_raised_in_a_thread_that_was_left_behind_is_told_to_nobody(hanging: Callable[..., Hanging]) -> None:
    hang = hanging(0)
    told: list[hr.errors.HeadraceError] = []

    def failing(x: int) -> float:
        return 1 / hang.at(x)

    def replaced(error: hr.errors.HeadraceError) -> int:
        told.append(error)
        return -1

    assert list(hr.Dataset.range(2).map(failing, timeout_s=SHORT_S, on_error=replaced)) == [-1, 1]
    hang.may_go.set()
    for thread in threading.enumerate():
        if thread.name.startswith(timed_calls.LEFT_BEHIND):
            thread.join(LIMIT_S)
    assert [type(error) for error in told] == [hr.errors.DeadlineExceededError]


def test_what_functions_that_return_in_time_give_is_as_without_a_timeout() -> None:
    dataset = hr.Dataset.range(5).map(lambda x: [x, {"a": x}], timeout_s=HOURS_S)
    assert list(dataset) == list(hr.Dataset.range(5).map(lambda x: [x, {"a": x}]))
    assert hr.fingerprint(hr.Dataset.range(5).map(abs, timeout_s=1)) == hr.fingerprint(hr.Dataset.range(5).map(abs))


def test_an_error_of_the_function_is_as_without_a_timeout() -> None:
    def failing(x: int) -> float:
        return 6 / (x - 1)

    with iter(hr.Dataset.range(3).map(failing, timeout_s=HOURS_S)) as iterator:
        assert next(iterator) == -6
        with pytest.raises(hr.errors.DataError, match="element 1: ZeroDivisionError") as caught:
            next(iterator)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert next(iterator) == 6


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_what_ends_the_program_ends_it_from_a_thread_of_its_own(executor: str) -> None:
    def leaving(_: int) -> None:
        raise SystemExit(3)

    dataset = hr.Dataset.range(3).map(leaving, timeout_s=HOURS_S).with_options(hr.Options(executor=executor))
    with pytest.raises(SystemExit, match="3"):
        list(dataset)


def test_a_vectorized_function_is_called_on_each_element_where_it_takes_too_long_on_all(
    hanging: Callable[..., Hanging],
) -> None:
    hang = hanging(2)

    @hr.vectorized
    def slow(numbers: Any) -> Any:
        for number in numbers:
            hang.at(int(number))
        return numbers * 10

    dataset = hr.Dataset.range(4).batch(4).unbatch().map(slow, timeout_s=SHORT_S, on_error="skip")
    assert list(dataset) == [0, 10, 30]


def test_an_element_that_is_looked_up_is_one_too(hanging: Callable[..., Hanging]) -> None:
    dataset = hr.Dataset.range(3).map(hanging(1).at).with_options(hr.Options(timeout_s=SHORT_S))
    assert dataset[2] == 2
    with pytest.raises(hr.errors.DeadlineExceededError, match=r"element 1: the function did not return within 0\.05 s"):
        dataset[1]


def test_how_many_threads_are_left_behind_is_bounded(
    hanging: Callable[..., Hanging], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timed_calls, "_MOST_LEFT", 2)
    dataset = hr.Dataset.range(9).map(hanging(*range(9)).at, timeout_s=SHORT_S, on_error="skip")
    with pytest.raises(hr.errors.ResourceExhaustedError, match="2 calls that did not return within their timeout_s"):
        list(dataset)


def test_timeouts_count_among_the_failures_that_are_allowed(hanging: Callable[..., Hanging]) -> None:
    dataset = hr.Dataset.range(9).map(hanging(2, 4).at, timeout_s=SHORT_S, on_error="skip")
    with pytest.raises(
        hr.errors.DeadlineExceededError, match=r"element 4: .* \(this is failure 2, and max_failures is 1\)"
    ):
        list(dataset.with_options(hr.Options(max_failures=1)))


@pytest.mark.parametrize("calls", [None, 2])
def test_a_run_is_closed_though_functions_hang(hanging: Callable[..., Hanging], calls: int | None) -> None:
    iterator = iter(hr.Dataset.range(9).map(hanging(*range(9)).at, calls, timeout_s=SHORT_S).prefetch(4))
    raised_by(iterator)
    iterator.close()
    assert iterator.stalls() == ()


ENDS: str = """
import threading, headrace as hr
def hanging(x):
    if x == 1:
        threading.Event().wait()
    return x
iterator = iter(hr.Dataset.range(4).map(hanging, {calls}, timeout_s=0.05, on_error="skip"))
print([int(next(iterator)) for _ in range(2)])
"""


@pytest.mark.parametrize("calls", [None, 2])
def test_a_program_ends_though_a_function_hangs(calls: int | None) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS.format(calls=calls)], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[0, 2]\n")
    assert "the process ends while functions still run" not in done.stderr


@pytest.mark.parametrize(
    ("timeout_s", "kind"),
    [
        (0, ValueError),
        (-1, ValueError),
        (float("nan"), ValueError),
        (float("inf"), ValueError),
        ("1", TypeError),
        (True, TypeError),
    ],
)
def test_what_is_no_timeout_is_refused(timeout_s: Any, kind: type[Exception]) -> None:
    for refused in (
        lambda: hr.Dataset.range(3).map(abs, timeout_s=timeout_s),
        lambda: hr.Dataset.range(3).random_map(max, timeout_s=timeout_s),
        lambda: hr.Options(timeout_s=timeout_s),
    ):
        with pytest.raises(kind, match="timeout_s must be"):
            refused()


def of_lock(x: int) -> int:
    if x == 1:
        re.match(r"(a*)*b", "a" * 40)  # for hours, within Python's lock
    return x


def test_a_process_that_keeps_pythons_lock_is_killed_and_says_where() -> None:
    dataset = hr.Dataset.range(3).map(of_lock, 1, executor="process", timeout_s=1.0)
    with iter(dataset) as iterator:
        assert next(iterator) == 0
        error = raised_by(iterator)
        assert next(iterator) == 2
        assert iterator.stats().restarts == 0
    assert error.origin == "element 1"
    assert re.search(r'test_what_does_not_return\.py", line \d+ in of_lock\n', error.stack)
    assert "headrace/worker" not in error.stack
