"""One number from its text, by TensorFlow's rules: the reference that the fast path equals, bit for bit.

White space around a number is allowed, as is a plus sign. Floats may be ``1e5``, ``.5``, ``5.``, ``nan``, ``inf`` or
hexadecimal (``0x1p3``), and what is too large is infinite. Integers are decimal, and what is too large is no number.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

__all__ = ["PARSERS"]

_DECIMAL: Final = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL: Final = re.compile(rb"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?")
_SPECIAL: Final = re.compile(rb"([+-]?(?:nan|inf(?:inity)?))(?:(?<=nan)\([0-9a-z_]*\))?", re.IGNORECASE)
_INTEGER: Final = re.compile(rb"([+-]?)0*([0-9]+)")

# 19 digits hold every int64. A longer text is too large, and Python refuses to read one of thousands of digits.
_MOST_DIGITS: Final = 19
# Where float32 ends: one step beyond its largest value.
_BEYOND_FLOAT32: Final = 2.0**128
# A float64 half-way between two float32 has none of its lowest 28 bits set.
_NEVER_HALFWAY: Final = (1 << 28) - 1


def _float64(text: bytes) -> float | None:
    stripped = text.strip()
    return float(stripped) if _DECIMAL.fullmatch(stripped) else _unusual_float(stripped)


def _float32(text: bytes) -> float | None:
    """Returns a float that rounds to the float32 nearest to the text.

    float64's nearest would do, were it not for those that lie half-way between two float32: what the text has beyond
    float64 then decides, and rounding twice would lose it.
    """
    stripped = text.strip()
    if not _DECIMAL.fullmatch(stripped):
        return _unusual_float(stripped)
    double = float(stripped)
    if struct.unpack("<Q", struct.pack("<d", double))[0] & _NEVER_HALFWAY:
        return double
    return _decided(double, stripped)


def _decided(double: float, stripped: bytes) -> float:
    """Returns ``double``, or the float32 beside it on whose side the text lies, if ``double`` is half-way between two."""
    low, high = _around(double)
    if not low < double < high or double - low != high - double:
        return double
    from fractions import Fraction  # rarely needed, and slow to import

    exact = Fraction(stripped.decode())
    return double if exact == double else low if exact < double else high


def _around(double: float) -> tuple[float, float]:
    """Returns the float32 at or below, and the one above, as Python floats; beyond the largest, the next step."""
    with np.errstate(over="ignore"):
        nearest = np.float32(double)
        below = nearest if float(nearest) <= double else np.nextafter(nearest, np.float32(-np.inf))
        above = np.nextafter(below, np.float32(np.inf))
    low, high = (max(-_BEYOND_FLOAT32, min(_BEYOND_FLOAT32, float(value))) for value in (below, above))
    return low, high


def _unusual_float(stripped: bytes) -> float | None:
    if special := _SPECIAL.fullmatch(stripped):
        return float(special[1])
    if not _HEXADECIMAL.fullmatch(stripped):
        return None
    try:
        return float.fromhex(stripped.decode())
    except OverflowError:
        return -np.inf if stripped.startswith(b"-") else np.inf


def _integer(lowest: int, highest: int) -> Callable[[bytes], int | None]:
    def parse(text: bytes) -> int | None:
        digits = _INTEGER.fullmatch(text.strip())
        if digits is None or len(digits[2]) > _MOST_DIGITS:
            return None
        value = int(digits[1] + digits[2])
        return value if lowest <= value <= highest else None

    return parse


# By dtype: the value as a Python number, or None when the text is none.
PARSERS: Final[Mapping[np.dtype, Callable[[bytes], float | None] | Callable[[bytes], int | None]]] = MappingProxyType(
    {
        np.dtype(np.float32): _float32,
        np.dtype(np.float64): _float64,
        np.dtype(np.int32): _integer(-(2**31), 2**31 - 1),
        np.dtype(np.int64): _integer(-(2**63), 2**63 - 1),
    }
)
