"""WAV files made by hand: every way to store samples, and every kind of damage."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["chunk", "fmt", "riff", "wav"]


def chunk(kind: bytes, data: bytes, size: int | None = None) -> bytes:
    """A chunk, filled up to an even length; ``size`` is what it claims."""
    return kind + struct.pack("<I", len(data) if size is None else size) + data + b"\0" * (len(data) % 2)


def fmt(kind: int, channels: int, rate: int, sample_bytes: int, behind: bytes = b"") -> bytes:
    """The chunk that says how samples are stored."""
    frame = channels * sample_bytes
    head = struct.pack("<HHIIHH", kind, channels, rate, rate * frame, frame, sample_bytes * 8)
    return chunk(b"fmt ", head + behind)


def riff(*chunks: bytes) -> bytes:
    """The file of these chunks."""
    inside = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(inside)) + inside


def wav(samples: npt.NDArray[Any], rate: int = 16_000) -> bytes:
    """A file of these samples, (samples, channels), stored as their dtype says; int32 by all of its bits."""
    kind = 3 if samples.dtype.kind == "f" else 1
    return riff(
        fmt(kind, samples.shape[1], rate, samples.dtype.itemsize),
        chunk(b"data", np.ascontiguousarray(samples).tobytes()),
    )
