"""Taking what a generator yields: how far it is read, what is learned of it, and what of it is copied."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import optree
import pytest

import headrace as hr
from headrace.elements.structure import NAMESPACE
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.taking import Taken, Taking
from headrace.testing.restoring import delivered

POLICIES = [LoopPolicy(probed=0), LoopPolicy(probed=1), LoopPolicy(probed=5, rows_a_look=3), LoopPolicy()]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)


def no_time() -> float:
    return 0.0


def taken(taking: Taking, elements: Iterator[Any], limit: int) -> tuple[list[Any], Taken]:
    made: list[Any] = []
    return made, taking.take(elements, made, limit, no_time, math.inf)


class Reviving:
    """An iterator that has more elements after its end."""

    def __init__(self) -> None:
        self.asked = 0

    def __iter__(self) -> Reviving:
        return self

    def __next__(self) -> int:
        self.asked += 1
        if self.asked % 8 == 0:
            raise StopIteration
        return self.asked


@each_policy
def test_no_more_is_read_than_is_asked_for(policy: LoopPolicy) -> None:
    taking, elements = Taking(policy), itertools.count()
    for limit in (1, 1, 2, 7, 8, 9, 40, 0, 1):
        before = next(elements)
        made, end = taken(taking, elements, limit)
        assert made == list(range(before + 1, before + 1 + limit))
        assert not end.has_ended


@each_policy
def test_an_element_is_taken_however_late_it_is_as_nothing_would_be_the_end(policy: LoopPolicy) -> None:
    taking, elements = Taking(policy), itertools.count()
    seen: list[int] = []
    while len(seen) < 30:
        made: list[Any] = []
        end = taking.take(elements, made, 8, no_time, -1.0)
        assert made
        assert not end.has_ended
        seen += made
    assert seen == list(range(len(seen)))


@each_policy
@pytest.mark.parametrize("limit", [7, 8, 30])
def test_who_has_ended_is_not_asked_again(policy: LoopPolicy, limit: int) -> None:
    elements = Reviving()
    made, end = taken(Taking(policy), elements, limit)
    assert made == list(range(1, 8))
    assert end.has_ended == (limit > 7)
    assert elements.asked == min(limit, 8)


def test_what_has_taken_its_time_is_handed_on() -> None:
    now = itertools.count()
    made: list[int] = []
    taking = Taking(LoopPolicy(probed=0, rows_a_look=2))
    end = taking.take(itertools.count(), made, 100, lambda: float(next(now)), 3.0)
    assert len(made) == 8  # after two each it looks, from 1 on
    assert not end.has_ended


def test_what_a_generator_fills_again_is_soon_no_surprise() -> None:
    def generate(own: dict[str, Any]) -> Iterator[Any]:
        for n in itertools.count():
            own["x"][...] = n
            yield own, own["x"][:1], n

    taking, elements = Taking(LoopPolicy(probed=1)), generate({"x": np.zeros(3), "y": 1})
    made, _ = taken(taking, elements, 40)
    assert [(row[0]["x"][0], row[1][0], row[2]) for row in made] == [(n, n, n) for n in range(40)]
    before = taking.surprises
    made, end = taken(taking, elements, 40)
    assert taking.surprises == before
    assert end.kinds == frozenset({tuple})
    assert [row[0]["x"][0] for row in made] == list(range(40, 80))
    assert made[0][0] is not made[1][0]


def test_what_a_generator_makes_anew_is_not_copied() -> None:
    def alone() -> Iterator[Any]:
        for n in range(60):
            yield {"x": np.full(3, n), "n": n}

    taking = Taking(LoopPolicy(probed=1))
    made, _ = taken(taking, alone(), 60)
    assert not taking.surprises
    assert [row["x"][0] for row in made] == list(range(60))


def test_what_may_be_joined_is_taken_so_until_something_else_comes() -> None:
    memory = np.zeros(9)

    def generate() -> Iterator[Any]:
        for n in range(100):
            memory[:] = n
            yield np.zeros((2, n)) if n in (50, 51) else memory[: n % 9]

    taking, elements = Taking(LoopPolicy(probed=2)), generate()
    found: list[Any] = []
    were_joined = []
    end = Taken(has_ended=False)
    for limit in (2, 30, 30, 30, 30):
        made: list[Any] = []
        end = taking.take(elements, made, limit, no_time, math.inf, may_join=True)
        were_joined.append(end.joined is not None)
        found += made if end.joined is None else end.joined.elements(made)
    assert end.has_ended
    assert were_joined == [False, True, False, True, True]  # the third is given back one by one
    assert all(found[n].tolist() == [n] * (n % 9) for n in range(100) if n not in (50, 51))
    assert found[50].shape == (2, 50)


@each_policy
def test_what_was_taken_to_be_joined_is_there_when_the_generator_fails(policy: LoopPolicy) -> None:
    def generate() -> Iterator[Any]:
        for n in range(60):
            if n == 45:
                raise ValueError("failing")
            yield np.arange(n)

    taking, elements = Taking(policy), generate()
    found = taken(taking, elements, 20)[0]
    made: list[Any] = []
    with pytest.raises(ValueError, match="failing"):
        taking.take(elements, made, 100, no_time, math.inf, may_join=True)
    assert [len(array) for array in found + made] == list(range(45))
    assert all(type(array) is np.ndarray for array in made)


def test_long_arrays_are_not_taken_to_be_joined() -> None:
    taking = Taking(LoopPolicy(probed=1))
    elements = (np.arange(100_000) for _ in range(20))
    taken(taking, elements, 5)
    assert taking.take(elements, [], 5, no_time, math.inf, may_join=True).joined is None


class Refusing:
    """A structure that cannot be built again with a three in it."""

    def __init__(self, n: Any) -> None:
        if isinstance(n, int) and n == 3:
            raise ValueError("no three")
        self.n = n


register: Any = optree.register_pytree_node  # whose types know collections alone
register(Refusing, lambda one: ((one.n,), None), lambda _, parts: Refusing(*parts), namespace=NAMESPACE)


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_a_generator_goes_on_behind_what_cannot_be_copied(executor: Any) -> None:
    def generate() -> Iterator[Any]:
        for n in range(6):
            one = Refusing(0)
            one.n = n
            yield one

    dataset = hr.Dataset.from_generator(generate).with_options(hr.Options(executor=executor))
    with iter(dataset) as iterator:
        found = [str(one) if isinstance(one, Exception) else one.n for one in delivered(iterator, 20)]
    assert found[:3] == [0, 1, 2]
    assert "no three" in found[3]
    assert "element 3" in found[3]
    assert found[4:] == [4, 5]
