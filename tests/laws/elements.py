"""What the functions in random plans make of elements, and the files and generators that the plans read.

Every function here takes elements of any structure, so that every operation fits behind every other.
"""

from __future__ import annotations

import atexit
import collections
import dataclasses
import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import attrs
import numpy as np

import headrace as hr
from headrace.elements.structure import flatten

Build = Callable[[], hr.Dataset]
Step = Callable[[hr.Dataset], hr.Dataset]
Named = tuple[str, Step]


def text(name: str, *arguments: Any) -> str:
    return f"{name}({', '.join(map(str, arguments))})"


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Sample:
    label: Any
    value: Any


@attrs.frozen(kw_only=True)
class Measured:
    _label: Any
    value: Any = attrs.field(alias="given")


class Unreadable:
    """An object that cannot be made an array, and says so with whatever comes to hand."""

    def __init__(self, number: int) -> None:
        self.contents = number

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise BufferError(f"{self.contents} cannot be read")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array"):
            raise OSError(f"no {name}")
        raise AttributeError(name)

    def __int__(self) -> int:
        return self.contents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unreadable) and self.contents == other.contents

    __hash__ = None  # type: ignore[assignment]  # nobody asks


class Failing(ValueError):  # noqa: N818 - what it is, not what it is about
    """What the functions here fail with; ``alive`` are those that somebody has."""

    alive: ClassVar[weakref.WeakSet[Failing]] = weakref.WeakSet()

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.alive.add(self)


def number_of(leaf: Any) -> int:
    if isinstance(leaf, str | bytes):
        return sum(leaf.encode() if isinstance(leaf, str) else leaf)
    if isinstance(leaf, np.ndarray):
        return sum(map(number_of, leaf.ravel().tolist())) + leaf.ndim
    return int(leaf.real if isinstance(leaf, complex) else leaf)


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
    "attrs class": lambda n: Measured(
        label=f"label {n}", given={"x": np.arange(2), "y": Measured(label=n, given=None)}
    ),
    "with None": lambda n: (n, None, (None, "text")),
    "None": lambda n: None,
    "empty": lambda n: (),
    "string": lambda n: "é" * (n % 4),
    "bytes": lambda n: b"\0" * (n % 3),
    "ragged": lambda n: np.arange(n % 4),
    "rows": lambda n: np.arange(2 * (n % 3)).reshape(n % 3, 2),
    "scalars": lambda n: (
        np.int8(n % 100),
        np.float64(n),
        np.bool_(n % 2),
        n % 2 == 0,
        complex(n),
        np.datetime64(n % 99, "D"),
    ),
    "ints of two types": lambda n: n if n % 2 else np.int64(n),
    "tuples of two lengths": lambda n: (n,) if n % 2 else (n, [n, n]),
    "a dict or a number": lambda n: {"x": n} if n % 3 else n,
    "fixed texts": lambda n: np.array(["é" * (n % 3), "a"]),
    "fixed bytes": lambda n: np.array([b"ab"[: n % 3], b"\0c"]),
    "texts of several lengths": lambda n: np.array([["é" * (n % 5)]] * (n % 3)).reshape(n % 3, 1),
    "NumPy's texts": lambda n: (np.str_("é" * (n % 3)), np.bytes_(b"\0" * (n % 2)), np.array("a" * (n % 2))),
    "an empty axis": lambda n: (np.zeros((2, 0, 3)), np.zeros((n % 2, 0), np.int32)),
    "empty texts": lambda n: {"a": np.zeros((0, 2), str), "b": np.zeros((n % 3, 0), "S3")},
    "an object": lambda n: collections.Counter({n: 1}),
    "an object that cannot be read, at times": lambda n: Unreadable(n) if n % 3 == 2 else n,
    "the other byte order": lambda n: (np.full((3, 1000), n, ">f4"), np.array(n, ">i2")),
    "two byte orders": lambda n: np.full(4, n, ">i4" if n % 2 else "<i4"),
    "masked": lambda n: np.ma.array([n, n], mask=[False, n % 5 == 1]),
    "a matrix": lambda n: np.array([[n, n]]).view(np.matrix),
    "nested": lambda n: {"x": ({"y": n}, [n, n]), "z": Point(n, None)},
}

