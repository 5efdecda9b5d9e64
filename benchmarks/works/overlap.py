"""Work *overlap*: batches are prepared while the accelerator computes.

A batch takes 20 ms to prepare, and a step 10 ms; two batches may be prepared at once. So a pipeline that never lets anyone
wait needs 10 ms a step, and no pipeline at all needs 30. Its figure is steps a second: an example is one prepared batch.

Both times are waits, as they are where files come from a disk and the step runs on an accelerator: the cores are free, and
what is measured is how a library overlaps, not how many cores there are. The clock starts behind the first two steps of each
epoch, in which the pipeline fills: 20 ms in which no library can help.

(Where preparing holds a core instead, two workers and the loop share two cores, and that is what is measured: the works
*csv* and *jpeg* do so.)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError

PREPARE_S: Final = 0.020
STEP_S: Final = 0.010
WORKERS: Final = 2
SHAPE: Final = (128, 1_000)  # of a batch: half a megabyte, as of the features of 128 sounds

Array: TypeAlias = npt.NDArray[np.float32]


def prepare(number: int) -> Array:
    """One batch, 20 ms after it was begun."""
    deadline_s = time.perf_counter() + PREPARE_S
    batch = np.full(SHAPE, number, np.float32)
    time.sleep(max(0.0, deadline_s - time.perf_counter()))
    return batch


def step(batch: Batch) -> None:
    """One step of a training whose model is elsewhere."""
    time.sleep(STEP_S)


def limit(numbers: range) -> Epoch:
    """The steps alone: every batch lies ready."""
    batches = [np.full(SHAPE, number, np.float32) for number in numbers]
    return lambda: batches


def in_sequence(numbers: range) -> Epoch:
    """No pipeline: a batch is prepared when the step before it has ended."""
    return lambda: map(prepare, numbers)


def headrace(numbers: range) -> Epoch:
    """range, map with 2 parallel calls, prefetch(1)."""
    hr = import_module("headrace")
    dataset = hr.Dataset.range(len(numbers)).map(prepare, num_parallel_calls=WORKERS).prefetch(1)
    return lambda: dataset


def tfdata(numbers: range) -> Epoch:
    """range, map(numpy_function) with 2 parallel calls, prefetch(1)."""
    tf = import_module("tensorflow")

    def prepared(number: Any) -> Any:
        batch = tf.numpy_function(prepare, [number], tf.float32, stateful=False)
        return tf.ensure_shape(batch, SHAPE)

    dataset = tf.data.Dataset.range(len(numbers)).map(prepared, num_parallel_calls=WORKERS).prefetch(1)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


class _Batches:
    """The batches by number: what a library that reads by index needs."""

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Array:
        return prepare(self.numbers[index])


def torch_2(numbers: range) -> Epoch:
    """DataLoader over a map-style dataset of batches, 2 persistent workers."""
    data = import_module("torch.utils.data")
    loader = data.DataLoader(
        _Batches(numbers),
        batch_size=None,
        num_workers=WORKERS,
        persistent_workers=True,
        prefetch_factor=4,
        multiprocessing_context="fork",
    )
    return lambda: loader


def grain(numbers: range) -> Epoch:
    """MapDataset: source; read by 2 threads."""
    library = import_module("grain")
    dataset = library.MapDataset.source(_Batches(numbers))
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=WORKERS, prefetch_buffer_size=4))
    return lambda: dataset


def spdl(numbers: range) -> Epoch:
    """Pipeline: a source of numbers, pipe(prepare) in 2 threads; no hooks."""
    library = import_module("spdl.pipeline")

    def epoch() -> Iterator[Batch]:
        builder = library.PipelineBuilder().add_source(numbers)
        builder = builder.pipe(prepare, concurrency=WORKERS, output_order="input").add_sink(8)
        pipeline = builder.build(num_threads=WORKERS, task_hook_factory=lambda _: [], use_thread_output_queue=True)
        with pipeline.auto_stop():
            yield from pipeline

    return epoch


def torchdata(numbers: range) -> Epoch:
    """Nodes: IterableWrapper, ParallelMapper with 2 threads, Prefetcher."""
    nodes = import_module("torchdata.nodes")
    mapped = nodes.ParallelMapper(
        nodes.IterableWrapper(numbers), prepare, num_workers=WORKERS, in_order=True, method="thread"
    )
    loader = nodes.Loader(nodes.Prefetcher(mapped, prefetch_factor=2))
    return lambda: loader


def _verify_order(numbers: range, firsts: list[float]) -> None:
    if firsts != list(numbers):
        raise WrongResultError("the batches are not in order")


WORK: Final[Work[range]] = Work(
    name="overlap",
    title="batches that take 20 ms each in two workers, for steps of 10 ms; the figures are steps a second",
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
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=spdl, library="spdl", module="spdl"),
        Candidate(prepare=torchdata, library="torchdata", module="torchdata"),
    ),
)
