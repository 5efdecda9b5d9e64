"""What of a yielded value a signature takes, and what it refuses."""

from __future__ import annotations

import datetime as dt
import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.elements.leaf_arrays import stack
from headrace.errors import InvalidArgumentError
from headrace.semantics.signed import Signed
from headrace.testing.restoring import same

Spec = hr.TensorSpec


def texts(*values: str | bytes) -> np.ndarray:
    return np.array(values, dtype=object)


TAKEN: dict[str, tuple[Any, Any, Any]] = {
    "a tuple for an array": (Spec((2,), "int64"), (1, 2), np.array([1, 2])),
    "a tuple for an array that varies": ({"c": Spec((None,), "int32")}, {"c": (9,)}, {"c": np.array([9], np.int32)}),
    "tuples in tuples": (Spec((2, 2), "int64"), ((1, 2), (3, 4)), np.array([[1, 2], [3, 4]])),
    "tuples in lists": (Spec((2, 2), "int64"), [(1, 2), (3, 4)], np.array([[1, 2], [3, 4]])),
    "a tuple of arrays": (Spec((2, 1), "int64"), (np.array([1]), np.array([2])), np.array([[1], [2]])),
    "a tuple where the rank varies": (Spec(None, "int64"), (1, 2), np.array([1, 2])),
    "a tuple in a tuple": ((Spec((2,), "int64"), Spec((), "int64")), ((1, 2), 3), (np.array([1, 2]), 3)),
    "a tuple of nothing": (Spec((None,), "int32"), (), np.array([], np.int32)),
    "a range": (Spec((2,), "int64"), range(2), np.array([0, 1])),
    "a tuple of texts": (Spec((2,), str), ("a", b"b"), texts("a", "b")),
    "a tuple of bytes": (Spec((2,), bytes), ("é", b"b\0"), texts("é".encode(), b"b\0")),
    "bytes for text": (Spec((), str), "é".encode(), "é"),
    "text for bytes": (Spec((), bytes), "é", "é".encode()),
    "an array of fixed width": (Spec((2,), str), np.array(["a", "bc"]), texts("a", "bc")),
    "an array of bytes of fixed width": (Spec((2,), str), np.array([b"a", b"bc"]), texts("a", "bc")),
    "a text of NumPy's": (Spec((), str), np.str_("a"), "a"),
    "an array of no axes": (Spec((), str), np.array("a"), "a"),
    "an int for a float": (Spec((), "float32"), 1, np.float32(1)),
    "a large int for a float": (Spec((), "float64"), 2**70, float(2**70)),
    "an int beyond int64 for an unsigned one": (Spec((), "uint64"), 2**63, np.uint64(2**63)),
    "a bool for an int": (Spec((), "int64"), True, 1),
    "an int for a bool": (Spec((), bool), 1, True),
    "ints for bools": (Spec((2,), bool), (1, 0), np.array([True, False])),
    "an int of NumPy's": (Spec((), "int64"), np.int32(3), 3),
    "a number of the very dtype": (Spec((), "int64"), np.int64(3), 3),
    "unsigned for signed": (Spec((), "int8"), np.uint8(3), np.int8(3)),
    "a wider float": (Spec((1,), "float32"), np.array([0.1]), np.array([0.1], np.float32)),
    "a narrower float": (Spec((), "float64"), np.float32(0.5), 0.5),
    "infinity": (Spec((), "float32"), float("inf"), np.float32("inf")),
    "other byte order": (Spec((1,), "int32"), np.array([7], ">i4"), np.array([7], np.int32)),
    "a date": (Spec((), "datetime64[s]"), np.datetime64("2020-01-01", "D"), np.datetime64("2020-01-01", "s")),
    "any object": (Spec((), object), dt.date(2020, 1, 1), dt.date(2020, 1, 1)),
    "a text as object": (Spec((), object), "a", "a"),
    "objects of several types": (Spec((2,), object), ("a", 1), np.array(["a", 1], object)),
    "nothing but structure": ((), (), ()),
    "None beside a leaf": ((Spec((), "int64"), None), (1, None), (1, None)),
}


