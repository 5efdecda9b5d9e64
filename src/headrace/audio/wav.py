"""WAV to samples and back: ``decode_wav`` and ``encode_wav``, as ``tf.audio`` has them, without any library.

What always holds: stored integers are viewed in place and converted in one pass, and what is not wanted is not
converted. Integers become ``value / 2 ** (bits - 1)``; 8 bits are unsigned, with 128 for silence.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.audio.sound_shape import Samples, as_sound, fitted, sound_bytes
from headrace.audio.wav_header import WavHeader, wav_header
from headrace.errors import InvalidArgumentError

__all__ = ["decode_wav", "encode_wav"]

_SCALES: Final = {
    "u1": np.float32(1 / (1 << 7)),
    "<i2": np.float32(1 / (1 << 15)),
    "<i4": np.float32(1 / (1 << 31)),
}
_MAX_CHANNELS: Final = (1 << 16) - 1
_HEADER: Final = struct.Struct("<4sI4s4sIHHIIHH4sI")


def decode_wav(
    contents: bytes,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
) -> tuple[Samples, int]:
    """Decodes a WAV, as ``tf.audio.decode_wav``, which knows 16 bits only; here 8, 16, 24 and 32 bits and floats.

    Args:
        contents: the bytes of the file.
        desired_channels: how many channels are wanted: the first ones, or the last one repeated. -1 for all.
        desired_samples: how many samples are wanted: the first ones, or zeros appended. -1 for all.
        name: accepted for the sake of ported programs.

    Returns:
        float32 (samples, channels), within [-1, 1) where integers are stored; and the samples a second.

    Raises:
        InvalidArgumentError: an argument does not fit, or it is no uncompressed WAV (``hr.audio.decode`` reads others).
        DataLossError: truncated or corrupt.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> contents = hr.audio.encode_wav(np.array([[0.0], [0.5], [-1.0]]), 16_000)
        >>> hr.audio.decode_wav(contents)
        (array([[ 0. ],
               [ 0.5],
               [-1. ]], dtype=float32), 16000)
        >>> hr.audio.decode_wav(contents, desired_samples=16_000)[0].shape
        (16000, 1)
    """
    data = sound_bytes(contents)
    header = wav_header(data)
    wanted = header.samples if desired_samples < 0 else min(desired_samples, header.samples)
    samples = _samples(data, header, wanted * header.channels).reshape(wanted, header.channels)
    return fitted(samples, desired_channels, desired_samples), header.sample_rate


def _samples(contents: bytes, header: WavHeader, count: int) -> Samples:
    if header.stored == "3 bytes":
        # A zero below each makes them 32 bits.
        padded = np.zeros((count, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(contents, np.uint8, count * 3, header.start).reshape(count, 3)
        return _scaled(padded.reshape(-1).view("<i4"), "<i4")
    stored: npt.NDArray[Any] = np.frombuffer(contents, header.stored, count, header.start)
    if stored.dtype.kind == "f":
        return stored.astype(np.float32)
    if header.stored == "u1":
        stored = stored.view(np.int8) ^ np.int8(-128)  # the same as to subtract 128, without leaving 8 bits
    return _scaled(stored, header.stored)


def _scaled(stored: npt.NDArray[Any], dtype: str) -> Samples:
    samples = stored.astype(np.float32)
    samples *= _SCALES[dtype]
    return samples


def encode_wav(
    audio: npt.ArrayLike,
    sample_rate: int,
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
) -> bytes:
    """Encodes sound as a WAV of 16 bits, as ``tf.audio.encode_wav``.

    Args:
        audio: (samples, channels), within [-1, 1]; what is beyond is cut.
        sample_rate: samples a second.
        name: accepted for the sake of ported programs.

    Returns:
        The bytes of the file.

    Raises:
        InvalidArgumentError: the sound has another shape, or does not fit into 4 GB.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> len(hr.audio.encode_wav(np.zeros((16_000, 1)), 16_000))
        32044
    """
    samples = as_sound(audio)
    count, channels = samples.shape
    size = samples.size * 2
    if not 1 <= channels <= _MAX_CHANNELS or not 0 < sample_rate < 1 << 32 or size + 36 >= 1 << 32:
        raise InvalidArgumentError(f"{count} samples of {channels} channels at {sample_rate} a second do not fit a WAV")
    scaled = samples.astype(np.float32).astype(np.float64) * (1 << 15)
    # Halves go away from zero, as C's round does; NumPy's goes to the even number.
    stored = np.clip(np.trunc(scaled + np.copysign(0.5, scaled)), -(1 << 15), (1 << 15) - 1).astype("<i2")
    frame = channels * 2
    rate = sample_rate * frame & 0xFFFFFFFF
    head = _HEADER.pack(
        b"RIFF", size + 36, b"WAVE", b"fmt ", 16, 1, channels, sample_rate, rate, frame, 16, b"data", size
    )  # fmt: skip
    return head + stored.tobytes()
