"""Work *memory*: data that is in memory already.

An array of 1,000,000 rows × 64 float32, shuffled over its whole length, in batches of 256. There is nothing to decode:
what counts is how a library gathers rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError

ALL_ROWS: Final = 1_000_000
FEATURES: Final = 64
BATCH: Final = 256
SEED: Final = 0

Rows: TypeAlias = npt.NDArray[np.float32]


@cache
def _all_rows() -> Rows:
    return np.random.default_rng(SEED).standard_normal((ALL_ROWS, FEATURES), dtype=np.float32)


def _load(folder: Path, examples: int) -> Rows:
    return _all_rows()[:examples]  # also a shorter epoch has the whole array in memory, so that memory compares


def _index_batches(examples: int) -> Iterator[npt.NDArray[np.int64]]:
    """The numbers of all rows, shuffled, a batch at a time."""
    order = np.random.default_rng().permutation(examples)
    for start in range(0, examples, BATCH):
        yield order[start : start + BATCH]


def limit(rows: Rows) -> Epoch:
    """A permutation, and numpy.take for every batch, in one thread."""
    return lambda: (np.take(rows, indices, axis=0) for indices in _index_batches(len(rows)))


def headrace(rows: Rows) -> Epoch:
    """from_tensor_slices, shuffle, batch."""
    hr = import_module("headrace")
    dataset = hr.Dataset.from_tensor_slices(rows).shuffle(len(rows), seed=SEED).batch(BATCH)
    return lambda: dataset


def tfdata(rows: Rows) -> Epoch:
    """from_tensor_slices, shuffle over all rows, batch, prefetch."""
    tf = import_module("tensorflow")
    dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(len(rows), seed=SEED)
    dataset = dataset.batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def tfdata_batched(rows: Rows) -> Epoch:
    """A dataset of row numbers, shuffled and batched; tf.gather for every batch."""
    tf = import_module("tensorflow")
    kept = tf.constant(rows)
    dataset = tf.data.Dataset.range(len(rows)).shuffle(len(rows), seed=SEED).batch(BATCH)
    dataset = dataset.map(lambda indices: tf.gather(kept, indices), num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def _torch_loader(rows: Rows, workers: int) -> Any:
    torch, data = import_module("torch"), import_module("torch.utils.data")
    dataset = data.TensorDataset(torch.from_numpy(rows))
    parallel = {"persistent_workers": True, "prefetch_factor": 8, "multiprocessing_context": "fork"} if workers else {}
    return data.DataLoader(dataset, batch_size=BATCH, shuffle=True, num_workers=workers, **parallel)


def torch_0(rows: Rows) -> Epoch:
    """DataLoader over a TensorDataset, no workers."""
    loader = _torch_loader(rows, 0)
    return lambda: loader


def torch_2(rows: Rows) -> Epoch:
    """DataLoader over a TensorDataset, 2 persistent workers."""
    loader = _torch_loader(rows, 2)
    return lambda: loader


class _TorchIndexBatches:
    """A torch sampler of whole batches as tensors, which index twice as fast as BatchSampler's lists of numbers."""

    def __init__(self, examples: int) -> None:
        self.examples = examples

    def __iter__(self) -> Iterator[Any]:
        return iter(import_module("torch").randperm(self.examples).split(BATCH))


def torch_0_batched(rows: Rows) -> Epoch:
    """A sampler of whole batches and batch_size=None: the tensor is indexed a batch at a time, no workers."""
    torch, data = import_module("torch"), import_module("torch.utils.data")
    dataset = data.TensorDataset(torch.from_numpy(rows))
    loader = data.DataLoader(dataset, sampler=_TorchIndexBatches(len(rows)), batch_size=None)
    return lambda: loader


def grain(rows: Rows) -> Epoch:
    """MapDataset: source, shuffle, batch; num_threads=0, as its documentation advises for data in memory."""
    library = import_module("grain")
    dataset = library.MapDataset.source(rows).shuffle(seed=SEED).batch(BATCH)
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    return lambda: dataset


def grain_batched(rows: Rows) -> Epoch:
    """A dataset of row numbers, shuffled and batched; numpy.take for every batch."""
    library = import_module("grain")
    dataset = library.MapDataset.range(len(rows)).shuffle(seed=SEED).batch(BATCH)
    dataset = dataset.map(lambda indices: np.take(rows, indices, axis=0))
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    return lambda: dataset


