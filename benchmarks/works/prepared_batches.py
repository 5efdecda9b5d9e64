"""Each peer's pipeline from numbers to batches: a range, and a function that prepares the batch of a number.

What is here belongs to *overlap* and *trainer* alike, whose figures are steps a second of a loop that takes such batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Work, WrongResultError

Array: TypeAlias = npt.NDArray[np.float32]
Prepare: TypeAlias = Callable[[int], Array]


class Prepared:
    """The batches by number: what a library that reads by index needs."""

    def __init__(self, numbers: range, prepare: Prepare) -> None:
        self.numbers = numbers
        self.prepare = prepare

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Array:
        return self.prepare(self.numbers[index])


def ready(numbers: range, shape: tuple[int, int]) -> Epoch:
    """The batches, which lie there."""
    batches = [np.full(shape, number, np.float32) for number in numbers]
    return lambda: batches


def tfdata_epoch(
    numbers: range, prepare: Prepare, shape: tuple[int, int], calls: int | None, *, prefetched: int
) -> Epoch:
    """range, map(numpy_function), prefetch."""
    tf = import_module("tensorflow")

    def prepared(number: Any) -> Any:
        batch = tf.numpy_function(prepare, [number], tf.float32, stateful=False)
        return tf.ensure_shape(batch, shape)

    dataset = tf.data.Dataset.range(len(numbers)).map(prepared, num_parallel_calls=calls).prefetch(prefetched)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def torch_epoch(numbers: range, prepare: Prepare, workers: int) -> Epoch:
    """DataLoader over a map-style dataset of batches, persistent workers."""
    data = import_module("torch.utils.data")
    loader = data.DataLoader(
        Prepared(numbers, prepare),
        batch_size=None,
        num_workers=workers,
        persistent_workers=True,
        prefetch_factor=4,
        multiprocessing_context="fork",
    )
    return lambda: loader


def spdl_epoch(numbers: range, prepare: Prepare, threads: int, *, ahead: int) -> Epoch:
    """Pipeline: a source of numbers, pipe(prepare); no hooks."""
    library = import_module("spdl.pipeline")

    def epoch() -> Iterator[Batch]:
        builder = library.PipelineBuilder().add_source(numbers)
        builder = builder.pipe(prepare, concurrency=threads, output_order="input").add_sink(ahead)
        pipeline = builder.build(num_threads=threads, task_hook_factory=lambda _: [], use_thread_output_queue=True)
        with pipeline.auto_stop():
            yield from pipeline

    return epoch


def work_of_steps(
    name: str,
    title: str,
    *,
    shape: tuple[int, int],
    step: Callable[[Batch], None],
    candidates: tuple[Candidate[range], ...],
) -> Work[range]:
    """A work whose example is one prepared batch, taken by a step. Its clock starts behind the first two, in which a pipeline fills."""
    return Work(
        name=name,
        title=title,
        full=150,
        probe=20,
        batch_size=1,
        make=lambda folder: None,
        load=lambda folder, examples: range(examples),
        size=lambda batch: 1,
        first=lambda batch: float(batch[0, 0]),
        total=lambda batch: float(np.asarray(batch).sum(dtype=np.float64)),
        expected_total=lambda numbers: sum(numbers) * float(np.prod(shape)),
        verify_order=_verify_order,
        step=step,
        filling=2,
        candidates=candidates,
    )


def _verify_order(numbers: range, firsts: list[float]) -> None:
    if firsts != list(numbers):
        raise WrongResultError("the batches are not in order")
