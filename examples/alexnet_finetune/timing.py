"""How long a batch takes with the sequential and with the parallel pipeline: the same batches, in the same order.

A step begins when a batch is asked for and ends when it has been used: at once where only the loading is timed, and
behind the training step where there is one. Every file is read once before the clock runs, so that both ways find the
files in memory, and not only the second.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import headrace as hr
from examples.alexnet_finetune.data_generator import ImageDataGenerator
from headrace.clock import MONOTONIC, Clock

__all__ = ["Comparison", "TimedRun", "read_once", "time_loading", "time_training"]

WAYS = ("sequential", "parallel")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """The first steps of one way.

    Attributes:
        way: ``"sequential"`` or ``"parallel"``.
        steps_s: what each step took, in seconds.
        waiting: the share of the time that the loop waited for its batches, 0 to 1, as ``stats()`` has it.
        losses: that of each step; empty where nothing was trained.
    """

    way: str
    steps_s: tuple[float, ...]
    waiting: float
    losses: tuple[float, ...] = ()

    @property
    def whole_s(self) -> float:
        """What all steps took."""
        return sum(self.steps_s)

    @property
    def median_ms(self) -> float:
        """What a step took, in milliseconds."""
        return float(np.median(self.steps_s)) * 1e3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Both ways on one task.

    Attributes:
        task: what was timed, in a few words.
        batch_size: images in a batch.
        runs: sequential, then parallel.
    """

    task: str
    batch_size: int
    runs: tuple[TimedRun, TimedRun]

    @property
    def ratio(self) -> float:
        """How many times as fast the parallel way was."""
        sequential, parallel = self.runs
        return sequential.whole_s / parallel.whole_s

    @property
    def same_losses(self) -> bool:
        """Whether both ways trained to the very same losses, to the last bit."""
        sequential, parallel = self.runs
        return sequential.losses == parallel.losses != ()


def time_loading(
    sequential: ImageDataGenerator, parallel: ImageDataGenerator, steps: int, clock: Clock = MONOTONIC
) -> Comparison:
    """Times the loading alone: the pace that an accelerator of any speed could have.

    Args:
        sequential: the one way.
        parallel: the other, of the same images.
        steps: how many batches.
        clock: tells the time.

    Raises:
        HeadraceError: an image cannot be read.
    """
    runs = [_timed(way, iter(generator.data()), steps, None, clock) for way, generator in _named(sequential, parallel)]
    return Comparison(task="loading alone", batch_size=sequential.batch_size, runs=(runs[0], runs[1]))


def time_training(
    sequential: ImageDataGenerator,
    parallel: ImageDataGenerator,
    steps: int,
    make_trainer: Callable[[], Any],
    device: str,
    task: str,
    clock: Clock = MONOTONIC,
) -> Comparison:
    """Times loading and training, each way with a new network of the same weights.

    Args:
        sequential: the one way.
        parallel: the other, of the same images.
        steps: how many batches.
        make_trainer: makes what is trained.
        device: where it is trained.
        task: how the comparison is called.
        clock: tells the time.

    Raises:
        HeadraceError: an image cannot be read.
    """
    runs = []
    for way, generator in _named(sequential, parallel):
        trainer = make_trainer()
        _warm_up(trainer, generator)

        def use(images: Any, labels: Any, trainer: Any = trainer) -> float:
            return float(trainer.train_step(images, labels)["loss"])  # waits for the device

        runs.append(_timed(way, iter(generator.data().to_torch(device)), steps, use, clock))
    return Comparison(task=task, batch_size=sequential.batch_size, runs=(runs[0], runs[1]))


def _named(sequential: ImageDataGenerator, parallel: ImageDataGenerator) -> list[tuple[str, ImageDataGenerator]]:
    return list(zip(WAYS, (sequential, parallel), strict=True))


def _timed(way: str, batches: Any, steps: int, use: Callable[[Any, Any], float] | None, clock: Clock) -> TimedRun:
    steps_s, losses = [], []
    with batches:
        for _ in range(steps):
            start_s = clock.now_s()
            images, labels = next(batches)
            if use is not None:
                losses.append(use(images, labels))
            steps_s.append(clock.now_s() - start_s)
        waiting = batches.stats().wait_share
    return TimedRun(way=way, steps_s=tuple(steps_s), waiting=waiting, losses=tuple(losses))


def _warm_up(trainer: Any, generator: ImageDataGenerator) -> None:
    """One step on zeros: libraries set themselves up in their first, and it is the same for both ways."""
    import torch

    images = torch.zeros(generator.batch_size, *generator.image_shape)
    trainer.train_step(images, torch.zeros(generator.batch_size, generator.num_classes))


def read_once(generator: ImageDataGenerator, steps: int) -> None:
    """Reads the files of the first steps, so that the system has them in memory."""
    images = generator.batch_size * steps
    for path in {path for path, _ in generator.names().take(images)}:
        hr.io.read_file(path)
