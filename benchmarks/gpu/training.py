"""Trains on one form of a job's input, and tells how busy the GPU was."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from headrace.dashboard.gpus import Gpus

if TYPE_CHECKING:
    from gpu.jobs import Training

__all__ = ["Trained", "moved", "step_s", "trained"]

_LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Trained:
    """What became of a form of the input.

    Attributes:
        steps_per_s: steps a second, of all epochs but the first.
        busy: the part of the time that the GPU would need for these steps, if their batches were there: from 0 to 1.
        shown: what ``nvidia-smi`` showed of it, from 0 to 1; None where its library is not there.
    """

    steps_per_s: float
    busy: float
    shown: float | None


def moved(batches: Iterable[Any]) -> Iterator[Any]:
    """Yields batches on the GPU as the usual loop brings them there: when they are wanted, from pinned memory where they are in it."""
    for inputs, labels in batches:
        yield torch.as_tensor(inputs).cuda(non_blocking=True), torch.as_tensor(labels).cuda(non_blocking=True)


def step_s(training: Training, batch: Any, count: int = 50) -> float:
    """Returns how long a step takes on a batch that is there."""
    for _ in range(count):
        training.begin(*batch)
    torch.cuda.synchronize()
    began_s = time.perf_counter()
    for _ in range(count):
        training.begin(*batch)
    torch.cuda.synchronize()
    return (time.perf_counter() - began_s) / count


def trained(training: Training, epochs: Iterable[Iterable[Any]], one_step_s: float, seconds: float) -> Trained:
    """Trains epoch by epoch for about so long, and an epoch before, which is not counted: processes begin in it, and caches fill.

    Args:
        training: what is trained.
        epochs: the batches of each, on the GPU.
        one_step_s: what a step takes on a batch that is there.
        seconds: how long.
    """
    looks: list[float] = []
    over = threading.Event()
    gpus = Gpus()

    def look() -> None:
        while not over.wait(_LOOK_EVERY_S):
            looks.extend(use for use in gpus()[:1] if use is not None)

    watching = threading.Thread(target=look)
    steps, began_s = 0, 0.0
    for number, batches in enumerate(epochs):
        if number == 1:
            torch.cuda.synchronize()
            began_s = time.perf_counter()
            watching.start()
        for batch in batches:
            training.begin(*batch)
            steps += number > 0
        if number and time.perf_counter() > began_s + seconds:
            break
    torch.cuda.synchronize()
    took_s = time.perf_counter() - began_s
    over.set()
    watching.join()
    return Trained(steps / took_s, steps * one_step_s / took_s, statistics.fmean(looks) if looks else None)
