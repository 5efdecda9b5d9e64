from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.io.csv.numbers import PARSERS

FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
ALL = [*FLOATS, np.dtype(np.int32), np.dtype(np.int64)]

signs = st.sampled_from(["", "-", "+"])
digits = st.text("0123456789", min_size=1, max_size=30)


@st.composite
def decimals(draw: st.DrawFn) -> str:
    point = draw(st.sampled_from(["{0}", "{0}.", ".{0}", "{0}.{1}"])).format(draw(digits), draw(digits))
    exponent = draw(st.just("") | st.integers(-400, 400).map("e{}".format) | st.integers(0, 50).map("E+{}".format))
    return draw(signs) + point + exponent


def above(value: np.float32) -> Fraction:
    """The next float32; beyond the largest, infinity stands where the next step would be."""
    with np.errstate(over="ignore"):
        return Fraction(min(float(np.nextafter(value, np.float32(np.inf))), 2.0**128))


@st.composite
def halfway_between_two_float32(draw: st.DrawFn) -> str:
    """What rounding twice gets wrong: a text just above, at, or just below the middle of two neighbours."""
    low = np.float32(draw(st.floats(0, float(np.finfo(np.float32).max), width=32)))
    middle = (Fraction(float(low)) + above(low)) / 2
    # The middle has finitely many decimals: the power of two below is at most 150.
    written = middle.numerator * 10**150 // middle.denominator
    nudged = written * 10**20 + draw(st.sampled_from([-1, 0, 1]))
    return f"{draw(signs)}{nudged}e-170"


def with_bits(value: Any, dtype: np.dtype[Any]) -> bytes:
    with np.errstate(over="ignore"):
        return np.array([value], dtype).tobytes()


def by_arrow(text: str, dtype: np.dtype[Any]) -> bytes:
    array = pa.array([text]).cast(pa.from_numpy_dtype(dtype))
    return bytes(np.asarray(array).tobytes())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(text=decimals() | halfway_between_two_float32() | st.floats().map(repr))
def test_the_careful_parser_and_arrow_give_the_same_bits(dtype: np.dtype[Any], text: str) -> None:
    assert with_bits(PARSERS[dtype](text.encode()), dtype) == by_arrow(text, dtype)


@given(text=decimals() | halfway_between_two_float32())
def test_a_float32_is_the_one_nearest_to_its_text(text: str) -> None:
    exact = abs(Fraction(text))
    with np.errstate(over="ignore"):
        found = abs(np.float32(PARSERS[np.dtype(np.float32)](text.encode())))
    if np.isinf(found):
        assert exact >= Fraction(2**128 - 2**103), "half a step beyond the largest"
        return
    distance = abs(exact - Fraction(float(found)))
    others = [abs(exact - Fraction(float(np.nextafter(found, np.float32(0))))), abs(exact - above(found))]
    assert distance <= min(others)
    if 0 < distance == min(others):
        assert not int(found.view(np.uint32)) & 1, "a tie goes to the even one"


@pytest.mark.parametrize("dtype", ALL[2:], ids=str)
@given(sign=signs, zeros=st.text("0", max_size=30), value=st.integers(0, 2**65) | st.integers(0, 2**33))
def test_an_integer_is_what_python_reads_or_out_of_range(
    dtype: np.dtype[Any], sign: str, zeros: str, value: int
) -> None:
    text = f" {sign}{zeros}{value}\t"
    info = np.iinfo(dtype)
    expected = int(f"{sign}{value}")
    assert PARSERS[dtype](text.encode()) == (expected if info.min <= expected <= info.max else None)


@pytest.mark.parametrize(
    "text", ["", " ", "-", "1_0", "1e", "0x", "abc", "1 2", "naninity", "inf(1)", "1.2.3", "\xa01", "\uff11"]
)
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_what_is_no_number_is_none(dtype: np.dtype[Any], text: str) -> None:
    assert PARSERS[dtype](text.encode()) is None


def test_a_number_of_a_million_digits_is_refused_or_infinite_and_not_read_for_ever() -> None:
    text = b"1" * 1_000_000
    assert PARSERS[np.dtype(np.int64)](text) is None
    assert PARSERS[np.dtype(np.float32)](text) == np.inf
