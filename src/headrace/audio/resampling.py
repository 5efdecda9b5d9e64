"""``resample``: sound at another rate, by soxr, outside Python's lock."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headrace.audio.sound_files import MAX_SAMPLES
from headrace.audio.sound_shape import Samples, as_sound
from headrace.errors import InvalidArgumentError, MissingExtraError, ResourceExhaustedError

__all__ = ["resample"]

_QUALITIES = ("QQ", "LQ", "MQ", "HQ", "VHQ")


def resample(
    audio: npt.ArrayLike,
    rate_in: float,
    rate_out: float,
    quality: str = "HQ",
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
) -> Samples:
    """Resamples sound to another rate, without a shift in time.

    Args:
        audio: (samples, channels).
        rate_in: its samples a second.
        rate_out: those of the result.
        quality: soxr's, from fast to exact: ``"QQ"``, ``"LQ"``, ``"MQ"``, ``"HQ"`` (16 bits), ``"VHQ"`` (24 bits).
        name: accepted for the sake of ported programs.

    Returns:
        float32 (samples × rate_out / rate_in, channels).

    Raises:
        InvalidArgumentError: an argument does not fit.
        ResourceExhaustedError: the result would have more than 2 ** 28 values.
        MissingExtraError: soxr is not installed.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.audio.resample(np.zeros((44_100, 2)), 44_100, 16_000).shape
        (16000, 2)
    """
    samples = as_sound(audio)
    if not (0 < rate_in < np.inf and 0 < rate_out < np.inf):
        raise InvalidArgumentError(f"rates are positive numbers of samples a second, and not {rate_in} and {rate_out}")
    if quality not in _QUALITIES:
        raise InvalidArgumentError(f"quality is one of {', '.join(_QUALITIES)}, and not {quality!r}")
    if samples.size / rate_in * rate_out > MAX_SAMPLES:
        raise ResourceExhaustedError(
            f"{samples.shape[0]} samples at {rate_in} a second would have more than {MAX_SAMPLES} values at {rate_out}"
        )
    floats = np.ascontiguousarray(samples, np.float32)
    if rate_in == rate_out or not samples.size:
        return floats
    try:
        import soxr
    except ImportError:
        raise MissingExtraError("hr.audio.resample needs soxr: pip install 'headrace[audio]'") from None
    resampled: Samples = soxr.resample(floats, rate_in, rate_out, quality)
    return resampled
