"""Law 3 where an element fails while it is read again, and had not failed before: ``unique`` would take its equal for new, and says so instead.

What was only a fault of the moment has passed when the same state is loaded once more, and nothing is lost by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import DataError, InputChangedError

_EXECUTORS = ("inline", "thread")
_SIZE = 12


def failing_at(failing: set[int]) -> hr.Dataset:
    """Twelve numbers, some of them equal, of which those with an index in the set fail, whatever it holds when they are read."""

    def function(x: int) -> int:
        if x in failing:
            raise ValueError(f"{x} is wrong")
        return x % 5

    return hr.Dataset.range(_SIZE).map(function).unique()


def read(iterator: hr.DatasetIterator, most: int = 2 * _SIZE) -> list[Any]:
    found: list[Any] = []
    while len(found) < most:
        try:
            found.append(int(next(iterator)))
        except StopIteration:
            break
        except (DataError, InputChangedError) as error:
            found.append(type(error).__name__)
    return found


@pytest.mark.parametrize("executor", _EXECUTORS)
@pytest.mark.parametrize("other", _EXECUTORS)
@given(st.sets(st.integers(0, _SIZE - 1)), st.sets(st.integers(0, _SIZE - 1)), st.integers(0, _SIZE))
def test_what_fails_only_the_second_time_is_told(
    executor: str, other: str, before: set[int], again: set[int], came: int
) -> None:
    options = hr.Options(executor=executor), hr.Options(executor=other)
    failing = set(before)
    dataset = failing_at(failing)
    with iter(dataset.with_options(options[0])) as iterator:
        head = read(iterator, came)
        state = iterator.state_dict()
    seen = 0 if state["position"] is None else state["position"]["read"]
    failing.clear()
    failing.update(again)
    with iter(dataset.with_options(options[1])) as iterator:
        iterator.load_state_dict(state)
        rest = read(iterator)
        saved = iterator.state_dict()
    alike = {x for x in before if x < seen} == {x for x in again if x < seen}
    assert (rest == ["InputChangedError"]) is not alike
    if alike:
        return
    assert saved["position"] == state["position"]
    failing.clear()
    failing.update(before)
    with iter(dataset.with_options(options[1])) as iterator:
        iterator.load_state_dict(saved)
        assert head + read(iterator) == read(iter(failing_at(before).with_options(options[0])))


@pytest.mark.parametrize("executor", _EXECUTORS)
def test_the_error_names_what_failed_on_the_way(executor: str) -> None:
    failing: set[int] = set()
    dataset = failing_at(failing).with_options(hr.Options(executor=executor))
    with iter(dataset) as iterator:
        read(iterator, 4)
        state = iterator.state_dict()
    failing.add(2)
    with iter(dataset) as iterator:
        iterator.load_state_dict(state)
        with pytest.raises(
            InputChangedError, match=r"load it again if this has passed: .*element 2: ValueError: 2 is wrong"
        ):
            next(iterator)
        assert list(iterator) == []


# What reads again on its way back what it had read, over a source that has fewer elements then.
_READING_AGAIN: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "from_generator": lambda ds: ds,
    "unique": lambda ds: ds.unique(),
    "shuffle": lambda ds: ds.shuffle(3, seed=1),
    "shuffle of all": lambda ds: ds.shuffle(50, seed=1),
    "unbatch": lambda ds: ds.map(lambda x: np.arange(x, x + 3)).unbatch(),
    "window": lambda ds: ds.window(3, shift=1).flat_map(lambda window: window.batch(3)),
    "pack": lambda ds: ds.map(lambda x: np.arange(2 + x % 2)).pack(8),
    "flat_map": lambda ds: ds.flat_map(lambda x: hr.Dataset.range(x + 3)),
}
_IGNORING: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "ignore_errors": lambda ds: ds.ignore_errors(),
    "ignore_errors and a batch": lambda ds: ds.ignore_errors().map(lambda *_: 1).batch(2, drop_remainder=True),
}


@pytest.mark.parametrize("executor", [*_EXECUTORS, "subprocess"])
@pytest.mark.parametrize("ignoring", sorted(_IGNORING))
@pytest.mark.parametrize("operation", sorted(_READING_AGAIN))
def test_who_ignores_errors_does_not_ignore_that_the_data_changed(operation: str, ignoring: str, executor: str) -> None:
    length = [100]
    dataset = _READING_AGAIN[operation](hr.Dataset.from_generator(lambda: iter(range(length[0]))))
    dataset = _IGNORING[ignoring](dataset).with_options(hr.Options(executor=executor))
    with iter(dataset) as iterator:
        next(iterator)
        next(iterator)
        state = iterator.state_dict()
    length[0] = 0
    with iter(dataset) as iterator:
        iterator.load_state_dict(state)
        with pytest.raises(InputChangedError):
            next(iterator)
