"""What changes the fingerprint of a dataset's elements, what does not, and what has none."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum
import functools
import inspect
import pickle
import re
import subprocess
import sys
import threading
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError, NotFoundError

FACTOR = 2
TABLE = {"a": 1}


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Settings:
    size: int
    colour: Colour = Colour.RED


class Scaler:
    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, x: int) -> int:
        return x * self.by

    def scale(self, x: int) -> int:
        return x * self.by


class Handle:
    """What stands for something outside Python, and says itself what it is."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __headrace_fingerprint__(self) -> str:
        return self.name


def helper(x: int) -> int:
    return x + 1


def by_global(x: int) -> int:
    return helper(x) * FACTOR


def mapped(function: Callable[..., Any]) -> hr.Dataset:
    return hr.Dataset.range(5).map(function)


def using(value: Any) -> hr.Dataset:
    return mapped(lambda x: (x, value))


def adding(n: int) -> Callable[[int], int]:
    return lambda x: x + n


def recursive(x: int) -> int:
    return recursive(x - 1) if x > 3 else x


# Each is built twice; every two of them differ.
DATASETS: dict[str, Callable[[], hr.Dataset]] = {
    "range": lambda: hr.Dataset.range(5),
    "another range": lambda: hr.Dataset.range(6),
    "a closure": lambda: mapped(adding(1)),
    "another value in it": lambda: mapped(adding(2)),
    "a function": lambda: mapped(by_global),
    "a function that calls itself": lambda: mapped(recursive),
    "other code": lambda: mapped(lambda x: x * 3),
    "a constant of another type": lambda: mapped(lambda x: x * 3.0),
    "a method": lambda: mapped(Scaler(2).scale),
    "a method of another object": lambda: mapped(Scaler(3).scale),
    "an object": lambda: mapped(Scaler(2)),
    "a partial": lambda: mapped(functools.partial(pow, 2)),
    "another partial": lambda: mapped(functools.partial(pow, 3)),
    "an installed function": lambda: mapped(np.sqrt),
    "another": lambda: mapped(np.square),
    "settings": lambda: using(Settings(1)),
    "other settings": lambda: using(Settings(1, Colour.BLUE)),
    "an array": lambda: using(np.arange(3)),
    "another array": lambda: using(np.arange(3.0)),
    "texts": lambda: using(np.array(["a", "b"], dtype=object)),
    "a dict": lambda: using({"b": 1, "a": [2, {3}]}),
    "a class": lambda: using(Settings),
    "a module": lambda: using(np),
    "a path": lambda: using(Path("x")),
    "what says itself": lambda: using(Handle("a")),
    "what says something else": lambda: using(Handle("b")),
    "a dataset": lambda: hr.Dataset.range(3).flat_map(lambda x: hr.Dataset.range(2)),
    "a dataset inside": lambda: using(hr.Dataset.range(3)),
    "slices": lambda: hr.Dataset.from_tensor_slices([1, 2]),
    "other slices": lambda: hr.Dataset.from_tensor_slices([1, 3]),
    "a shuffle": lambda: hr.Dataset.range(5).shuffle(3, seed=1),
    "with another seed": lambda: hr.Dataset.range(5).shuffle(3, seed=2),
    "unseeded": lambda: hr.Dataset.range(5).shuffle(3),
    "zipped": lambda: hr.Dataset.zip(hr.Dataset.range(2), hr.Dataset.range(3)),
    "the other way about": lambda: hr.Dataset.zip(hr.Dataset.range(3), hr.Dataset.range(2)),
    "a generator": lambda: hr.Dataset.from_generator(lambda: iter([1])),
}


def test_the_same_pipeline_built_again_has_the_same_fingerprint_and_every_other_has_another() -> None:
    prints = {name: hr.fingerprint(build()) for name, build in DATASETS.items()}
    assert prints == {name: hr.fingerprint(build()) for name, build in DATASETS.items()}
    assert len(set(prints.values())) == len(prints)


def test_what_only_makes_it_faster_does_not_count() -> None:
    plain = hr.Dataset.range(5).map(by_global).batch(2)
    fast = hr.Dataset.range(5).map(by_global, num_parallel_calls=4, name="x").cache().batch(2).prefetch(3)
    assert hr.fingerprint(plain) == hr.fingerprint(fast.with_options(hr.Options(num_workers=3)))


@pytest.mark.parametrize("name", ["FACTOR", "helper", "TABLE"])
def test_a_global_that_a_function_uses_counts_and_others_do_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hr.fingerprint(mapped(by_global))
    monkeypatch.setitem(globals(), name, {"FACTOR": 3, "helper": lambda x: x + 2, "TABLE": {}}[name])
    assert (hr.fingerprint(mapped(by_global)) == before) == (name == "TABLE")


