"""Random plans of every operation, for the tests of the laws.

A plan is drawn as a recipe: a source, and steps from dataset to dataset. Every function here takes elements of any
structure, so that every operation fits behind every other. A recipe builds its dataset anew each time it is asked,
as another process would.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import dataclasses
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import headrace as hr
from headrace.structure import flatten

Build = Callable[[], hr.Dataset]
Step = Callable[[hr.Dataset], hr.Dataset]
Named = tuple[str, Step]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to build a dataset; its text is what hypothesis shows when a law fails."""

    text: str
    source: Build
    steps: tuple[Step, ...]

    def __repr__(self) -> str:
        return self.text

    def build(self) -> hr.Dataset:
        dataset = self.source()
        for step in self.steps:
            # What a step refuses (a scalar to unbatch, two structures to concatenate) the plan goes without.
            with contextlib.suppress(ValueError, TypeError):
                dataset = step(dataset)
        return dataset


# ------------------------------------------------------------- what functions make of elements


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Sample:
    label: Any
    value: Any


class Failing(ValueError):  # noqa: N818 - what it is, not what it is about
    """What the functions here fail with."""


def number_of(leaf: Any) -> int:
    if isinstance(leaf, str | bytes):
        return sum(leaf.encode() if isinstance(leaf, str) else leaf)
    if isinstance(leaf, np.ndarray):
        return sum(map(number_of, leaf.ravel().tolist())) + leaf.ndim
    return int(leaf)


def total(element: Any) -> int:
    """A number that depends on every leaf."""
    return sum(map(number_of, flatten(element)[0]))


def add_one(*element: Any) -> Any:
    if len(element) == 1 and isinstance(element[0], int):
        return element[0] + 1
    return (total(element) % 1000, *element)


def halves(*element: Any) -> np.float32:
    return np.float32(total(element) / 2)


# Each makes elements of another structure; several of them make unlike ones.
SHAPES: dict[str, Callable[[int], Any]] = {
    "pair": lambda n: (n, n * 0.5),
    "list": lambda n: [n, str(n)],
    "dict": lambda n: {"b": n, "a": [n, n + 1]},
    "dict in either order": lambda n: {"b": n, "a": -n} if n % 2 else {"a": -n, "b": n},
    "named tuple": lambda n: Point(n, np.arange(n % 3)),
    "dataclass": lambda n: Sample(f"label {n}", np.full((2, 2), n, dtype=np.float32)),
    "with None": lambda n: (n, None, (None, "text")),
    "None": lambda n: None,
    "empty": lambda n: (),
    "string": lambda n: "é" * (n % 4),
    "bytes": lambda n: b"\0" * (n % 3),
    "ragged": lambda n: np.arange(n % 4),
    "rows": lambda n: np.arange(2 * (n % 3)).reshape(n % 3, 2),
    "scalars": lambda n: (np.int8(n % 100), np.float64(n), np.bool_(n % 2), n % 2 == 0, np.datetime64(n % 99, "D")),
    "ints of two types": lambda n: n if n % 2 else np.int64(n),
    "tuples of two lengths": lambda n: (n,) if n % 2 else (n, [n, n]),
    "a dict or a number": lambda n: {"x": n} if n % 3 else n,
    "an object": lambda n: collections.Counter({n: 1}),
    "nested": lambda n: {"x": ({"y": n}, [n, n]), "z": Point(n, None)},
}


def shaped(shape: str) -> Callable[..., Any]:
    def shape_of(*element: Any) -> Any:
        return SHAPES[shape](total(element) % 1000)

    return shape_of


def fail_on(remainder: int, modulus: int) -> Callable[..., Any]:
    def failing(*element: Any) -> Any:
        if total(element) % modulus == remainder:
            raise Failing(f"total {total(element)}")
        return element if len(element) != 1 else element[0]

    return failing


def stop_on(modulus: int) -> Callable[..., Any]:
    def stopping(*element: Any) -> int:
        return next(iter(range(total(element) % modulus)))  # raises StopIteration now and then

    return stopping


def keep(modulus: int) -> Callable[..., bool]:
    return lambda *element: total(element) % modulus != 0


def keep_or_fail(modulus: int) -> Callable[..., Any]:
    def judged(*element: Any) -> Any:
        rest = total(element) % modulus
        if rest == 1:
            raise Failing("cannot judge")
        return "no bool" if rest == 2 else np.bool_(rest)

    return judged


def few(length: int) -> Callable[..., hr.Dataset]:
    def few_of(*element: Any) -> hr.Dataset:
        number = total(element)
        return hr.Dataset.range(number % length).map(lambda x: x + number % 50)

    return few_of


