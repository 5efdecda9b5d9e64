"""What is structure in this process is structure in another one, which has met no class of it yet; and its arrays are as they are here."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import attrs
import cloudpickle
import numpy as np
import pytest
from tests.laws.running import assert_same

import headrace as hr
from headrace.testing.restoring import delivered

Kind = Callable[..., Any]


class Two(NamedTuple):
    x: Any
    y: Any


def of_dataclasses() -> Kind:
    @dataclasses.dataclass
    class Own:
        x: Any
        y: Any

    return Own


def of_slots() -> Kind:
    @dataclasses.dataclass(slots=True, frozen=True)
    class Own:
        x: Any
        y: Any

    return Own


def of_attrs() -> Kind:
    @attrs.define
    class Own:
        x: Any
        y: Any

    return Own


def of_tuples() -> Kind:
    class Own(Two):
        __slots__ = ()

        def __new__(cls, x: Any, y: Any, *more: Any) -> Any:
            assert not more
            return super().__new__(cls, x, y)

    return Own


KINDS = {"dataclass": of_dataclasses, "slots": of_slots, "attrs": of_attrs, "named tuple": of_tuples}


def added_to(own: Any) -> int:
    own.x[...] += 1
    return int(own.x[0])


def yielded(kind: Kind) -> Callable[[], Iterator[Any]]:
    def generate() -> Iterator[Any]:
        for number in range(3):
            yield kind(np.full(2, number), number)

    return generate


def objects(kind: Kind) -> np.ndarray:
    array = np.empty(2, object)
    array[:] = [kind(np.zeros(2, np.int64), number) for number in range(2)]
    return array


def added(state: Any, number: int) -> Any:
    return type(state)(state.x + 1, state.y), state.x


def interleaved(inner: hr.Dataset) -> hr.Dataset:
    return hr.Dataset.range(2).interleave(lambda _: inner, 1, num_parallel_calls=1)


D = hr.Dataset
PLANS: dict[str, Callable[[Kind], hr.Dataset]] = {
    "element": lambda kind: D.from_tensors(kind(np.zeros(2), 1)).repeat(2),
    "element that is written to": lambda kind: D.from_tensors(kind(np.zeros(2), 1)).repeat(2).map(lambda own: own, 1),
    "batch": lambda kind: D.from_tensors(kind(np.zeros(2), 1)).repeat(4).batch(2),
    "cache": lambda kind: D.from_tensors(kind(np.zeros(2), 1)).cache().repeat(3).batch(2),
    "slices": lambda kind: D.from_tensor_slices(kind(np.zeros((3, 2)), np.arange(3))).batch(2).map(lambda own: own, 1),
    "objects": lambda kind: D.from_tensor_slices(objects(kind)).batch(2),
    "zip": lambda kind: D.zip(kind(D.range(3), D.range(3))),
    "state": lambda kind: D.range(3).scan(kind(np.zeros(2), 1), added),
    "signature": lambda kind: D.from_generator(
        yielded(kind), output_signature=kind(hr.TensorSpec((2,), np.int64), hr.TensorSpec((), np.int64))
    ),
    "padding": lambda kind: D.from_generator(yielded(kind)).padded_batch(2, kind([3], []), kind(9, 0)),
    "pack": lambda kind: D.from_tensors(kind(np.zeros(2), np.ones(2))).repeat(2).pack(kind(4, 4)),
    "window": lambda kind: D.from_tensors(kind(np.zeros(2), 1)).repeat(4).window(2).flat_map(lambda w: w.x).batch(2),
    "window in workers": lambda kind: (
        D.from_tensors(kind(np.zeros(2), 1)).repeat(4).window(2).map(lambda w: tuple(w.x), 1)
    ),
    "window of them": lambda kind: (
        D.range(4).map(lambda n: kind(n, n)).group_by_window(lambda own: 0, lambda _, group: group.batch(2), 2)
    ),
    "dataset in a function": lambda kind: interleaved(D.from_tensors(kind(np.zeros(2), 1)).repeat(2).batch(2)),
}


@pytest.mark.parametrize("executor", ["subprocess", "process"])
@pytest.mark.parametrize("kind", KINDS)
def test_elements_are_those_of_threads(kind: str, executor: str) -> None:
    for plan in PLANS.values():
        own = KINDS[kind]()
        here = list(delivered(iter(plan(own)), 20))
        # Another class of the same fields, which no process has met.
        there = KINDS[kind]()
        elsewhere = plan(there).with_options(hr.Options(executor=executor))
        came = list(delivered(iter(elsewhere), 20))
        assert [shown(element) for element in came] == [shown(element) for element in here]


def shown(value: Any) -> Any:
    """A value in words, but for which class it is of, with what may be written to."""
    if isinstance(value, hr.errors.HeadraceError):
        return type(value), value.reason
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.flags.writeable, [shown(one) for one in value.ravel().tolist()]
    if type(value) is tuple:
        return tuple(map(shown, value))
    if hasattr(value, "x"):
        return "Own", shown(value.x), shown(value.y)
    return repr(value)


@pytest.mark.parametrize("executor", ["thread", "subprocess"])
def test_what_a_function_may_not_write_to_it_may_not_elsewhere(executor: str) -> None:
    dataset = D.from_tensors(of_dataclasses()(np.zeros(2), 1)).repeat(2).map(added_to)
    came = list(delivered(iter(dataset.with_options(hr.Options(executor=executor))), 5))
    assert [type(element) for element in came] == [hr.errors.DataError] * 2


def test_a_state_that_nobody_asks_for_is_not_written() -> None:
    def counted(state: Any, number: int) -> Any:
        return {"seen": state["seen"] | {number}}, number

    dataset = D.range(3).scan({"seen": frozenset()}, counted).with_options(hr.Options(executor="subprocess"))
    iterator = iter(dataset)
    assert list(iterator) == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(hr.errors.InvalidArgumentError, match="frozenset"):
            iterator.state_dict()
    assert_same(list(dataset), [0, 1, 2])


@pytest.mark.parametrize("module", [pickle, cloudpickle])
def test_a_dataset_is_pickled_with_what_is_structure(module: Any) -> None:
    dataset = D.from_tensor_slices(hr.RaggedTensor(np.zeros((2, 2)), np.zeros((2, 1)))).batch(2)
    assert_same(list(dataset), list(module.loads(module.dumps(dataset))))
