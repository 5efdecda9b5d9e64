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
from importlib import import_module
from typing import Final

import numpy as np

from contest import Batch, Candidate, Epoch, Program
from works.prepared_batches import Array, Prepared, ready, spdl_epoch, tfdata_epoch, torch_epoch, work_of_steps

PREPARE_S: Final = 0.020
STEP_S: Final = 0.010
WORKERS: Final = 2
SHAPE: Final = (128, 1_000)  # of a batch: half a megabyte, as of the features of 128 sounds


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
    return ready(numbers, SHAPE)


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
    return tfdata_epoch(numbers, prepare, SHAPE, WORKERS, prefetched=1)


def torch_2(numbers: range) -> Epoch:
    """DataLoader over a map-style dataset of batches, 2 persistent workers."""
    return torch_epoch(numbers, prepare, WORKERS)


def grain(numbers: range) -> Epoch:
    """MapDataset: source; read by 2 threads."""
    library = import_module("grain")
    dataset = library.MapDataset.source(Prepared(numbers, prepare))
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=WORKERS, prefetch_buffer_size=4))
    return lambda: dataset


def spdl(numbers: range) -> Epoch:
    """Pipeline: a source of numbers, pipe(prepare) in 2 threads; no hooks."""
    return spdl_epoch(numbers, prepare, WORKERS, ahead=8)


def torchdata(numbers: range) -> Epoch:
    """Nodes: IterableWrapper, ParallelMapper with 2 threads, Prefetcher."""
    nodes = import_module("torchdata.nodes")
    mapped = nodes.ParallelMapper(
        nodes.IterableWrapper(numbers), prepare, num_workers=WORKERS, in_order=True, method="thread"
    )
    loader = nodes.Loader(nodes.Prefetcher(mapped, prefetch_factor=2))
    return lambda: loader


WORK: Final = work_of_steps(
    "overlap",
    "batches that take 20 ms each in two workers, for steps of 10 ms; the figures are steps a second",
    shape=SHAPE,
    step=step,
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
