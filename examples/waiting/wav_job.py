"""WAV files of two seconds, turned into the loudness of bands of frequencies, 32 in a batch: the input of ``make wav``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import headrace as hr
from examples.waiting.gpu import gpu_step
from examples.wav_classifier.input_fns import Sounds
from examples.wav_classifier.recordings import recordings_in
from examples.wav_classifier.sounds import RATE, SECONDS, make_sounds

__all__ = ["STEP_S", "naive", "step"]

DATA: Final = Path("data/wav")
BATCH_SIZE: Final = 32
SOUNDS: Final = Sounds(rate=RATE, seconds=SECONDS)

STEP_S: Final = 0.026

step = gpu_step(STEP_S)


def naive() -> hr.Dataset:
    """The input as one writes it first: that of the question which the job comes from."""
    files = recordings_in(make_sounds(DATA, 300)).train
    return (
        hr.Dataset.from_tensor_slices((list(files.filenames), list(files.labels)))
        .map(SOUNDS.read)
        .shuffle(len(files.labels), seed=0)
        .map(SOUNDS.transform)
        .batch(BATCH_SIZE)
    )
