"""The input of the training job, twice: as one writes it first, and as it keeps a device busy.

The batches are the same, in the same order, to the last bit. The first form prepares each of them, when the step before it has
ended, file by file, and everything anew whenever the job is started. The improved form

    reads and transforms in one function                 a hand-off less for each file
    in parallel                                          as many files at once as there are cores
    and keeps the features                               under a key that is found again by the next invocation
    prepares the next batch while this one is trained on
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

import headrace as hr
from examples.wav_classifier.recordings import Files, decoded

Array: TypeAlias = npt.NDArray[np.float32]
READ: Final = "read"  # what statistics call the operation that opens the files

# Files, how often they are gone through (None: without end), and whether they are shuffled.
InputFn: TypeAlias = Callable[[Files, int | None, bool], hr.Dataset]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sounds:
    """What a sound is to the model."""

    rate: int  # samples a second
    seconds: float  # longer ones are cut, shorter ones filled with silence

    @property
    def samples(self) -> int:
        """Of one sound."""
        return round(self.rate * self.seconds)

    @property
    def frame(self) -> int:
        """Samples in a frame of about 64 ms: the power of two, whose transform is fastest."""
        return 1 << (self.rate // 16 - 1).bit_length()

    @property
    def bands(self) -> npt.NDArray[np.intp]:
        """Where each band of frequencies begins, among those of a frame: low ones narrow, high ones wide."""
        return np.unique(np.geomspace(1, self.frame // 2, 41).astype(np.intp)[:-1])

    def read(self, path: str, label: int) -> tuple[Array, int]:
        """The samples of a file.

        Raises:
            InvalidArgumentError: the file has another rate.
        """
        samples, rate = decoded(path, self.samples)
        if rate != self.rate:
            raise hr.errors.InvalidArgumentError(
                f"{path} has {rate} samples a second, and the first file {self.rate}: bring all to one rate"
            )
        return samples[:, 0], label

    def transform(self, wav: Array, label: int) -> tuple[Array, int]:
        """The loudness of each band (rows) in frames of 64 ms, one every 5 ms (columns), as logarithms."""
        frames = np.lib.stride_tricks.sliding_window_view(wav, self.frame)[:: self.rate // 200]
        windowed = frames * np.hanning(self.frame).astype(np.float32)
        power = np.abs(np.fft.rfft(windowed)) ** 2
        # Sums over bands, and no product with a filter matrix: NumPy's would start threads that fight with the workers.
        return np.log(np.add.reduceat(power, self.bands, axis=1).T + 1e-3).astype(np.float32), label


def _named(wav: Array, label: int) -> tuple[dict[str, Array], int]:
    return {"wav": wav}, label


def first_form(sounds: Sounds, batch_size: int) -> InputFn:
    """Each operation behind the other, all in the thread that trains."""

    def input_fn(files: Files, epochs: int | None, shuffle: bool) -> hr.Dataset:
        dataset = hr.Dataset.from_tensor_slices((list(files.filenames), list(files.labels)))
        dataset = dataset.map(sounds.read, name=READ)
        if shuffle:
            dataset = dataset.shuffle(buffer_size=len(files.labels), seed=0)
        dataset = dataset.map(sounds.transform)
        dataset = dataset.map(_named)
        dataset = dataset.batch(batch_size)
        return dataset.repeat(epochs)

    return input_fn


def improved_form(sounds: Sounds, batch_size: int, cache: Path) -> InputFn:
    """In parallel, kept in the folder ``cache``, and a batch ahead."""

    def features(path: str, label: int) -> tuple[Array, int]:
        return sounds.transform(*sounds.read(path, label))

    def input_fn(files: Files, epochs: int | None, shuffle: bool) -> hr.Dataset:
        dataset = hr.Dataset.from_tensor_slices((list(files.filenames), list(files.labels)))
        dataset = dataset.map(features, num_parallel_calls=hr.AUTOTUNE, name=READ)
        dataset = dataset.cache(cache, key=hr.fingerprint)
        if shuffle:
            dataset = dataset.shuffle(buffer_size=len(files.labels), seed=0)
        dataset = dataset.map(_named)
        dataset = dataset.batch(batch_size)
        return dataset.repeat(epochs).prefetch(1)

    return input_fn
