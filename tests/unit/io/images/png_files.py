"""PNG files made by hand, so that each kind of colour, depth and transparency is there, and each kind of damage."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

__all__ = ["chunk", "png"]


def chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk with its length and checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int, color: int, rows: Sequence[bytes], between: bytes = b"") -> bytes:
    """A PNG of these raw rows; ``between`` stands before the pixels."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows)))
    return b"\x89PNG\r\n\x1a\n" + head + between + data + chunk(b"IEND", b"")
