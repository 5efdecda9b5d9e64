"""What tf.audio made of sound, recorded by record_tensorflow.py: headrace makes the same of it, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from headrace import audio

RECORDED = np.load(Path(__file__).with_name("tensorflow_audio.npz"))
CASES: list[tuple[str, int, int]] = json.loads(str(RECORDED["cases"]))


@pytest.mark.parametrize("name", ["mono", "stereo", "loud", "steps"])
def test_sound_is_encoded_as_by_tensorflow(name: str) -> None:
    assert audio.encode_wav(RECORDED[f"sound_{name}"], 12_345) == RECORDED[f"encoded_{name}"].tobytes()


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{c[0]}-{c[1]}-{c[2]}" for c in CASES])
def test_a_wav_is_decoded_as_by_tensorflow(number: int) -> None:
    name, channels, samples = CASES[number]
    decoded, rate = audio.decode_wav(RECORDED[f"encoded_{name}"].tobytes(), channels, samples)
    assert (rate, decoded.dtype.name) == (12_345, "float32")
    np.testing.assert_array_equal(decoded, RECORDED[f"samples_{number}"])
