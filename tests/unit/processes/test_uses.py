"""What the functions of a plan use, compared from one run to the next."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

import headrace as hr
from headrace.processes.shipping import shipped
from headrace.processes.uses import LARGE_BYTES, Uses, uses_of

if TYPE_CHECKING:
    import pytest

PROGRAM = """
import abc, collections, dataclasses, enum, functools, os.path, re, typing
import numpy as np

@dataclasses.dataclass
class Point:
    x: int = 1
    held: list = dataclasses.field(default_factory=list)

class Color(enum.Enum):
    RED = 1

class Pair(typing.NamedTuple):
    x: int

class Base(abc.ABC):
    __slots__ = "value"
    @property
    def half(self): return self.value / 2
    @staticmethod
    def name(): return "base"
    @classmethod
    def made(cls): return cls()

@functools.lru_cache
def remembered(x): return x

@functools.singledispatch
def dispatched(x): return x

@dispatched.register
def _(x: int): return Point(x)

words = {str(n): n for n in range(100)}
names = {"a", "b", "c"}
pattern = re.compile("a+")
counted = collections.defaultdict(list, {1: [2]})
generator = np.random.default_rng(1)
records = np.zeros(3, [("x", int)])
rows = np.zeros((100, 100))[:, ::2]

def used(x):
    def inner(y):
        return generator, records, rows, np.linalg.norm(y), os.path.join("a", "b")
    class Local(Base):
        pass
    return Point(), Color.RED, Pair(1), Base, remembered(x), dispatched(x), words, names, pattern, counted, inner
"""


def program() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(PROGRAM, names)
    return names


def used_by(function: Callable[..., Any]) -> Uses:
    return uses_of(hr.Dataset.range(1).map(function).__headrace_plan__())


def test_what_is_as_it_was_is_found_to_be() -> None:
    names = program()
    used = names["used"]
    for function in (used, functools.partial(used, 1), types.MethodType(used, names["Point"]())):
        before = used_by(function)
        assert before.are_still(used_by(function))
        names["words"]["new"] = names["words"].get("new", 0) + 1
        assert not before.are_still(used_by(function))


def test_a_large_array_is_the_same_as_long_as_it_is_that_one() -> None:
    held = {"table": np.zeros(LARGE_BYTES), "small": np.zeros(3)}

    def function(x: Any) -> Any:
        return held, x

    before = used_by(function)
    held["table"][0] = 1
    assert before.are_still(used_by(function))
    held["small"][0] = 1
    assert not before.are_still(used_by(function))
    before = used_by(function)
    held["table"] = held["table"].copy()
    assert not before.are_still(used_by(function))


def test_a_dataset_is_the_same_as_long_as_its_functions_use_the_same() -> None:
    held = [1]
    inner = hr.Dataset.from_tensor_slices(np.zeros(LARGE_BYTES)).map(lambda x: x + held[0])

    def opened(x: Any) -> hr.Dataset:
        return inner

    before = uses_of(hr.Dataset.range(1).flat_map(opened).__headrace_plan__())
    assert before.are_still(uses_of(hr.Dataset.range(1).flat_map(opened).__headrace_plan__()))
    held[0] = 2
    assert not before.are_still(uses_of(hr.Dataset.range(1).flat_map(opened).__headrace_plan__()))


def test_functions_of_a_module_that_is_sent_by_value_count_by_what_they_use(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("sent_by_value")
    exec("scale = 1\ndef function(x): return x * scale", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    function = vars(module)["function"]
    before = used_by(function)
    vars(module)["scale"] = 2
    assert before.are_still(used_by(function))  # it is imported, and what a process imports is its own
    cloudpickle.register_pickle_by_value(module)
    try:
        before = used_by(function)
        vars(module)["scale"] = 3
        assert not before.are_still(used_by(function))
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def test_large_arrays_that_are_still_there_are_not_sent_again() -> None:
    data, held = np.arange(LARGE_BYTES), [np.zeros(LARGE_BYTES)]
    plan = hr.Dataset.from_tensor_slices(data).map(lambda x: held[0][x]).__headrace_plan__()
    first = shipped(plan)
    again = shipped(plan, first)
    assert again.memories == first.memories
    assert again.parts == first.parts
    held[0] = np.ones(LARGE_BYTES)
    changed = shipped(plan, again)
    assert len(changed.memories) == 2
    assert changed.memories[0] is first.memories[0]
    (lies, of_first), (_, of_new) = sorted((index, nbytes) for index, _, nbytes, _ in changed.parts)
    assert (lies, of_first, of_new) == (0, data.nbytes, held[0].nbytes)
    held[0] = np.zeros(3)
    assert shipped(plan, changed).memories == first.memories
