"""What sound is: float32 of shape (samples, channels); and how it is fitted to the shape that was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.errors import InvalidArgumentError

__all__ = ["Samples", "as_sound", "fitted", "sound_bytes"]

Samples = npt.NDArray[np.float32]


def sound_bytes(contents: Any) -> bytes:
    """Returns the bytes to decode.

    Raises:
        InvalidArgumentError: they are no bytes, or empty.
    """
    if not isinstance(contents, bytes | bytearray | memoryview):
        raise InvalidArgumentError(
            f"contents are the bytes of one sound file, and not a {type(contents).__name__}; for a path, hr.io.read_file"
        )
    if not len(contents):
        raise InvalidArgumentError("contents are empty, so they are no sound file")
    return contents if isinstance(contents, bytes) else bytes(contents)


def as_sound(audio: npt.ArrayLike) -> npt.NDArray[Any]:
    """Returns the array.

    Raises:
        InvalidArgumentError: it has not two axes, or holds no numbers.
    """
    samples = np.asarray(audio)
    if samples.ndim != 2 or samples.dtype.kind not in "iuf":
        raise InvalidArgumentError(f"sound is (samples, channels) of numbers; this is {samples.dtype} {samples.shape}")
    return samples


def fitted(samples: Samples, desired_channels: int, desired_samples: int) -> Samples:
    """Returns the first samples and channels, or zeros appended and the last channel repeated; -1 leaves them as they are.

    Raises:
        InvalidArgumentError: a number is 0, or below -1.
    """
    for name, number in (("desired_channels", desired_channels), ("desired_samples", desired_samples)):
        if number < -1 or number == 0:
            raise InvalidArgumentError(f"{name} is from 1, or -1 for all, and not {number}")
    have, channels = samples.shape
    if desired_channels > channels:
        samples = np.concatenate([samples, *[samples[:, -1:]] * (desired_channels - channels)], axis=1)
    elif desired_channels > 0:
        samples = np.ascontiguousarray(samples[:, :desired_channels])
    if desired_samples > have:
        samples = np.concatenate([samples, np.zeros((desired_samples - have, samples.shape[1]), np.float32)])
    elif desired_samples > 0:
        samples = samples[:desired_samples]
    return samples
