"""Generators: run anew in each epoch, and held to their signatures."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError
from headrace.testing.restoring import same

data = hr.Dataset
BOTH = pytest.mark.parametrize("executor", ["thread", "inline"])


def given_by(dataset: hr.Dataset, executor: str = "thread") -> list[Any]:
    return list(dataset.with_options(hr.Options(executor=executor)))


def test_a_generator_runs_anew_in_each_epoch_with_its_arguments() -> None:
    runs: list[int] = []

    def generate(start: int, stop: int) -> Iterator[int]:
        runs.append(start)
        yield from range(start, stop)

    dataset = data.from_generator(generate, args=(2, 4))
    assert list(dataset.repeat(2)) == [2, 3, 2, 3]
    assert list(dataset) == [2, 3]
    assert runs == [2, 2, 2]


SIGNED: dict[str, tuple[Any, Any, Any]] = {
    "an int takes the dtype": (hr.TensorSpec((), np.int32), 3, np.int32(3)),
    "a float takes the dtype": (hr.TensorSpec((), np.float32), 0.5, np.float32(0.5)),
    "an int may be a float": (hr.TensorSpec((), np.float32), 3, np.float32(3)),
    "a list is an array": (hr.TensorSpec((2,), np.float32), [1, 2], np.array([1, 2], np.float32)),
    "sizes may vary": (hr.TensorSpec((None, 2), np.int64), [[1, 2]], np.array([[1, 2]])),
    "the rank may vary": (hr.TensorSpec(None, np.int64), [[1, 2]], np.array([[1, 2]])),
    "text": (hr.TensorSpec((), str), "a", "a"),
    "bytes": (hr.TensorSpec((), bytes), b"a", b"a"),
    "a structure": (
        {"a": hr.TensorSpec((), np.int8), "b": (hr.TensorSpec((), object),)},
        {"a": 1, "b": ({1, 2},)},
        {"a": np.int8(1), "b": ({1, 2},)},
    ),
}


@BOTH
@pytest.mark.parametrize("case", sorted(SIGNED))
def test_what_is_yielded_takes_the_form_of_the_signature(case: str, executor: str) -> None:
    signature, element, expected = SIGNED[case]
    dataset = data.from_generator(lambda: iter([element]), output_signature=signature)
    (came,) = given_by(dataset, executor)
    assert same(came, expected)
    assert dataset.element_spec == signature


UNFIT: dict[str, tuple[Any, Any]] = {
    "another dtype": (hr.TensorSpec((), np.int32), 0.5),
    "text for a number": (hr.TensorSpec((), np.int32), "3"),
    "a number for text": (hr.TensorSpec((), str), 3),
    "another shape": (hr.TensorSpec((2,), np.int64), [1, 2, 3]),
    "another rank": (hr.TensorSpec((), np.int64), [1]),
    "another structure": ((hr.TensorSpec((), np.int64),), 1),
    "an array of another dtype": (hr.TensorSpec((1,), np.int32), np.zeros(1)),
}


@BOTH
@pytest.mark.parametrize("case", sorted(UNFIT))
def test_what_does_not_fit_the_signature_is_an_error_of_its_element(case: str, executor: str) -> None:
    signature, element = UNFIT[case]
    dataset = data.from_generator(lambda: iter([element]), output_signature=signature)
    with pytest.raises(InvalidArgumentError, match="signature"):
        given_by(dataset, executor)


class Letters:
    """An iterator that is no generator: nothing closes it, so it must be let go."""

    def __init__(self) -> None:
        self.left = iter("abc")

    def __iter__(self) -> Letters:
        return self

    def __next__(self) -> str:
        return next(self.left)


class Resumed(Letters):
    def state_dict(self) -> dict[str, Any]:
        return {"left": list(copy.copy(self.left))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.left = iter(state["left"])


@BOTH
@pytest.mark.parametrize("kind", [Letters, Resumed])
@pytest.mark.parametrize("end", ["take", "close", "exhausted", "repeat"])
def test_an_iterator_is_let_go_when_the_dataset_needs_it_no_more(kind: type[Letters], end: str, executor: str) -> None:
    made: list[weakref.ref[Letters]] = []

    def letters() -> Letters:
        letters = kind()
        made.append(weakref.ref(letters))
        return letters

    dataset = data.from_generator(letters).with_options(hr.Options(executor=executor))
    iterator = iter(dataset.take(2) if end == "take" else dataset.repeat(2) if end == "repeat" else dataset)
    if end == "close":
        assert next(iterator) == "a"
        iterator.close()
    else:
        list(iterator)
    gc.collect()
    assert [ref() for ref in made] == [None] * (2 if end == "repeat" else 1)
    state = iterator.state_dict()
    again = iter(dataset.take(2) if end == "take" else dataset.repeat(2) if end == "repeat" else dataset)
    again.load_state_dict(state)
    assert list(again) == (["b", "c"] if end == "close" else [])


@BOTH
def test_an_iterator_whose_state_cannot_be_told_is_closed_all_the_same(executor: str) -> None:
    closed: list[str] = []

    class Mute(Resumed):
        def __init__(self) -> None:
            super().__init__()
            self.asked = 0

        def state_dict(self) -> dict[str, Any]:
            self.asked += 1
            if self.asked > 1:
                raise ValueError("no state")
            return {}

        def close(self) -> None:
            closed.append("closed")

    iterator = iter(data.from_generator(Mute).with_options(hr.Options(executor=executor)))
    assert next(iterator) == "a"
    iterator.close()
    assert closed == ["closed"]
