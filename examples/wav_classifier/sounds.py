"""Sounds to learn from, where there are none: WAV files of 16 bits, two seconds each, the same ones on every machine.

Four kinds, each sound with its own pitch, loudness and background noise:

    bell    harmonics that fade
    siren   a tone that goes up and down
    motor   a beat of low harmonics
    rain    drops in noise
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

import headrace as hr

RATE: Final = 16_000
SECONDS: Final = 2.0

Sound: TypeAlias = npt.NDArray[np.float64]

_TIMES: Final = np.arange(int(SECONDS * RATE)) / RATE


def bell(rng: np.random.Generator) -> Sound:
    pitch, fading = rng.uniform(400, 900), rng.uniform(3, 8)
    partials = [np.sin(2 * np.pi * pitch * ratio * _TIMES) / ratio for ratio in (1, 2.76, 5.4)]
    return np.asarray(sum(partials) * np.exp(-fading * _TIMES))


def siren(rng: np.random.Generator) -> Sound:
    middle, depth, turns = rng.uniform(600, 1_200), rng.uniform(150, 400), rng.uniform(1, 4)
    pitch = middle + depth * np.sin(2 * np.pi * turns * _TIMES)
    return np.asarray(np.sin(2 * np.pi * np.cumsum(pitch) / RATE))


def motor(rng: np.random.Generator) -> Sound:
    pitch, beat = rng.uniform(50, 120), rng.uniform(6, 14)
    harmonics = [np.sin(2 * np.pi * pitch * number * _TIMES) / number for number in range(1, 9)]
    return np.asarray(sum(harmonics) * (1 + np.sin(2 * np.pi * beat * _TIMES)) / 3)


def rain(rng: np.random.Generator) -> Sound:
    drops = np.zeros(len(_TIMES))
    drops[rng.integers(0, len(drops), rng.integers(40, 160))] = 1
    splash = np.exp(-np.arange(400) / 80) * rng.standard_normal(400)
    return np.asarray(np.convolve(drops, splash)[: len(drops)])


KINDS: Final[dict[str, Callable[[np.random.Generator], Sound]]] = {
    "bell": bell,
    "motor": motor,
    "rain": rain,
    "siren": siren,
}


def one_sound(kind: str, number: int) -> Sound:
    """Sound ``number`` of a kind: it depends on both, and on nothing else."""
    rng = np.random.default_rng([sorted(KINDS).index(kind), number])
    clean = KINDS[kind](rng)
    noise = rng.standard_normal(len(clean)) * rng.uniform(0.05, 0.5)
    heard = clean / np.abs(clean).max() + noise
    return np.asarray(heard / np.abs(heard).max() * rng.uniform(0.2, 0.95))


def make_sounds(folder: Path, each: int) -> Path:
    """Writes so many sounds of each kind, a subfolder a kind, unless they are there; returns their folder."""
    folder = folder / f"sounds-{each}-each"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for kind in KINDS:
            (unfinished / kind).mkdir()
            for number in range(each):
                contents = hr.audio.encode_wav(one_sound(kind, number)[:, np.newaxis], RATE)
                (unfinished / kind / f"{kind}-{number:04d}.wav").write_bytes(contents)
        unfinished.rename(folder)  # so the folder is whole, or it is not there
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder
