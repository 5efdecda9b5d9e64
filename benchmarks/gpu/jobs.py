"""The three jobs of the guide's page "My GPU is at 31 %", with networks in the place of the step that stands in for one.

Each has its input in four forms, which give the same examples: as one writes it first; with torch's ``DataLoader`` and a
worker process for each core; with headrace and as many calls at once as pay; and that with a cache, so that the second epoch and those
after it read what the first one made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

import headrace as hr
from examples.alexnet_finetune.alexnet import AlexNet
from examples.waiting import alexnet_job, csv_job, wav_job
from examples.wav_classifier.classifier import Classifier
from examples.wav_classifier.recordings import recordings_in
from examples.wav_classifier.sounds import make_sounds

__all__ = ["JOBS", "Job", "Training"]

Function = Callable[..., Any]


class Training:
    """A network that is trained on the GPU.

    Args:
        network: called with the inputs.
        loss: called with its output and the labels.
    """

    def __init__(self, network: Any, loss: Function) -> None:
        self._trainer = hr.train.TorchTrainer(network.cuda(), torch.optim.SGD(network.parameters(), 1e-4), loss)

    def begin(self, inputs: Any, labels: Any) -> None:
        """Begins a step on tensors that are on the GPU; it is not waited for."""
        self._trainer.train_step(inputs, labels)


class _Loaded(torch.utils.data.Dataset):  # type: ignore[misc]  # torch is not read by mypy
    """What a ``DataLoader`` reads: a function of each example."""

    def __init__(self, examples: Sequence[Any], function: Function) -> None:
        self._examples = examples
        self._function = function

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int) -> Any:
        return self._function(*self._examples[index])


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A training job.

    Attributes:
        name: a word.
        training: makes its network.
        examples: returns what its function is called with, for each example.
        function: makes an example.
        batch_size: examples in a batch.
    """

    name: str
    training: Callable[[], Training]
    examples: Callable[[], Sequence[Any]]
    function: Function
    batch_size: int

    def naive(self) -> hr.Dataset:
        """As one writes it first."""
        return self._names().map(self.function).batch(self.batch_size)

    def parallel(self) -> hr.Dataset:
        """As many calls at once as pay, in processes."""
        return self._made(self._names()).batch(self.batch_size)

    def cached(self) -> hr.Dataset:
        """The same, made once."""
        examples = self.examples()
        return self._made(_slices(examples)).cache().shuffle(len(examples), seed=0).batch(self.batch_size)

    def loader(self) -> Any:
        """Torch's ``DataLoader``, its workers kept from one epoch to the next."""
        return torch.utils.data.DataLoader(
            _Loaded(self.examples(), self.function),
            self.batch_size,
            shuffle=True,
            num_workers=os.cpu_count() or 1,
            pin_memory=True,
            persistent_workers=True,
        )

    def _names(self) -> hr.Dataset:
        examples = self.examples()
        return _slices(examples).shuffle(len(examples), seed=0)

    def _made(self, names: hr.Dataset) -> hr.Dataset:
        # What `headrace profile` says of all three: they keep Python's lock.
        return names.map(self.function, num_parallel_calls=hr.AUTOTUNE, executor="process")


def _slices(examples: Sequence[Any]) -> hr.Dataset:
    return hr.Dataset.from_tensor_slices(tuple(list(column) for column in zip(*examples, strict=True)))


def _lines() -> Sequence[Any]:
    return [(line,) for path in csv_job.files() for line in Path(path).read_text(encoding="utf-8").splitlines()]


def _images() -> Sequence[Any]:
    return [(str(path), int(label)) for path, label in alexnet_job.names().as_numpy_iterator()]


def _sounds() -> Sequence[Any]:
    files = recordings_in(make_sounds(wav_job.DATA, 300)).train
    return list(zip(files.filenames, files.labels, strict=True))


def _bands(path: str, label: int) -> Any:
    return wav_job.SOUNDS.transform(*wav_job.SOUNDS.read(path, label))


class _Sounding(Classifier):
    def forward(self, inputs: Any) -> Any:
        return super().forward({"wav": inputs})


def _csv() -> Training:
    layers = torch.nn.Sequential(
        torch.nn.Linear(csv_job.FEATURES, 4096),
        torch.nn.ReLU(),
        torch.nn.Linear(4096, 4096),
        torch.nn.ReLU(),
        torch.nn.Linear(4096, 1),
    )
    return Training(layers, torch.nn.functional.binary_cross_entropy_with_logits)


JOBS: Final = (
    Job(
        name="csv",
        training=_csv,
        examples=_lines,
        function=csv_job.parse,
        batch_size=csv_job.BATCH_SIZE,
    ),
    Job(
        name="alexnet",
        training=lambda: Training(AlexNet(2), torch.nn.functional.cross_entropy),
        examples=_images,
        function=alexnet_job.parse,
        batch_size=alexnet_job.BATCH_SIZE,
    ),
    Job(
        name="wav",
        training=lambda: Training(_Sounding(len(wav_job.SOUNDS.bands), 10), torch.nn.functional.cross_entropy),
        examples=_sounds,
        function=_bands,
        batch_size=wav_job.BATCH_SIZE,
    ),
)
