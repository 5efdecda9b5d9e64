"""Work *trainer*: what a pipeline costs the training loop whose process it runs in.

A step is 10 ms of many short Python calls, as the launches of small kernels are, and a batch takes 5 ms of a Python function. Threads of
the loop's own process share Python's lock with it, so each batch takes from the step what it takes itself. The limit is the same steps on
batches that lie ready: what is missing to it is what feeding the loop takes from it. Its figure is steps a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError

SHAPE: Final = (64, 256)
CALLS: Final = 340_000  # of a step; of a batch half as many

Array: TypeAlias = npt.NDArray[np.float32]


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
    batches = [np.full(SHAPE, number, np.float32) for number in numbers]
    return lambda: batches


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
    tf = import_module("tensorflow")

    def prepared(number: Any) -> Any:
        batch = tf.numpy_function(prepare, [number], tf.float32, stateful=False)
        return tf.ensure_shape(batch, SHAPE)

    dataset = tf.data.Dataset.range(len(numbers)).map(prepared).prefetch(2)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


class _Batches:
    """The batches by number: what a library that reads by index needs."""

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Array:
        return prepare(self.numbers[index])


def torch_1(numbers: range) -> Epoch:
    """DataLoader over a map-style dataset of batches, 1 persistent worker."""
    data = import_module("torch.utils.data")
    loader = data.DataLoader(
        _Batches(numbers),
        batch_size=None,
        num_workers=1,
        persistent_workers=True,
        prefetch_factor=4,
        multiprocessing_context="fork",
    )
    return lambda: loader


def spdl(numbers: range) -> Epoch:
    """Pipeline: a source of numbers, pipe(prepare) in a thread; no hooks."""
    library = import_module("spdl.pipeline")

    def epoch() -> Iterator[Batch]:
        builder = library.PipelineBuilder().add_source(numbers)
        builder = builder.pipe(prepare, concurrency=1, output_order="input").add_sink(2)
        pipeline = builder.build(num_threads=1, task_hook_factory=lambda _: [], use_thread_output_queue=True)
        with pipeline.auto_stop():
            yield from pipeline

    return epoch


def _verify_order(numbers: range, firsts: list[float]) -> None:
    if firsts != list(numbers):
        raise WrongResultError("the batches are not in order")


WORK: Final[Work[range]] = Work(
    name="trainer",
    title="batches that take 5 ms of Python each, for steps that are 10 ms of Python themselves; the figures are steps a second",
    full=150,
    probe=20,
    batch_size=1,
    make=lambda folder: None,
    load=lambda folder, examples: range(examples),
    size=lambda batch: 1,
    first=lambda batch: float(batch[0, 0]),
    total=lambda batch: float(np.asarray(batch).sum(dtype=np.float64)),
    expected_total=lambda numbers: sum(numbers) * float(np.prod(SHAPE)),
    verify_order=_verify_order,
    step=step,
    filling=2,
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
