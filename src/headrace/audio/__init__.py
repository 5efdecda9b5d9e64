"""Sound as arrays: ``hr.audio``, with the names and meanings of ``tf.audio``, for more formats.

What always holds: sound is float32 of shape (samples, channels), within [-1, 1) where it was stored as integers, and
comes with its rate in samples a second. Bytes that claim more than a stated limit are refused before anything of that
size is allocated.
"""

from __future__ import annotations

from headrace.audio.resampling import resample
from headrace.audio.sound_files import decode
from headrace.audio.wav import decode_wav, encode_wav

__all__ = ["decode", "decode_wav", "encode_wav", "resample"]
