"""Each peer's pipeline from files to batches: a list of paths, a function that loads one, batches of a size, in order.

What is here belongs to *jpeg*, *augmented* and *wav* alike. A peer is given the kernel of the limit as its function, where it has none
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch

Array: TypeAlias = npt.NDArray[Any]
Load: TypeAlias = Callable[[str], Array]


class Loaded:
    """The files by number: what a library that reads by index needs."""

    def __init__(self, paths: Sequence[str], load: Load) -> None:
        self.paths = paths
        self.load = load

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Array:
        return self.load(self.paths[index])


def bare(paths: Sequence[str], load: Load, threads: int) -> Epoch:
    """The kernel for one file after another, in so many threads, without batches of more than one."""

    def loaded(part: Sequence[str]) -> list[Array]:
        return [load(path)[np.newaxis] for path in part]

    def epoch() -> Iterator[Batch]:
        # Each thread has every n-th file, in a handful of tasks: a hand-off for each file would be part of the limit.
        parts = [paths[start::threads] for start in range(threads)]
        tasks = [part[at : at + 64] for at in range(0, len(parts[0]), 64) for part in parts]
        with ThreadPoolExecutor(threads) as pool:
            for several in pool.map(loaded, tasks):
                yield from several

    return epoch


def headrace_epoch(paths: Sequence[str], load: Load, batch: int, executor: str = "thread") -> Epoch:
    """from_tensor_slices, map, batch, prefetch, all AUTOTUNE."""
    hr = import_module("headrace")
    dataset = hr.Dataset.from_tensor_slices(list(paths)).map(load, num_parallel_calls=hr.AUTOTUNE)
    dataset = dataset.batch(batch).prefetch(hr.AUTOTUNE).with_options(hr.Options(executor=executor))
    return lambda: dataset


def tfdata_epoch(paths: Sequence[str], load: Callable[[Any], Any], batch: int) -> Epoch:
    """from_tensor_slices, map, batch, prefetch, all AUTOTUNE."""
    tf = import_module("tensorflow")
    dataset = tf.data.Dataset.from_tensor_slices(list(paths)).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(batch, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def torch_epoch(paths: Sequence[str], load: Load, batch: int, workers: int) -> Epoch:
    """DataLoader over a map-style dataset; workers persist."""
    data = import_module("torch.utils.data")
    parallel = {"persistent_workers": True, "prefetch_factor": 4, "multiprocessing_context": "fork"} if workers else {}
    loader = data.DataLoader(Loaded(paths, load), batch_size=batch, num_workers=workers, **parallel)
    return lambda: loader


def grain_epoch(paths: Sequence[str], load: Load, batch: int) -> Epoch:
    """MapDataset: source, batch; read by 2 threads."""
    library = import_module("grain")
    dataset = library.MapDataset.source(Loaded(paths, load)).batch(batch)
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=2, prefetch_buffer_size=4))
    return lambda: dataset


def spdl_epoch(paths: Sequence[str], load: Load, batch: int) -> Epoch:
    """Pipeline: a source of paths, pipe(load) in 2 threads, aggregate, pipe(stack); no hooks."""
    library = import_module("spdl.pipeline")

    def epoch() -> Iterator[Batch]:
        builder = library.PipelineBuilder().add_source(paths)
        builder = builder.pipe(load, concurrency=2, output_order="input").aggregate(batch).pipe(np.stack).add_sink(8)
        pipeline = builder.build(num_threads=2, task_hook_factory=lambda _: [], use_thread_output_queue=True)
        with pipeline.auto_stop():
            yield from pipeline

    return epoch


def torchdata_epoch(paths: Sequence[str], load: Load, batch: int) -> Epoch:
    """Nodes: IterableWrapper, ParallelMapper with 2 threads, Batcher, Mapper, Prefetcher."""
    nodes = import_module("torchdata.nodes")
    loaded = nodes.ParallelMapper(nodes.IterableWrapper(paths), load, num_workers=2, in_order=True, method="thread")
    batched = nodes.Mapper(nodes.Batcher(loaded, batch, drop_last=False), np.stack)
    loader = nodes.Loader(nodes.Prefetcher(batched, prefetch_factor=4))
    return lambda: loader


def peers_given(load: Load, batch: int) -> tuple[Candidate[list[str]], ...]:
    """The peers without decoders of their own, each with this function, for a work whose data are paths."""

    def torch_0(paths: list[str]) -> Epoch:
        """DataLoader over a map-style dataset, no workers."""
        return torch_epoch(paths, load, batch, workers=0)

    def torch_2(paths: list[str]) -> Epoch:
        """DataLoader over a map-style dataset, 2 persistent workers."""
        return torch_epoch(paths, load, batch, workers=2)

    def grain(paths: list[str]) -> Epoch:
        """MapDataset: source, batch; read by 2 threads."""
        return grain_epoch(paths, load, batch)

    def spdl(paths: list[str]) -> Epoch:
        """Pipeline: a source of paths, pipe(load) in 2 threads, aggregate, pipe(stack); no hooks."""
        return spdl_epoch(paths, load, batch)

    def torchdata(paths: list[str]) -> Epoch:
        """Nodes: IterableWrapper, ParallelMapper with 2 threads, Batcher, Mapper, Prefetcher."""
        return torchdata_epoch(paths, load, batch)

    return (
        Candidate(prepare=torch_0, library="torch", module="torch"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=spdl, library="spdl", module="spdl"),
        Candidate(prepare=torchdata, library="torchdata", module="torchdata"),
    )
