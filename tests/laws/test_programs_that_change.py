"""Law 1: an epoch has the functions, and what they use, as the program has them when it begins, whoever calls them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from tests.laws.hosts import Hosts, one_process_for_plans

import headrace as hr

LARGE = 20_000  # numbers: such an array is known by which one it is

PROGRAM = f"""
import functools
import numpy as np

scale = 1
items = [1]
large = np.ones({LARGE})

class Kind:
    factor = 1
    def times(self, x):
        return x * self.factor

class Adds:
    def __init__(self):
        self.bias = 1
    def __call__(self, x):
        return x + self.bias

def helper(x):
    return x * scale

table = {{"calls": lambda x: x + helper(1)}}

def with_closure():
    held = 1
    def inner(x):
        return helper(x) + held
    def change(n):
        nonlocal held
        held = n
    return inner, change

inner, change = with_closure()
kind, adds = Kind(), Adds()

def of_all(x, offset=1, *, factor=1):
    read = [item * factor for item in items]  # a name within a scope of its own, before Python 3.12
    return inner(x) + offset, len(read), sum(read), large[0], kind.times(x), table["calls"](x)

nested = functools.partial(lambda y, x: (x, y + scale), 1)
"""


def rebound(name: str) -> Callable[[dict[str, Any], int], None]:
    return lambda program, n: program.update({name: n})


def redefined(program: dict[str, Any], n: int) -> None:
    exec(f"def helper(x):\n    return x - {n} * scale", program)


def closure(program: dict[str, Any], n: int) -> None:
    program["change"](n)


def default(program: dict[str, Any], n: int) -> None:
    program["of_all"].__defaults__ = (n,)


def keyword_default(program: dict[str, Any], n: int) -> None:
    program["of_all"].__kwdefaults__["factor"] = n


def item(program: dict[str, Any], n: int) -> None:
    program["items"].append(n)


def new_items(program: dict[str, Any], n: int) -> None:
    program["items"] = [n, n]


def large_array(program: dict[str, Any], n: int) -> None:
    program["large"] = np.full(LARGE, n)


def class_attribute(program: dict[str, Any], n: int) -> None:
    program["Kind"].factor = n


def method(program: dict[str, Any], n: int) -> None:
    program["Kind"].times = lambda self, x: x - n


def attribute(program: dict[str, Any], n: int) -> None:
    program["adds"].bias = n


def entry(program: dict[str, Any], n: int) -> None:
    program["table"]["calls"] = lambda x: x * n


def nothing(program: dict[str, Any], n: int) -> None:
    pass


CHANGES = [
    rebound("scale"),
    redefined,
    closure,
    default,
    keyword_default,
    item,
    new_items,
    large_array,
    class_attribute,
    method,
    attribute,
    entry,
    nothing,
]


@pytest.fixture(autouse=True)
def one_process() -> Iterator[None]:
    hosts = Hosts()
    with one_process_for_plans(hosts):
        yield
    hosts.end()


@functools.cache
def written() -> Any:
    return compile(PROGRAM, "program.py", "exec")


def program() -> dict[str, Any]:
    """Returns the names of a program that is nobody's module, as that of a notebook."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(written(), names)
    return names


def built(names: dict[str, Any], executor: str, *, caches: bool) -> hr.Dataset:
    found = hr.Dataset.range(3).map(names["of_all"], num_parallel_calls=1)
    found = found.cache() if caches else found
    found = hr.Dataset.zip((found, hr.Dataset.range(3).map(names["adds"], num_parallel_calls=1).map(names["nested"])))
    return found.with_options(hr.Options(executor=executor))


@settings(max_examples=15, deadline=None)
@given(
    changes=st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(2, 9)), min_size=1, max_size=4),
    caches=st.booleans(),
)
@pytest.mark.parametrize("executor", ["thread", "process", "subprocess"])
def test_each_epoch_sees_what_the_program_changed_before_it(
    executor: str, changes: list[tuple[Callable[[dict[str, Any], int], None], int]], caches: bool
) -> None:
    plain, other = program(), program()
    expected, found = built(plain, "inline", caches=caches), built(other, executor, caches=caches)
    assert list(found) == list(expected)
    for change, n in changes:
        change(plain, n)
        change(other, n)
        assert list(found) == list(expected)


def test_a_change_between_making_an_iterator_and_its_first_element_is_seen() -> None:
    names = program()
    dataset = built(names, "subprocess", caches=False)
    expected = list(dataset)
    iterator = iter(dataset)
    names["scale"] = 7
    assert list(iterator) != expected
    names["scale"] = 1
    assert list(dataset) == expected


def test_a_run_goes_on_with_what_it_began_with_in_another_process() -> None:
    names = program()
    dataset = built(names, "subprocess", caches=False)
    expected = list(dataset)
    iterator = iter(dataset)
    first = next(iterator)
    names["scale"] = 7
    changed = list(dataset)  # in the same process, while the other run is at it
    state = iterator.state_dict()
    assert [first, *iterator] == expected != changed
    resumed = iter(dataset)
    resumed.load_state_dict(state)
    assert list(resumed) == changed[1:]  # a state has positions, and no functions
