"""How a good file becomes a bad one."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

__all__ = ["damaged"]

# Sizes and counts at the edges of what fits their fields: what a reader must not believe.
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
_TEXTS = (
    b"\n",
    b"\r\n",
    b'"',
    b",",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"1e999",
    b"-0",
    b"99999999999999999999",
    b"{}",
    b"[[[[",
)


def damaged(rng: random.Random, good: bytes, others: list[bytes]) -> bytes:
    """The bytes after one to a few changes; ``others`` are what parts of may be spliced in."""
    data = bytearray(good)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        rng.choice(_CHANGES)(rng, data, others)
    return bytes(data)


def _at(rng: random.Random, data: bytearray) -> int:
    # Headers and footers say what the rest is: they are hit more often than the rest is.
    edge = rng.random()
    if edge < 0.25:
        return rng.randrange(min(len(data), 64) + 1)
    return max(0, len(data) - rng.randrange(64)) if edge < 0.4 else rng.randrange(len(data) + 1)


def _flip(rng: random.Random, data: bytearray, others: list[bytes]) -> None:
    if data:
        data[min(_at(rng, data), len(data) - 1)] ^= 1 << rng.randrange(8)


def _overwrite_number(rng: random.Random, data: bytearray, others: list[bytes]) -> None:
    at, number = _at(rng, data), rng.choice(_NUMBERS)
    layout, bits = rng.choice((("<Q", 64), (">Q", 64), ("<I", 32), (">I", 32), ("<H", 16), (">H", 16), ("B", 8)))
    data[at : at + bits // 8] = struct.pack(layout, number % 2**bits)


def _insert(rng: random.Random, data: bytearray, others: list[bytes]) -> None:
    at = _at(rng, data)
    data[at:at] = rng.choice((rng.choice(_TEXTS), rng.randbytes(rng.choice((1, 2, 7, 64)))))


def _remove(rng: random.Random, data: bytearray, others: list[bytes]) -> None:
    at = _at(rng, data)
    del data[at : at + rng.choice((1, 1, 2, 4, 16, 512))]


def _repeat(rng: random.Random, data: bytearray, others: list[bytes]) -> None:
    at = _at(rng, data)
    data[at:at] = data[at : at + rng.choice((1, 8, 100, 512))] * rng.choice((1, 2, 20))


def _truncate(rng: random.Random, data: bytearray, others: list[bytes]) -> None:
    del data[_at(rng, data) :]


def _splice(rng: random.Random, data: bytearray, others: list[bytes]) -> None:
    other = rng.choice(others)
    at, start = _at(rng, data), rng.randrange(len(other) + 1)
    data[at : at + rng.randrange(64)] = other[start : start + rng.choice((4, 64, 600))]


_CHANGES: tuple[Callable[[random.Random, bytearray, list[bytes]], None], ...] = (
    _flip,
    _flip,
    _overwrite_number,
    _overwrite_number,
    _insert,
    _remove,
    _repeat,
    _truncate,
    _splice,
)
