"""Work *trainer*: what a pipeline costs the training loop whose process it runs in.

A step is 10 ms of many short Python calls, as the launches of small kernels are, and a batch takes 5 ms of a Python function. Threads of
the loop's own process share Python's lock with it, so each batch takes from the step what it takes itself. The limit is the same steps on
batches that lie ready: what is missing to it is what feeding the loop takes from it. Its figure is steps a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

import numpy as np

from contest import Batch, Candidate, Epoch, Program
from works.prepared_batches import Array, ready, spdl_epoch, tfdata_epoch, torch_epoch, work_of_steps

SHAPE: Final = (64, 256)
CALLS: Final = 340_000  # of a step; of a batch half as many


def _calls(count: int) -> int:
    """Python at work: nothing that lets another thread in but the interpreter itself."""
    total = 0
    for number in range(count):
        total += number.bit_length()
    return total


def prepare(number: int) -> Array:
    """One batch, of a function that is Python alone."""
    _calls(CALLS // 2)
    return np.full(SHAPE, number, np.float32)


def step(batch: Batch) -> None:
    """One step, of many short calls."""
    _calls(CALLS)


def limit(numbers: range) -> Epoch:
    """The steps alone: every batch lies ready."""
    return ready(numbers, SHAPE)


def in_sequence(numbers: range) -> Epoch:
    """No pipeline: a batch is prepared when the step before it has ended."""
    return lambda: map(prepare, numbers)


def headrace(numbers: range) -> Epoch:
    """range, map, prefetch(2), in threads."""
    hr = import_module("headrace")
    dataset = hr.Dataset.range(len(numbers)).map(prepare).prefetch(2)
    return lambda: dataset


def headrace_subprocess(numbers: range) -> Epoch:
    """The same with Options(executor="subprocess")."""
    hr = import_module("headrace")
    dataset = hr.Dataset.range(len(numbers)).map(prepare).prefetch(2)
    return lambda: dataset.with_options(hr.Options(executor="subprocess"))


def tfdata(numbers: range) -> Epoch:
    """range, map(numpy_function), prefetch(2)."""
    return tfdata_epoch(numbers, prepare, SHAPE, None, prefetched=2)


def torch_1(numbers: range) -> Epoch:
    """DataLoader over a map-style dataset of batches, 1 persistent worker."""
    return torch_epoch(numbers, prepare, 1)


def spdl(numbers: range) -> Epoch:
    """Pipeline: a source of numbers, pipe(prepare) in a thread; no hooks."""
    return spdl_epoch(numbers, prepare, 1, ahead=2)


WORK: Final = work_of_steps(
    "trainer",
    "batches that take 5 ms of Python each, for steps that are 10 ms of Python themselves; the figures are steps a second",
    shape=SHAPE,
    step=step,
    candidates=(
        Candidate(prepare=limit, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=in_sequence, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=headrace_subprocess, library="headrace", module="headrace"),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=torch_1, library="torch", module="torch"),
        Candidate(prepare=spdl, library="spdl", module="spdl"),
    ),
)