def _shuffled(rows: Rows) -> Iterator[npt.NDArray[np.float32]]:
    for index in np.random.default_rng().permutation(len(rows)):
        yield rows[index]


def _spdl_batches(builder: Any) -> Iterator[Batch]:
    pipeline = builder.add_sink(8).build(num_threads=2, task_hook_factory=lambda _: [], use_thread_output_queue=True)
    with pipeline.auto_stop():
        yield from pipeline


def spdl(rows: Rows) -> Epoch:
    """Pipeline: a source of shuffled rows, aggregate, numpy.stack; no hooks."""
    library = import_module("spdl.pipeline")

    def epoch() -> Iterator[Batch]:
        builder = library.PipelineBuilder().add_source(_shuffled(rows))
        return _spdl_batches(builder.aggregate(BATCH).pipe(np.stack))

    return epoch


def spdl_batched(rows: Rows) -> Epoch:
    """Pipeline: a source of batches of shuffled row numbers, numpy.take in 2 threads, no hooks."""
    library = import_module("spdl.pipeline")

    def take(indices: npt.NDArray[np.int64]) -> Rows:
        return np.take(rows, indices, axis=0)

    def epoch() -> Iterator[Batch]:
        builder = library.PipelineBuilder().add_source(_index_batches(len(rows)))
        return _spdl_batches(builder.pipe(take, concurrency=2))

    return epoch


def _random_sampler(rows: Rows) -> Any:
    return import_module("torch.utils.data").RandomSampler(rows)


def torchdata(rows: Rows) -> Epoch:
    """Nodes: SamplerWrapper of a RandomSampler, Mapper, Batcher, Mapper."""
    nodes = import_module("torchdata.nodes")
    mapped = nodes.Mapper(nodes.SamplerWrapper(_random_sampler(rows)), rows.__getitem__)
    loader = nodes.Loader(nodes.Mapper(nodes.Batcher(mapped, BATCH, drop_last=False), np.stack))
    return lambda: loader


def torchdata_batched(rows: Rows) -> Epoch:
    """Nodes: SamplerWrapper of a BatchSampler, Mapper with numpy.take."""
    nodes, data = import_module("torchdata.nodes"), import_module("torch.utils.data")
    sampler = data.BatchSampler(_random_sampler(rows), BATCH, drop_last=False)
    loader = nodes.Loader(nodes.Mapper(nodes.SamplerWrapper(sampler), lambda i: np.take(rows, i, axis=0)))
    return lambda: loader


def _array(batch: Batch) -> Any:
    return batch[0] if isinstance(batch, (tuple, list)) else batch  # TensorDataset's elements are 1-tuples


def _verify_order(rows: Rows, firsts: list[float]) -> None:
    if firsts == rows[::BATCH, 0].tolist():
        raise WrongResultError("the rows were not shuffled")


WORK: Final[Work[Rows]] = Work(
    name="memory",
    title="1,000,000 rows × 64 float32 in memory, shuffled over the whole length, batches of 256",
    full=ALL_ROWS,
    probe=20_000,
    batch_size=BATCH,
    make=lambda folder: None,
    load=_load,
    size=lambda batch: len(_array(batch)),
    first=lambda batch: float(_array(batch)[0, 0]),
    total=lambda batch: float(np.asarray(_array(batch)).sum(dtype=np.float64)),
    expected_total=lambda rows: float(rows.sum(dtype=np.float64)),
    verify_order=_verify_order,
    candidates=(
        Candidate(prepare=limit, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=tfdata_batched, library="tensorflow-cpu", module="tensorflow", program=Program.BATCHES),
        Candidate(prepare=torch_0, library="torch", module="torch"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
        Candidate(prepare=torch_0_batched, library="torch", module="torch", program=Program.BATCHES),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=grain_batched, library="grain", module="grain", program=Program.BATCHES),
        Candidate(prepare=spdl, library="spdl", module="spdl"),
        Candidate(prepare=spdl_batched, library="spdl", module="spdl", program=Program.BATCHES),
        Candidate(prepare=torchdata, library="torchdata", module="torchdata"),
        Candidate(prepare=torchdata_batched, library="torchdata", module="torchdata", program=Program.BATCHES),
    ),
)
