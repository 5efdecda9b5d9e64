"""Records what TensorFlow makes of WAV files, for test_as_tensorflow.py. Run it by a Python that has it:

    python tests/unit/audio/record_tensorflow.py tests/unit/audio/tensorflow_audio.npz

``cases`` is JSON: name of the array, desired channels, desired samples. The array ``sound_NAME`` was encoded to
``encoded_NAME``; case n's samples are ``samples_n``, at RATE.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import tensorflow as tf

RATE = 12_345
RNG = np.random.default_rng(0)
STEPS = np.arange(-40, 40, dtype=np.float32) / np.float32(1 << 17)  # quarters of a step of 16 bits: every way to round
SOUNDS = {
    "mono": RNG.uniform(-1, 1, (50, 1)).astype(np.float32),
    "stereo": RNG.uniform(-1, 1, (31, 2)).astype(np.float32),
    "loud": np.array([[-7.0], [-1.0], [-0.99999], [0.99999], [1.0], [1.5]], np.float32),
    "steps": STEPS[:, np.newaxis],
}


def main() -> None:
    arrays: dict[str, Any] = {f"sound_{name}": sound for name, sound in SOUNDS.items()}
    cases = [(name, channels, samples) for name in SOUNDS for channels in (-1, 1, 2, 5) for samples in (-1, 1, 7, 99)]
    for name, sound in SOUNDS.items():
        encoded = tf.audio.encode_wav(sound, RATE).numpy()
        arrays[f"encoded_{name}"] = np.frombuffer(encoded, np.uint8)
    for number, (name, channels, samples) in enumerate(cases):
        decoded, rate = tf.audio.decode_wav(arrays[f"encoded_{name}"].tobytes(), channels, samples)
        assert rate == RATE
        arrays[f"samples_{number}"] = decoded.numpy()
    np.savez_compressed(sys.argv[1], cases=np.array(json.dumps(cases)), **arrays)


if __name__ == "__main__":
    main()
