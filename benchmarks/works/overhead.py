"""Work *overhead*: what a library costs where there is nothing to do.

`range(10**6)`, a Python function `x + 1` called for every number, batches of 128 in order. Real work takes longer than
this; whatever is lost here is lost on each of its elements, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

import numpy as np

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError

BATCH: Final = 128


def increment(x: Any) -> Any:
    """The function of every candidate; at the top of a file, so that it can be sent to another process."""
    return x + 1


def limit(numbers: range) -> Epoch:
    """One list comprehension over all numbers: no batches, no pipeline."""
    return lambda: [[increment(x) for x in numbers]]


def headrace(numbers: range) -> Epoch:
    """range, map, batch."""
    hr = import_module("headrace")
    dataset = hr.Dataset.range(len(numbers)).map(lambda x: x + 1).batch(BATCH)
    return lambda: dataset


def headrace_process(numbers: range) -> Epoch:
    """range, map(executor="process") with 2 parallel calls, batch."""
    hr = import_module("headrace")
    dataset = hr.Dataset.range(len(numbers)).map(increment, num_parallel_calls=2, executor="process").batch(BATCH)
    return lambda: dataset


def headrace_subprocess(numbers: range) -> Epoch:
    """range, map, batch, with Options(executor="subprocess"): 1 process."""
    hr = import_module("headrace")
    dataset = hr.Dataset.range(len(numbers)).map(increment).batch(BATCH)
    return lambda: dataset.with_options(hr.Options(executor="subprocess"))


def tfdata(numbers: range) -> Epoch:
    """range, map, batch, prefetch; the function is traced into a TensorFlow graph."""
    tf = import_module("tensorflow")
    # Without num_parallel_calls: handing so small a function to other threads costs more than it does.
    dataset = tf.data.Dataset.range(len(numbers)).map(lambda x: x + 1).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def tfdata_parallel(numbers: range) -> Epoch:
    """range, map, batch, prefetch, all AUTOTUNE."""
    tf = import_module("tensorflow")
    dataset = tf.data.Dataset.range(len(numbers)).map(lambda x: x + 1, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def _torch_loader(numbers: range, workers: int) -> Any:
    data = import_module("torch.utils.data")

    class Incremented(data.IterableDataset):  # type: ignore[name-defined, misc]  # torch is imported by name
        def __iter__(self) -> Iterator[int]:
            worker = data.get_worker_info()
            if worker is None:
                return map(increment, numbers)
            return map(increment, self.mine(worker.id, worker.num_workers))

        @staticmethod
        def mine(worker: int, workers: int) -> Iterable[int]:
            """Every n-th batch: torch asks its workers in turn, so the batches come out in order."""
            for start in range(worker * BATCH, len(numbers), workers * BATCH):
                yield from numbers[start : start + BATCH]

    parallel = {"persistent_workers": True, "prefetch_factor": 8, "multiprocessing_context": "fork"} if workers else {}
    return data.DataLoader(Incremented(), batch_size=BATCH, num_workers=workers, **parallel)


def torch_0(numbers: range) -> Epoch:
    """DataLoader over an IterableDataset, no workers."""
    loader = _torch_loader(numbers, 0)
    return lambda: loader


def torch_2(numbers: range) -> Epoch:
    """DataLoader over an IterableDataset, 2 persistent workers that take batches in turn."""
    loader = _torch_loader(numbers, 2)
    return lambda: loader


class _Fetched:
    """A torch dataset that computes a whole batch at once."""

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [increment(self.numbers[i]) for i in indices]


def torch_0_batched(numbers: range) -> Epoch:
    """DataLoader over a dataset with __getitems__ and a collate_fn of its own, no workers."""
    loader = import_module("torch.utils.data").DataLoader(_Fetched(numbers), batch_size=BATCH, collate_fn=np.array)
    return lambda: loader


def grain(numbers: range) -> Epoch:
    """MapDataset: range, map, batch; num_threads=0, as its documentation advises for data in memory."""
    library = import_module("grain")
    dataset = library.MapDataset.range(len(numbers)).map(increment).batch(BATCH)
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    return lambda: dataset


def spdl(numbers: range) -> Epoch:
    """Pipeline: a source that calls the function, aggregate, numpy.array; no hooks."""
    library = import_module("spdl.pipeline")

    def epoch() -> Iterator[Batch]:
        # The function in the source, as a `pipe` of its own costs five times as much.
        builder = library.PipelineBuilder().add_source(map(increment, numbers)).aggregate(BATCH).pipe(np.array)
        pipeline = builder.add_sink(8).build(
            num_threads=2, task_hook_factory=lambda _: [], use_thread_output_queue=True
        )
        with pipeline.auto_stop():
            yield from pipeline

    return epoch


def torchdata(numbers: range) -> Epoch:
    """Nodes: IterableWrapper, Mapper, Batcher, Mapper."""
    nodes = import_module("torchdata.nodes")
    mapped = nodes.Mapper(nodes.IterableWrapper(numbers), increment)
    batched = nodes.Mapper(nodes.Batcher(mapped, BATCH, drop_last=False), np.array)
    loader = nodes.Loader(batched)
    return lambda: loader


def _verify_order(numbers: range, firsts: list[float]) -> None:
    if firsts != [start + 1 for start in range(0, len(numbers), BATCH)]:
        raise WrongResultError("the batches are not in order")


WORK: Final[Work[range]] = Work(
    name="overhead",
    title="range(10⁶), a Python function x + 1 for each number, batches of 128",
    full=1_000_000,
    probe=5_000,
    batch_size=BATCH,
    make=lambda folder: None,
    load=lambda folder, examples: range(examples),
    size=len,
    first=lambda batch: float(batch[0]),
    total=lambda batch: float(np.asarray(batch).sum()),
    expected_total=lambda numbers: len(numbers) * (len(numbers) + 1) / 2,
    verify_order=_verify_order,
    candidates=(
        Candidate(prepare=limit, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=headrace_process, library="headrace", module="headrace"),
        Candidate(prepare=headrace_subprocess, library="headrace", module="headrace"),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=tfdata_parallel, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=torch_0, library="torch", module="torch"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
        Candidate(prepare=torch_0_batched, library="torch", module="torch", program=Program.BATCHES),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=spdl, library="spdl", module="spdl"),
        Candidate(prepare=torchdata, library="torchdata", module="torchdata"),
    ),
)
