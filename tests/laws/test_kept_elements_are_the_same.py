"""What is kept gives back what it was given: each element with the type, dtype, byte order, shape and order of keys that it had.

Epoch 2 is epoch 1, in memory and on disk, and what is loaded is what was saved; or the element is refused by name. Nothing
comes back as something else without a word.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import STORABLE, Measured, Point, Sample, shaped

import headrace as hr


class Color(enum.IntEnum):
    RED = 1


class Name(str):
    __slots__ = ()


class Meters(float):
    __slots__ = ()


class Refused(NamedTuple):
    """An element that a file refuses, and what its error says."""

    make: Callable[[int], Any]
    words: str


KEPT: dict[str, Callable[[int], Any]] = {
    **{f"shape {name}": shaped(name) for name in STORABLE},
    "complex": lambda n: complex(n, -0.0),
    "NumPy's complex": np.complex128,
    "one complex or another": lambda n: complex(n) if n % 2 else np.complex64(n),
    "complex array": lambda n: np.full(n % 3, n, np.complex64),
    "big endian": lambda n: np.array([n, 1], ">i4"),
    "big endian or not": lambda n: np.array([n, 1], ">i8" if n % 2 else "<i8"),
    "big endian of several lengths": lambda n: np.full(n % 3, n, ">f8"),
    "an array without axes": np.array,
    "a big-endian array without axes": lambda n: np.array(n, ">f4"),
    "an array without axes or a scalar": lambda n: (np.array(n, "f4"), np.float32(n), n)[n % 3],
    "an object array without axes": lambda n: np.array(f"text {n}", object),
    "NumPy's scalars": lambda n: (np.int64(n), np.float64(n), np.bool_(n % 2), np.uint64(2**64 - 1 - n)),
    "Python's or NumPy's": lambda n: n if n % 2 else np.int64(n),
    "ints or floats": lambda n: n if n % 2 else n / 2,
    "bools": lambda n: (n % 2 == 0, np.bool_(n % 2)),
    "half": np.float16,
    "zeros of two signs": lambda n: -0.0 if n % 2 else 0.0,
    "not a number": lambda n: (float("nan"), np.float32("nan"), complex("nan")),
    "units of time": lambda n: np.datetime64(n, "D" if n % 2 else "s"),
    "odd units of time": lambda n: (np.array([n], "M8[25s]"), np.timedelta64(n, "ns"), np.datetime64("NaT")),
    "texts": lambda n: ("a\0", "\ud800", "é" * (n % 3), np.str_("x"), b"\0", np.bytes_(b"a")),
    "arrays of texts": lambda n: (
        np.array(["a", "bc"]),
        np.array([b"a", b"bc"]),
        np.array(["é"], np.dtypes.StringDType()),
    ),
    "no texts": lambda n: (np.zeros((0, 2), str), np.array([], object)),
    "keys in either order": lambda n: {"b": n, "a": {"y": 1, "x": 2}} if n % 2 else {"a": {"x": 2, "y": 1}, "b": n},
    "keys in either order within": lambda n: (Point(1, {"b": n, "a": 1} if n % 3 else {"a": 1, "b": n}), n),
    "keys in either order in a dataclass": lambda n: Sample(n, {"b": n, "a": 1} if n % 3 else {"a": 1, "b": n}),
    "keys of several types": lambda n: {1: n, "1": n, None: 0, 2.5: 1},
    "an attrs class": lambda n: Measured(label=np.int64(n), given=complex(n)),
    "not one behind the other": lambda n: (np.arange(10)[::2], np.asfortranarray(np.arange(6).reshape(2, 3))),
    "a part of a file in memory": lambda n: np.arange(4).reshape(2, 2).T,
    "numbers of axes": lambda n: np.full((1,) * (n % 4), n),
}
REFUSED: dict[str, Refused] = {
    "a mask": Refused(lambda n: np.ma.array([1, n], mask=[False, True]), r"MaskedArray cannot be stored: .*filled"),
    "a masked element": Refused(lambda n: np.ma.masked, "Masked"),
    "a matrix": Refused(lambda n: np.ones((2, n + 1)).view(np.matrix), "matrix"),
    "records": Refused(lambda n: np.array([(n, 1.0)], [("x", "i4"), ("y", "f8")]), r"'x'.*cannot be stored"),
    "a record": Refused(lambda n: np.array([(n, 1.0)], [("x", "i4"), ("y", "f8")])[0], r"'x'.*cannot be stored"),
    "a recarray": Refused(lambda n: np.rec.array([(n, 1.0)], [("x", "i4"), ("y", "f8")]), "recarray"),
    "raw bytes": Refused(lambda n: np.void(b"abc"), r"V3"),
    "texts and bytes": Refused(lambda n: np.array(["a", b"b"], object), "str and bytes"),
    "texts and None": Refused(lambda n: np.array(["a", None], object), "NoneType"),
    "texts and numbers": Refused(lambda n: np.array(["a", 1], object), "int"),
    "an enum": Refused(lambda n: Color.RED, "Color"),
    "a text of a class": Refused(lambda n: Name("x"), "Name"),
    "a float of a class": Refused(Meters, "Meters"),
    "a bytearray": Refused(lambda n: bytearray(b"a"), "bytearray"),
    "a memoryview": Refused(lambda n: memoryview(b"ab"), "memoryview"),
    "a large int": Refused(lambda n: 1 << 70, "more than 64 bits"),
    "a date": Refused(lambda n: dt.date(2020, 1, 1), "date"),
    "a decimal": Refused(decimal.Decimal, "Decimal"),
    "an object": Refused(lambda n: collections.Counter({n: 1}), "Counter"),
    "a dict of a class": Refused(lambda n: collections.OrderedDict(a=n), "OrderedDict"),
    "a key of NumPy's": Refused(lambda n: {np.str_("a"): n}, "str_"),
    "a key of a class": Refused(lambda n: {Color.RED: n}, "Color"),
}


try:
    import ml_dtypes  # comes with JAX
except ImportError:
    pass
else:
    REFUSED["bfloat16"] = Refused(ml_dtypes.bfloat16, "bfloat16")
    REFUSED["an array of float8"] = Refused(lambda n: np.array([n], ml_dtypes.float8_e4m3fn), "float8")


def in_memory(build: Callable[[], hr.Dataset], folder: str) -> list[Any]:
    ds = build().cache()
    return [*ds, *ds]


def on_disk(build: Callable[[], hr.Dataset], folder: str) -> list[Any]:
    ds = build().cache(folder, key="k")
    return [*ds, *ds]


def on_disk_for_another(build: Callable[[], hr.Dataset], folder: str) -> list[Any]:
    return [*build().cache(folder, key="k"), *build().cache(folder, key="k").cache()]


def saved(build: Callable[[], hr.Dataset], folder: str) -> list[Any]:
    build().save(folder)
    ds = hr.Dataset.load(folder)
    return [*ds, *ds.shuffle(1).cache()]


def in_a_snapshot(build: Callable[[], hr.Dataset], folder: str) -> list[Any]:
    def input_fn() -> hr.Dataset:
        return build().snapshot(folder, compression="GZIP")

    return [*input_fn(), *input_fn()]


WAYS = [in_memory, on_disk, on_disk_for_another, saved, in_a_snapshot]
FILES = [on_disk, saved, in_a_snapshot]


def differs(one: Any, other: Any) -> str | None:
    """What is not the same in two elements, down to the types, the byte order and the order of keys."""
    if type(one) is not type(other):
        return f"{one!r} is a {type(one).__name__}, and {other!r} a {type(other).__name__}"
    if isinstance(one, np.ndarray | np.generic):
        if (one.dtype.str, one.dtype, one.shape) != (other.dtype.str, other.dtype, other.shape):
            return f"{one!r} {one.dtype.str} and {other!r} {other.dtype.str}"
        if one.dtype.kind == "O":
            return differs(tuple(one.ravel().tolist()), tuple(other.ravel().tolist()))
        return None if one.tobytes() == other.tobytes() else f"{one!r} and {other!r}"
    if isinstance(one, dict):
        return differs(tuple(one.items()), tuple(other.items()))
    if dataclasses.is_dataclass(one) or hasattr(one, "__attrs_attrs__"):
        names = [name for name in dir(one) if not name.startswith("__")]
        return differs(*(tuple(getattr(value, name) for name in names) for value in (one, other)))
    if isinstance(one, tuple):
        found = [differs(*pair) for pair in zip(one, other, strict=False)]
        return next(filter(None, found), None) if len(one) == len(other) else f"{one!r} and {other!r}"
    if isinstance(one, float | complex):
        return None if repr(one) == repr(other) else f"{one!r} and {other!r}"
    return None if one == other else f"{one!r} and {other!r}"


@given(
    st.lists(st.sampled_from(sorted(KEPT)), min_size=1, max_size=3),
    st.integers(0, 7),
    st.sampled_from(WAYS),
    st.sampled_from(["thread", "inline"]),
)
def test_what_is_kept_is_what_was_given(
    kinds: list[str], count: int, way: Callable[[Callable[[], hr.Dataset], str], list[Any]], executor: str
) -> None:
    def element(number: int) -> Any:
        parts = [KEPT[kind](number) for kind in kinds]
        return parts[0] if len(parts) == 1 else tuple(parts) if number % 4 else {"z": parts[0], "a": tuple(parts[1:])}

    def build() -> hr.Dataset:
        return hr.Dataset.range(count).map(element).with_options(hr.Options(executor=executor))

    given_first = list(build())
    with tempfile.TemporaryDirectory() as folder:
        found = way(build, folder)
    assert len(found) == 2 * count
    problems = [difference for pair in zip(given_first * 2, found, strict=True) if (difference := differs(*pair))]
    assert problems == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", sorted(KEPT))
def test_each_kind_is_kept_as_it_is(kind: str, way: Callable[[Callable[[], hr.Dataset], str], list[Any]]) -> None:
    def build() -> hr.Dataset:
        return hr.Dataset.range(4).map(KEPT[kind])

    with tempfile.TemporaryDirectory() as folder:
        found = way(build, folder)
    assert [difference for pair in zip([*build()] * 2, found, strict=True) if (difference := differs(*pair))] == []


@pytest.mark.parametrize("way", FILES)
@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("kind", sorted(REFUSED))
def test_what_no_file_gives_back_is_refused_by_name(
    kind: str, executor: str, way: Callable[[Callable[[], hr.Dataset], str], list[Any]]
) -> None:
    make, words = REFUSED[kind]

    def build() -> hr.Dataset:
        return hr.Dataset.range(4).map(make).with_options(hr.Options(executor=executor))

    with tempfile.TemporaryDirectory() as folder, pytest.raises(hr.errors.InvalidArgumentError, match=words):
        way(build, folder)


@pytest.mark.parametrize("kind", sorted(KEPT))
def test_a_state_of_scan_holds_what_it_was_given(kind: str) -> None:
    try:
        ds = hr.Dataset.range(4).scan(KEPT[kind](1), lambda state, n: (state, state))
        iterator = iter(ds)
        first = next(iterator)
        state = iterator.state_dict()
    except hr.errors.InvalidArgumentError:
        return  # a list of lists of several lengths, say
    again = iter(ds)
    again.load_state_dict(state)
    assert differs(first, next(again)) is None