def test_a_file_counts_with_its_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    builds: list[Callable[[], hr.Dataset]] = [
        lambda: hr.TextLineDataset(path),
        lambda: hr.Dataset.list_files(tmp_path / "*.txt").map(hr.io.read_file),
        lambda: hr.Dataset.from_tensors((1, str(path))),
    ]
    path.write_text("one")
    before = [hr.fingerprint(build()) for build in builds]
    assert [hr.fingerprint(build()) for build in builds] == before
    path.write_text("three")
    assert all(hr.fingerprint(build()) != old for build, old in zip(builds, before, strict=True))
    path.unlink()
    with pytest.raises(NotFoundError, match=r"a\.txt"):
        hr.fingerprint(builds[0]())


@pytest.mark.parametrize("value", [threading.Lock(), (i for i in [1]), sys.stdout, np.frompyfunc(helper, 1, 1)])
def test_what_has_no_fingerprint_is_named_and_the_way_out_is_said(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"test_content_fingerprint.*'value'.*pass key="):
        hr.fingerprint(using(value))


def test_another_process_finds_the_same_fingerprint(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import headrace as hr\nLETTERS = {'a', 'b', 'c'}\n\ndef f(x):\n    return (x in {1, 2, 3}, LETTERS)\n"
        "print(hr.fingerprint(hr.Dataset.range(5).map(f)))\n"
    )
    run = [sys.executable, str(program)]
    prints = {subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in range(3)}
    assert len(prints) == 1


def test_what_is_no_dataset_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a Dataset"):
        hr.fingerprint(3)


def test_what_went_in_is_a_line_each_and_two_of_them_differ_where_the_values_do() -> None:
    one, two = (hr.fingerprint(mapped(adding(n)), explain=True).splitlines() for n in (1, 2))
    assert one[0] == hr.fingerprint(mapped(adding(1)))
    other = [line[14:].strip() for line, theirs in zip(one[1:], two[1:], strict=True) if line != theirs]
    assert [line.partition(" ")[0] for line in other] == ["map", "function", "closure"]
    assert other[-1] == "closure 'n' = 1"


@pytest.mark.parametrize("text", ["eval('1')", "exec('')", "globals()", "sys.modules", "__import__('os')"])
def test_code_that_reads_what_it_is_told_is_refused_by_name(text: str) -> None:
    function = eval(f"lambda x: {text}", {"sys": sys})
    name = re.escape(text.partition("(")[0])
    with pytest.raises(InvalidArgumentError, match=rf"{name}\b.* so there is no fingerprint.*pass key="):
        hr.fingerprint(mapped(function))


def test_a_class_of_headrace_counts_by_its_name_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    before = hr.fingerprint(using(hr.TensorSpec((), np.int32)))
    elsewhere = types.ModuleType("headrace.elsewhere")
    elsewhere.__dict__["TensorSpec"] = hr.TensorSpec
    monkeypatch.setitem(sys.modules, elsewhere.__name__, elsewhere)
    monkeypatch.setattr(hr.TensorSpec, "__module__", elsewhere.__name__)
    assert hr.fingerprint(using(hr.TensorSpec((), np.int32))) == before


def test_weights_and_tensors_of_torch_count_by_value() -> None:
    torch = pytest.importorskip("torch")
    layers = [torch.nn.Linear(2, 2) for _ in range(2)]
    prints = [hr.fingerprint(using(value)) for layer in layers for value in (layer, layer.weight)]
    assert len(set(prints)) == 4
    layers[1].load_state_dict(layers[0].state_dict())
    assert [hr.fingerprint(using(value)) for layer in layers for value in (layer, layer.weight)] == prints[:2] * 2
    with pytest.raises(InvalidArgumentError, match="meta"):
        hr.fingerprint(using(torch.empty(2, device="meta")))


def test_arrays_of_jax_count_by_value() -> None:
    jnp = pytest.importorskip("jax.numpy")
    prints = [hr.fingerprint(using(jnp.arange(n))) for n in (2, 2, 3)]
    assert prints[0] == prints[1] != prints[2]


def test_what_is_nested_too_deeply_is_an_error_of_ours() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidArgumentError, match="too deeply"):
        hr.fingerprint(using(deep))


LAZY = "def __getattr__(name):\n    import importlib\n    if name == 'inner':\n        return importlib.import_module('lazy.inner')\n"