@pytest.mark.parametrize("case", sorted(TAKEN))
def test_a_value_takes_the_form_of_its_signature(case: str) -> None:
    signature, value, expected = TAKEN[case]
    (came,), error = Signed(signature).rows([value])
    assert error is None
    assert same(came, expected), came


class Pair(NamedTuple):
    a: Any
    b: Any


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "a list for a tuple": ((Spec((), "int64"),) * 2, [1, 2], "structure of its signature"),
    "another key": ({"a": Spec((), "int64")}, {"b": 1}, "structure of its signature"),
    "a key more": ({"a": Spec((), "int64")}, {"a": 1, "b": 1}, "structure of its signature"),
    "a longer tuple": ((Spec((), "int64"),) * 2, (1, 2, 3), "structure of its signature"),
    "tuples of other lengths": (Spec((None, None), "int64"), ((1, 2), (3,)), "it is no array"),
    "a longer tuple for an array": (Spec((2,), "int64"), (1, 2, 3), r"\(1, 2, 3\) \(tuple\), its signature says"),
    "a tuple for a scalar": (Spec((), "int64"), (1,), "its signature says"),
    "a scalar for an array": (Spec((1,), "int64"), 1, "its signature says"),
    "a named component": (
        {"a": (Spec((), "int64"), Spec((), "int8"))},
        {"a": (1, 300)},
        r"component \['a'\]\[1\]: .*fit int8",
    ),
    "an int that does not fit": (Spec((), "int32"), 2**40, "does not fit int32"),
    "an int of more than 64 bits": (Spec((), "int64"), 2**70, "does not fit int64"),
    "an int beyond every float": (Spec((), "float64"), 10**400, "does not fit float64"),
    "ints that do not fit": (Spec((2,), "int32"), np.array([1, 2**40]), "does not fit int32"),
    "a negative for an unsigned": (Spec((), "uint8"), -1, "does not fit uint8"),
    "a float that does not fit": (Spec((), "float32"), 1e300, "does not fit float32"),
    "a float for an int": (Spec((), "int32"), 1.0, "its signature says"),
    "a float for a bool": (Spec((), bool), 1.0, "its signature says"),
    "a number that is no bool": (Spec((), bool), 2, "does not fit bool"),
    "a complex for a float": (Spec((), "float32"), 1j, "its signature says"),
    "a text for a number": (Spec((), "int32"), "3", "its signature says"),
    "None for a number": (Spec((), "float32"), None, "its signature says"),
    "None for a text": (Spec((), str), None, "its signature says"),
    "a number for a text": (Spec((), str), 3, "its signature says"),
    "a number among texts": (Spec((2,), str), ("a", 3), "its signature says"),
    "numbers for texts": (Spec((1,), str), np.array([3]), "its signature says"),
    "bytes that are no text": (Spec((), str), b"\xff", "not UTF-8; let the signature say bytes"),
    "a set": (Spec((2,), "int64"), {1, 2}, "its signature says"),
    "a tuple for an object": (Spec((), object), (1, 2), "its signature says"),
    "a date for a number": (Spec((), "int64"), np.datetime64("2020-01-01"), "its signature says"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_would_be_cut_or_is_of_another_kind_is_refused(case: str) -> None:
    signature, value, message = REFUSED[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows, error = Signed(signature).rows([value])
    assert rows == []
    assert isinstance(error, InvalidArgumentError)
    with pytest.raises(InvalidArgumentError, match=message):
        raise error


leaves = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(-3, 3),
    st.floats(),
    st.booleans(),
    st.sampled_from(["a", b"a", b"\xff", None, 1j, np.float32(1.5), np.int64(3), np.uint8(255), np.str_("x")]),
    st.sampled_from([(1, 2), [1, 2], (1, "a"), ("a", b"b"), (), np.zeros(2), np.zeros((2, 0), "U1"), np.array(3)]),
)
specs = st.builds(
    Spec,
    st.sampled_from([(), (2,), (None,), None]),
    st.sampled_from(
        ["int64", "int32", "uint8", "uint64", "float64", "float32", "float16", bool, "complex64", str, bytes, object]
    ),
)
signatures = st.one_of(
    st.tuples(specs, st.just(lambda one, other: one)),
    st.tuples(st.tuples(specs, specs), st.just(lambda one, other: (one, other))),
    st.tuples(
        st.fixed_dictionaries({"b": specs, "a": specs}), st.sampled_from([lambda one, other: {"b": one, "a": other}])
    ),
    st.tuples(st.builds(Pair, specs, st.tuples(specs)), st.just(lambda one, other: Pair(one, (other,)))),
)


@given(signatures, st.lists(st.tuples(leaves, leaves), max_size=4), st.booleans())
def test_an_element_is_the_same_whatever_run_it_came_with(
    signature: tuple[Any, Any], values: list[tuple[Any, Any]], alike: bool
) -> None:
    spec, make = signature
    signed = Signed(spec)
    raw = [make(*pair) for pair in (values[:1] * len(values) if alike else values)]
    together, error = signed.rows(raw)
    alone = [signed._one_by_one([value]) for value in raw]
    good = next((at for at, (rows, _) in enumerate(alone) if not rows), len(raw))
    assert len(together) == good
    for (expected,), came in zip([rows for rows, _ in alone[:good]], together, strict=True):
        assert same(expected, came), (expected, came)
    assert str(error) == str(alone[good][1] if good < len(raw) else None)


def test_a_dict_comes_in_the_order_of_its_signature() -> None:
    rows, _ = Signed({"b": Spec((), int), "a": Spec((), int)}).rows([{"a": 1, "b": 2}, {"b": 3, "a": 4}])
    assert [list(row.items()) for row in rows] == [[("b", 2), ("a", 1)], [("b", 3), ("a", 4)]]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32, np.float64, np.dtype(">f4"), np.bool_, np.complex64])
