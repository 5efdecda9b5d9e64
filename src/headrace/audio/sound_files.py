"""FLAC, OGG (Vorbis and Opus), MP3 and whatever else libsndfile knows, to samples.

What always holds: memory grows with the samples that were decoded, never with the number that a header claims, and ends
at ``max_samples``. A file that delivers fewer samples than its header claims is truncated; MP3 claims none, so a cut
one is only shorter.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from headrace.audio.sound_shape import Samples, fitted, sound_bytes
from headrace.audio.wav import decode_wav
from headrace.errors import DataLossError, InvalidArgumentError, MissingExtraError, ResourceExhaustedError

__all__ = ["MAX_SAMPLES", "decode"]

# Of all channels together: 1 GB as float32, more than four hours at 16 kHz.
MAX_SAMPLES: Final = 1 << 28
# So many values are decoded at once: some seconds of sound.
_AT_ONCE: Final = 1 << 18


def decode(
    contents: bytes,
    desired_channels: int = -1,
    desired_samples: int = -1,
    *,
    max_samples: int = MAX_SAMPLES,
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
) -> tuple[Samples, int]:
    """Decodes FLAC, OGG, MP3, WAV and more; as ``decode_wav``, which it leaves uncompressed WAVs to.

    Args:
        contents: the bytes of the file.
        desired_channels: how many channels are wanted: the first ones, or the last one repeated. -1 for all.
        desired_samples: how many samples are wanted: the first ones, no more of which are decoded, or zeros appended. -1 for all.
        max_samples: of all channels together; a file that has more is refused.
        name: accepted, as ``decode_wav`` accepts it.

    Returns:
        float32 (samples, channels), and the samples a second.

    Raises:
        InvalidArgumentError: an argument does not fit, or the bytes are empty or of no known format.
        DataLossError: truncated or corrupt.
        ResourceExhaustedError: more than ``max_samples``.
        MissingExtraError: soundfile is not installed.

    Example:
        >>> import io
        >>> import numpy as np, soundfile
        >>> import headrace as hr
        >>> file = io.BytesIO()
        >>> soundfile.write(file, np.zeros((8_000, 2)), 8_000, format="FLAC")
        >>> samples, rate = hr.audio.decode(file.getvalue())
        >>> samples.shape, rate
        ((8000, 2), 8000)
    """
    data = sound_bytes(contents)
    if data[:4] == b"RIFF":
        try:
            return decode_wav(data, desired_channels, desired_samples)
        except InvalidArgumentError:
            pass  # compressed; or an argument that does not fit, which is found again below
    library = _library()
    try:
        with library.SoundFile(io.BytesIO(data)) as file:
            samples, rate = _read(file, data, desired_samples, max_samples), int(file.samplerate)
    except library.LibsndfileError as error:
        raise _unreadable(data, error) from error
    return fitted(samples, desired_channels, desired_samples), rate


def _library() -> Any:
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: the package is there, and libsndfile is not
        raise MissingExtraError("hr.audio.decode needs soundfile: pip install 'headrace[audio]'") from None
    return soundfile


def _read(file: Any, contents: bytes, desired_samples: int, max_samples: int) -> Samples:
    claimed, channels = int(file.frames), int(file.channels)
    wanted = max_samples // channels + 1 if desired_samples < 0 else desired_samples
    parts = list(_parts(file, wanted))
    samples = parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, channels), np.float32), *parts])
    if samples.size > max_samples:
        raise ResourceExhaustedError(
            f"a {file.format} of {len(contents)} bytes has more than {max_samples} samples; "
            "if you trust it, raise max_samples"
        )
    # Of a stream that cannot tell its length, libsndfile says the greatest number.
    if (len(samples) < min(claimed, wanted) and claimed < _ENDLESS) or _ends_early(contents):
        raise DataLossError(
            f"a truncated {file.format}: {len(samples)} samples of the {claimed} that it claims are there"
        )
    return samples


_ENDLESS: Final = 1 << 62


def _parts(file: Any, wanted: int) -> Iterator[Samples]:
    """Decodes until that many samples are there, or the file ends."""
    at_once = max(_AT_ONCE // int(file.channels), 1)
    while wanted > 0:
        part: Samples = file.read(min(at_once, wanted), dtype="float32", always_2d=True)
        yield part
        wanted = wanted - len(part) if len(part) else 0


def _ends_early(contents: bytes) -> bool:
    """Returns whether an OGG lacks a part of its last page: nothing else in it tells how long it is."""
    if contents[:4] != b"OggS":
        return False
    page = contents.rfind(b"OggS")
    if len(contents) < page + 27 or not contents[page + 5] & _LAST_PAGE:
        return True
    lengths = contents[page + 27 : page + 27 + contents[page + 26]]
    return len(contents) < page + 27 + contents[page + 26] + sum(lengths)


_LAST_PAGE: Final = 4


def _unreadable(contents: bytes, error: Exception) -> Exception:
    reason = str(error).rpartition(": ")[2]
    if "not recognised" in reason or "unknown" in reason:
        return InvalidArgumentError(
            f"contents are no sound file that libsndfile knows: they start with {contents[:8]!r}"
        )
    return DataLossError(f"a truncated or corrupt sound file of {len(contents)} bytes: {reason}")