def shuffled_few(length: int) -> Callable[..., hr.Dataset]:
    return lambda *element: hr.Dataset.range(1 + total(element) % length).shuffle(3)


def few_or_fail(modulus: int) -> Callable[..., Any]:
    def opened(*element: Any) -> Any:
        rest = total(element) % modulus
        if rest == 1:
            raise Failing("cannot open")
        return "no dataset" if rest == 2 else hr.Dataset.range(4).map(fail_on(rest % 3, 3)).batch(2)

    return opened


# ------------------------------------------------------------------------- files

_folders: list[Path] = []


def folder() -> Path:
    """A folder for the files of this process's plans, removed when it exits."""
    if not _folders:
        _folders.append(Path(tempfile.mkdtemp(prefix="plans-")))
        atexit.register(shutil.rmtree, _folders[0], ignore_errors=True)
    return _folders[0]


def written(content: bytes, suffix: str) -> str:
    path = folder() / f"{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
    if not path.exists():
        path.write_bytes(content)
    return str(path)


def text_file(length: int) -> str:
    """Lines, the fourth of which is not UTF-8."""
    lines = [b"\xff" if number == 3 else f"line {number}".encode() for number in range(length)]
    return written(b"\n".join(lines), ".txt")


def csv_file(length: int, *, good: bool) -> str:
    """Rows of an int, a float that may be missing and a text; every third one is wrong in its own way, unless good."""
    wrong = ("", "x,1.5,a", "1,2,3,4", ",2.5,b", '1,"2"x,c')
    rows = [f'{number},{"" if number % 4 == 1 else number / 2},"a,{number}"' for number in range(length)]
    if not good:
        rows[::3] = [wrong[number % len(wrong)] for number in range(len(rows[::3]))]
    return written("\r\n".join(rows).encode(), ".csv")


def csv_of(*paths: str) -> hr.Dataset:
    return hr.CsvDataset(list(paths), [np.int32, 7.0, "none"])


def listed(count: int, shuffle: bool | None, seed: int | None) -> hr.Dataset:
    place = folder() / f"listed {count}"
    place.mkdir(exist_ok=True)
    for number in range(count):
        (place / f"{number}.part").write_text(f"{number}a\n{number}b\n{number}c\n")
    return hr.Dataset.list_files(place / "*.part", shuffle=shuffle, seed=seed)


# --------------------------------------------------------------------- generators


def counting(length: int) -> Callable[[], Iterator[Any]]:
    def count() -> Iterator[Any]:
        yield from range(length)

    return count


def counting_then_failing(length: int) -> Callable[[], Iterator[Any]]:
    def count_and_fail() -> Iterator[Any]:
        yield from range(length)
        raise Failing("the generator failed")

    return count_and_fail


class Resumable:
    """An iterator with a state of its own; it counts how often it was asked for an element."""

    asked = 0

    def __init__(self, length: int) -> None:
        self.index, self.length = 0, length

    def __iter__(self) -> Resumable:
        return self

    def __next__(self) -> Any:
        Resumable.asked += 1
        if self.index == self.length:
            raise StopIteration
        self.index += 1
        return self.index, [self.index, self.index]

    def state_dict(self) -> dict[str, int]:
        return {"at": self.index}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.index = state["at"]


# ------------------------------------------------------------------------ sources


def _slices(n: int) -> dict[str, Any]:
    return {"b": np.arange(n, dtype=np.float32), "a": [str(i) for i in range(n)]} if n else {"b": np.zeros(0)}


