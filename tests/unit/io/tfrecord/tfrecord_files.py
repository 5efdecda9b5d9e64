"""TFRecord files made the slow way, and a CRC32C without a library: the tests need neither the extra nor TensorFlow."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["crc32c", "file_of", "frame_of", "use_slow_crc32c"]

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, reflected


def crc32c(data: bytes) -> int:
    """Bit by bit, as the definition says."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32)


def frame_of(payload: bytes, claimed_length: int | None = None) -> bytes:
    """One record, with a right checksum also for a length that it has not."""
    length = struct.pack("<Q", len(payload) if claimed_length is None else claimed_length)
    return length + _masked(length) + payload + _masked(payload)


def file_of(payloads: Iterable[bytes]) -> bytes:
    """A TFRecord file."""
    return b"".join(map(frame_of, payloads))


def use_slow_crc32c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the library's place taken, whether it is installed or not."""
    monkeypatch.setitem(sys.modules, "google_crc32c", SimpleNamespace(value=crc32c))