@pytest.mark.parametrize("leaves", [[1, 0, 1], [1.0, 0.5], [True, False], [np.float32(1.5), np.float32(2)], [1, 2.5]])
def test_leaves_are_stacked_as_the_elements_that_they_become(dtype: np.dtype[Any], leaves: list[Any]) -> None:
    signed, kinds = Signed(Spec((), dtype)), set(map(type, leaves))
    rows, unfit = signed.rows(list(leaves))
    if unfit is not None:
        with pytest.raises(InvalidArgumentError):
            signed.array(0, leaves, kinds)
        return
    stacked, expected = signed.array(0, leaves, kinds), stack(rows)
    assert stacked.dtype == expected.dtype
    assert stacked.tolist() == expected.tolist()


NUMBERS = [np.dtype(code).type for code in "?bBhHiIlLqQefdgFDG"] + [np.timedelta64]
EXTREMES = [0, 1, -1, 2, 127, 255, -(2**31), 2**63 - 1, 2**64 - 1, 0.5, 1e30, float("inf"), float("nan")]


def _scalars(kind: Any) -> list[Any]:
    """Those of the extremes that a type has, as it has them."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = []
        for value in EXTREMES:
            try:
                found.append(kind(value))
            except (OverflowError, ValueError, TypeError):
                continue
        return found


@pytest.mark.parametrize(
    "dtype",
    [
        bool,
        "int8",
        "uint8",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
        ">i4",
        "complex64",
        "m8[s]",
        str,
        object,
    ],
)
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_numpys_are_the_same_whatever_run_they_came_with(kind: Any, dtype: Any) -> None:
    signed, scalars = Signed(Spec((), dtype)), _scalars(kind)
    alone = [signed._one_by_one([scalar]) for scalar in scalars]
    for (first, (rows, error)), (second, (others, other_error)) in itertools.product(
        zip(scalars, alone, strict=True), repeat=2
    ):
        together, unfit = signed.rows([first, second])
        expected = rows + others if rows else []
        assert str(unfit) == str(error or other_error)
        assert same(expected, together), (expected, together)