def sources(sizes: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[tuple[str, Build]]:
    lengths = st.integers(0, 13) if sizes is None else sizes
    data = hr.Dataset

    def of(text: str, build: Callable[[int], hr.Dataset]) -> st.SearchStrategy[tuple[str, Build]]:
        return lengths.map(lambda n: (f"{text}({n})", lambda: build(n)))

    return st.one_of(
        of("range", data.range),
        of("int32 range", lambda n: data.range(3, 3 - 2 * n, -2, output_type=np.int32)),
        of("slices", lambda n: data.from_tensor_slices((np.arange(n), np.arange(2 * n).reshape(n, 2)))),
        of("dict slices", lambda n: data.from_tensor_slices(_slices(n))),
        of("tensors", lambda n: data.from_tensors({"x": np.arange(n), "y": "text"})),
        of("numpy scalar", lambda n: data.from_tensors(np.int64(n)).repeat(n)),
        of("generator", lambda n: data.from_generator(counting(n))),
        of("failing generator", lambda n: data.from_generator(counting_then_failing(n))),
        of("signed generator", lambda n: data.from_generator(counting(n), hr.TensorSpec((), np.float32))),
        of("resumable generator", lambda n: data.from_generator(Resumable, args=(n,))),
        of("random.take", lambda n: data.random(seed=3).map(lambda x: x % 100).take(n)),
        of("unseeded random.take", lambda n: data.random().take(n)),
        of("counter.take", lambda n: data.counter(3, 2).take(n)),
        of("text", lambda n: hr.TextLineDataset([text_file(n), text_file(n // 2)])),
        of("absent text", lambda n: hr.TextLineDataset([text_file(n), "absent.txt", text_file(2)])),
        of("csv", lambda n: csv_of(csv_file(n, good=True), csv_file(3, good=True))),
        of("bad csv", lambda n: csv_of(csv_file(n, good=False), csv_file(2, good=True))),
        of("csv of files", lambda n: hr.CsvDataset(data.from_tensors(csv_file(n, good=False)), [np.int32, 7.0, ""])),
        of("list_files", lambda n: listed(1 + n % 4, shuffle=False, seed=None)),
        of("shuffled list_files", lambda n: listed(1 + n % 4, shuffle=None, seed=n)),
        of("lines of listed files", lambda n: listed(1 + n % 4, None, None).flat_map(hr.TextLineDataset)),
    )


# --------------------------------------------------------------------- operations

SMALL = st.integers(1, 5)
PARALLEL = st.sampled_from([None, 1, 2, hr.AUTOTUNE])


def _text(name: str, *arguments: Any) -> str:
    return f"{name}({', '.join(map(str, arguments))})"


def maps() -> st.SearchStrategy[Named]:
    """Everything that calls a function on each element, and keeps their order."""
    return st.one_of(
        PARALLEL.map(lambda p: (_text("map add_one", p), lambda ds: ds.map(add_one, num_parallel_calls=p))),
        PARALLEL.map(lambda p: (_text("map halves", p), lambda ds: ds.map(halves, num_parallel_calls=p))),
        st.tuples(st.sampled_from(sorted(SHAPES)), PARALLEL).map(
            lambda a: (_text("map to", *a), lambda ds: ds.map(shaped(a[0]), num_parallel_calls=a[1]))
        ),
        st.tuples(SMALL, SMALL, PARALLEL).map(
            lambda a: (
                _text("map fail_on", *a),
                lambda ds: ds.map(fail_on(a[0] % (a[1] + 2), a[1] + 2), num_parallel_calls=a[2]),
            )
        ),
        PARALLEL.map(lambda p: (_text("map stop_on", p), lambda ds: ds.map(stop_on(4), num_parallel_calls=p))),
        st.integers(2, 4).map(lambda m: (_text("filter", m), lambda ds: ds.filter(keep(m)))),
        st.integers(3, 6).map(lambda m: (_text("filter or fail", m), lambda ds: ds.filter(keep_or_fail(m)))),
    )


def choices() -> st.SearchStrategy[Named]:
    """Everything that chooses elements, or puts them in another order."""
    sizes = st.sampled_from([1, 2, 3, 5, 50, -2])
    return st.one_of(
        st.tuples(sizes, st.integers(0, 5), st.booleans()).map(
            lambda a: (
                _text("shuffle", *a),
                lambda ds: ds.shuffle(a[0], seed=a[1], reshuffle_each_iteration=a[2]),
            )
        ),
        SMALL.map(lambda b: (_text("unseeded shuffle", b), lambda ds: ds.shuffle(b))),
        st.integers(0, 3).map(lambda n: (_text("repeat", n), lambda ds: ds.repeat(n))),
        st.just(("repeat().take(9)", lambda ds: ds.repeat().take(9))),
        st.integers(-1, 9).map(lambda n: (_text("take", n), lambda ds: ds.take(n))),
        st.integers(-1, 5).map(lambda n: (_text("skip", n), lambda ds: ds.skip(n))),
        st.tuples(SMALL, SMALL).map(
            lambda a: (_text("shard", max(a), min(a) - 1), lambda ds: ds.shard(max(a), min(a) - 1))
        ),
        st.just(("concatenate(self)", lambda ds: ds.concatenate(ds))),
        st.just(("concatenate(range)", lambda ds: ds.concatenate(hr.Dataset.range(4)))),
    )


def structures() -> st.SearchStrategy[Named]:
    """Everything that puts elements together, or takes them apart."""
    return st.one_of(
        st.tuples(SMALL, st.booleans()).map(
            lambda a: (_text("batch", *a), lambda ds: ds.batch(a[0], drop_remainder=a[1]))
        ),
        SMALL.map(lambda n: (_text("batch.unbatch", n), lambda ds: ds.batch(n).unbatch())),
        st.just(("unbatch", lambda ds: ds.unbatch())),
        st.just(("zip(self, range)", lambda ds: hr.Dataset.zip(ds, hr.Dataset.range(7)))),
        st.just(("zip(dict)", lambda ds: hr.Dataset.zip({"x": ds, "y": ds.skip(1)}))),
        st.just(("zip(nested)", lambda ds: hr.Dataset.zip(((ds, hr.Dataset.range(9)), None, ds.take(6))))),
        st.integers(0, 3).map(lambda s: (_text("enumerate", s), lambda ds: ds.enumerate(s))),
    )


def nestings() -> st.SearchStrategy[Named]:
    """Everything whose function makes a dataset of each element."""
    openers = st.one_of(
        SMALL.map(lambda n: (f"few {n}", few(n))),
        SMALL.map(lambda n: (f"shuffled few {n}", shuffled_few(n))),
        st.integers(3, 5).map(lambda n: (f"few or fail {n}", few_or_fail(n))),
    )
    return st.one_of(
        openers.map(lambda opener: (_text("flat_map", opener[0]), lambda ds: ds.flat_map(opener[1]))),
        st.tuples(openers, SMALL, SMALL, st.sampled_from([None, 1, hr.AUTOTUNE])).map(
            lambda a: (
                _text("interleave", a[0][0], *a[1:]),
                lambda ds: ds.interleave(a[0][1], cycle_length=a[1], block_length=a[2], num_parallel_calls=a[3]),
            )
        ),
    )


def buffers() -> st.SearchStrategy[Named]:
    """Everything that holds elements, or settings."""
    return st.one_of(
        st.just(("cache", lambda ds: ds.cache())),
        st.just(("cache.repeat(2)", lambda ds: ds.cache().repeat(2))),
        st.sampled_from([0, 1, 2, 7, hr.AUTOTUNE]).map(lambda n: (_text("prefetch", n), lambda ds: ds.prefetch(n))),
        st.just(("with_options", lambda ds: ds.with_options(hr.Options(deterministic=True)))),
        st.just(("apply", lambda ds: ds.apply(lambda whole: whole.enumerate()))),
    )


def recipe_of(source: tuple[str, Build], steps: Sequence[Named]) -> Recipe:
    return Recipe(".".join([source[0], *(name for name, _ in steps)]), source[1], tuple(step for _, step in steps))


def recipes(max_steps: int = 5) -> st.SearchStrategy[Recipe]:
    """Plans whose elements come in one order only."""
    steps = st.one_of(maps(), choices(), structures(), nestings(), buffers())
    return st.builds(recipe_of, sources(), st.lists(steps, max_size=max_steps))


def unordered_recipes() -> st.SearchStrategy[Recipe]:
    """Plans with parallel work that may come in any order, and behind it only what any order suits."""
    unordered = st.one_of(
        st.just(("unordered map", lambda ds: ds.map(add_one, num_parallel_calls=3, deterministic=False))),
        st.just(("unordered fail_on", lambda ds: ds.map(fail_on(1, 4), num_parallel_calls=2, deterministic=False))),
        st.sampled_from([2, hr.AUTOTUNE]).map(
            lambda calls: (
                _text("unordered interleave", calls),
                lambda ds: ds.interleave(few(5), cycle_length=3, num_parallel_calls=calls, deterministic=False),
            )
        ),
    )
    suited = st.one_of(
        maps(),
        nestings(),
        st.just(("seeded shuffle(3)", lambda ds: ds.shuffle(3, seed=1))),
        st.just(("repeat(2)", lambda ds: ds.repeat(2))),
        st.just(("batch(1).unbatch", lambda ds: ds.batch(1).unbatch())),
        st.sampled_from([1, 7, hr.AUTOTUNE]).map(lambda n: (_text("prefetch", n), lambda ds: ds.prefetch(n))),
    )
    # The elements must be plain numbers at first: what a function makes of two structures depends on their order.
    counted = st.integers(0, 13).map(lambda n: (f"range({n})", lambda: hr.Dataset.range(n)))
    steps = st.tuples(st.lists(suited, max_size=2), unordered, st.lists(st.one_of(suited, unordered), max_size=2))
    return st.builds(lambda source, parts: recipe_of(source, [*parts[0], parts[1], *parts[2]]), counted, steps)