@pytest.mark.parametrize(
    ("module", "use"), [("headrace as hr", "hr.image.flip_up_down(x)"), ("lazy", "lazy.inner.same(x)")]
)
def test_what_a_module_imports_when_it_is_first_asked_for_it_counts_before_and_after_alike(
    module: str, use: str, tmp_path: Path
) -> None:
    (tmp_path / "lazy").mkdir()
    (tmp_path / "lazy/__init__.py").write_text(LAZY)
    (tmp_path / "lazy/inner.py").write_text("def same(x):\n    return x\n")
    program = tmp_path / "program.py"
    program.write_text(
        f"import numpy as np\nimport headrace as hr\nimport {module}\nf = lambda x: {use}\n"
        "ds = hr.Dataset.from_tensors(np.zeros((1, 2, 3), np.uint8)).map(f)\n"
        "before = hr.fingerprint(ds)\nlist(ds)\nassert hr.fingerprint(ds) == before\n"
    )
    subprocess.run([sys.executable, str(program)], check=True)


def test_a_variable_of_a_closure_that_is_not_set_yet_counts_as_such() -> None:
    def unset_and_set(value: int) -> tuple[str, str]:
        def add(x: int) -> int:
            return x + later

        before = hr.fingerprint(mapped(add))
        later = value
        return before, hr.fingerprint(mapped(add))

    (empty, one), (again, two) = unset_and_set(1), unset_and_set(2)
    assert empty == again
    assert len({empty, one, two}) == 3


def test_variables_of_tensorflow_count_by_value_and_what_has_none_is_named() -> None:
    tf = pytest.importorskip("tensorflow", reason="pip install tensorflow")
    variable = tf.Variable([1.0, 2.0])
    before = hr.fingerprint(using(variable))
    assert hr.fingerprint(using(tf.Variable([1.0, 2.0]))) == before
    variable.assign([3.0, 4.0])
    assert hr.fingerprint(using(variable)) == hr.fingerprint(using(tf.Variable([3.0, 4.0]))) != before
    with pytest.raises(InvalidArgumentError, match=r"closure 'value' .*values cannot be read .*pass key="):
        hr.fingerprint(using(variable.handle))


class Twice(functools.partial):  # type: ignore[type-arg]  # of any function
    """A class over what C code holds."""


class Slotted:
    """Nothing but a slot."""

    __slots__ = ("by",)

    def __init__(self, by: int = 1) -> None:
        self.by = by


class Named(NamedTuple):
    """A record."""

    by: int = 1


USED: dict[str, Any] = {
    "a class": Scaler,
    "a class with slots": Slotted,
    "a class of records": Settings,
    "a class of named tuples": Named,
    "a class of members": Colour,
    "an object": Scaler(2),
    "an object with slots": Slotted(),
    "a named tuple": Named(),
    "a function with arguments": functools.partial(helper, 2),
    "one of a class": Twice(helper, 2),
    "a function that remembers": functools.lru_cache(helper),
}


def used(value: Any) -> None:
    """What programs, notebooks and debuggers do with a value, of which nothing is for elements."""
    with contextlib.suppress(Exception):
        pickle.loads(pickle.dumps(value))
    with contextlib.suppress(Exception):
        repr(value), hash(value), inspect.signature(value), typing.get_type_hints(value)
    for name in dir(value):
        getattr(value, name, None)
    with contextlib.suppress(Exception):
        copy.deepcopy(value() if isinstance(value, type) else value)


@pytest.mark.parametrize("name", USED)
def test_what_is_only_looked_at_or_copied_counts_before_and_after_alike(name: str) -> None:
    # A class of its own for each test: a class notes once that an object of it was copied.
    value = USED[name]
    if isinstance(value, type) and not issubclass(value, enum.Enum):
        value = type(value.__name__, (value,), {"__slots__": ()} if value is Slotted else {})
    before = hr.fingerprint(using(value), explain=True)
    used(value)
    assert hr.fingerprint(using(value), explain=True) == before


def test_another_process_finds_the_same_fingerprint_of_what_c_code_holds() -> None:
    program = (
        "import functools, headrace as hr\n"
        "class Twice(functools.partial): pass\n"
        "def number(text, base): return int(text, base)\n"
        "twice = Twice(number, base=3)\n"
        "print(hr.fingerprint(hr.Dataset.range(3).map(lambda x: twice(str(x)))))\n"
    )
    ran = [subprocess.run([sys.executable, "-c", program], check=True, capture_output=True) for _ in range(2)]
    assert ran[0].stdout == ran[1].stdout


@pytest.mark.parametrize("kind", [object, dict, list, tuple, set, str, int, np.ndarray, functools.partial])
def test_of_what_says_itself_what_it_is_nothing_else_counts(kind: type) -> None:
    class Speaking(kind):  # type: ignore[misc]  # any class
        def __headrace_fingerprint__(self) -> Any:
            return self.said

    arguments = {np.ndarray: (3,), functools.partial: (helper,)}.get(kind, ())

    def speaking(said: str, other: int) -> str:
        value = Speaking(*arguments)
        value.said, value.other = said, other
        return hr.fingerprint(using(value))

    assert speaking("a", 1) == speaking("a", 2) != speaking("b", 1)