# What a file can hold: no object, no array that has numbers and texts, and no mask.
STORABLE = sorted(
    set(SHAPES) - {"an object", "an object that cannot be read, at times", "list", "masked", "a matrix"},
)


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


def flat_map_to_one_cache(ds: hr.Dataset) -> hr.Dataset:
    """The same cache for each of the first elements."""
    cached = hr.Dataset.range(5).shuffle(5).cache()
    return ds.take(3).flat_map(lambda *_: cached)


def few_or_fail(modulus: int) -> Callable[..., Any]:
    def opened(*element: Any) -> Any:
        rest = total(element) % modulus
        if rest == 1:
            raise Failing("cannot open")
        return "no dataset" if rest == 2 else hr.Dataset.range(4).map(fail_on(rest % 3, 3)).batch(2)

    return opened


def zipped_with_failures(ds: hr.Dataset, modulus: int, length: int, place: str) -> hr.Dataset:
    """Beside a branch that fails at times and ends soon: before it, behind it, or between two."""
    failing = hr.Dataset.range(length).map(fail_on(modulus // 2, modulus))
    if place == "nested":
        return hr.Dataset.zip(((ds, failing), hr.Dataset.range(length // 2)))
    return hr.Dataset.zip((failing, ds) if place == "first" else (ds, failing))


def shuffled_zip(ds: hr.Dataset, modulus: int, length: int, size: int, is_repeated: bool) -> hr.Dataset:
    """Branches with functions, one of which fails at times, and what moves the elements of both."""
    failing = hr.Dataset.range(length).map(fail_on(modulus, modulus + 2))
    moved = hr.Dataset.zip({"x": ds.map(halves), "y": failing}).shuffle(size, seed=size).skip(1)
    return moved.repeat(2) if is_repeated else moved


# ------------------------------------------------------------------------- files

_folders: list[Path] = []


def folder() -> Path:
    """A folder for the files of this process's plans, removed when it exits."""
    if not _folders:
        _folders.append(Path(tempfile.mkdtemp(prefix="plans-")))
        atexit.register(shutil.rmtree, _folders[0], ignore_errors=True)
    return _folders[0]


def use_folder(path: Path) -> None:
    """Has plans of this process find their files, and write them, in a folder that processes share and that somebody else removes."""
    _folders[:] = [path]


def written(content: bytes, suffix: str) -> str:
    path = folder() / f"{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
    if not path.exists():
        path.write_bytes(content)
    return str(path)


def text_file(length: int, suffix: str = ".txt") -> str:
    """Lines, the fourth of which is not UTF-8."""
    lines = [b"\xff" if number == 3 else f"line {number}".encode() for number in range(length)]
    return written(b"\n".join(lines), suffix)


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


ROWS = (hr.TensorSpec((None,), np.int16), hr.TensorSpec((), np.float32))


def rows_of(length: int) -> Callable[[], Iterator[Any]]:
    """Rows that take the form of ``ROWS``; every fifth does not fit, each in its own way."""
    unfit = [(1, 2), ((1 << 20,), 1), ((1,), "text"), ((1,),)]

    def rows() -> Iterator[Any]:
        for n in range(length):
            values = [n] * (n % 3)
            yield unfit[n // 5 % 4] if n % 5 == 4 else (values if n % 2 else tuple(values), n if n % 3 else n / 2)

    return rows


def texts_of(length: int) -> Callable[[], Iterator[Any]]:
    """Texts and bytes in turn, and tuples and arrays of them; one of them is no text."""

    def texts() -> Iterator[Any]:
        for n in range(length):
            first = b"\xff" if n == 7 else f"é{n}".encode() if n % 2 else f"é{n}"
            yield {"b": np.array(["b"] * (n % 3)) if n % 2 else ("a", b"\0")[: n % 3], "a": first}

    return texts


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
