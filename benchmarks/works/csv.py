"""Work *csv*: text files become batches of numbers.

20 files × 100 rows × 1,025 numbers (1,024 features and a label), all 2,000 rows shuffled, batches of 23: features
(23, 1024) and labels (23, 1), both float32. Every epoch reads and parses the files anew.

The peers without a CSV reader of their own are given the limit's kernel (pyarrow's split and cast), because it was the
fastest that runs outside Python's lock, and a slow parser would say nothing about them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError
from works.csv_files import (
    ALL_ROWS,
    COLUMNS,
    SEED,
    CsvFiles,
    Lines,
    Pair,
    Table,
    load,
    make,
    parse_pair,
    parse_pairs,
    stack,
)

BATCH: Final = 23


# --- the limit -----------------------------------------------------------------------------------------------------


def _parse_file(path: str) -> Pair:
    return parse_pairs(Path(path).read_bytes().splitlines())


def limit(files: CsvFiles) -> Epoch:
    """pyarrow's split and cast over whole files, in two threads."""

    def epoch() -> Iterator[Batch]:
        with ThreadPoolExecutor(2) as pool:
            yield from pool.map(_parse_file, files.paths)

    return epoch


def limit_one_core(files: CsvFiles) -> Epoch:
    """pyarrow's split and cast over whole files, in one thread."""
    return lambda: map(_parse_file, files.paths)


# --- headrace ------------------------------------------------------------------------------------------------------


def headrace(files: CsvFiles) -> Epoch:
    """CsvDataset for every file, interleaved; shuffle, batch, map, prefetch."""
    hr = import_module("headrace")
    dataset = hr.Dataset.list_files(files.pattern, shuffle=False).interleave(
        lambda path: hr.CsvDataset(path, _components()), cycle_length=4, num_parallel_calls=hr.AUTOTUNE
    )
    dataset = dataset.shuffle(ALL_ROWS, seed=SEED).batch(BATCH).map(_with_axis).prefetch(hr.AUTOTUNE)
    return lambda: dataset


def headrace_lines(files: CsvFiles) -> Epoch:
    """TextLineDataset, shuffle, batch, decode_csv for every batch, prefetch."""
    hr = import_module("headrace")
    dataset = hr.TextLineDataset(files.paths).shuffle(ALL_ROWS, seed=SEED).batch(BATCH)
    decoded = dataset.map(
        lambda lines: _with_axis(*hr.io.decode_csv(lines, _components())), num_parallel_calls=hr.AUTOTUNE
    ).prefetch(hr.AUTOTUNE)
    return lambda: decoded


def _components() -> list[Any]:
    """All columns but the last as one array, and the last one."""
    return [np.zeros(COLUMNS - 1, np.float32), 0.0]


def _with_axis(features: Table, labels: Table) -> Pair:
    return features, labels[:, np.newaxis]


# --- tf.data -------------------------------------------------------------------------------------------------------


def _tf_lines(tf: Any, files: CsvFiles) -> Any:
    """The lines of all files, read in parallel and shuffled."""
    lines = tf.data.Dataset.from_tensor_slices(files.paths).interleave(
        tf.data.TextLineDataset, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False
    )
    return lines.shuffle(ALL_ROWS, seed=SEED)


def _tf_epoch(tf: Any, dataset: Any) -> Epoch:
    options = tf.data.Options()
    options.deterministic = False  # the order is random in any case
    prefetched = dataset.prefetch(tf.data.AUTOTUNE).with_options(options)
    return prefetched.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def tfdata(files: CsvFiles) -> Epoch:
    """TextLineDataset for every file, interleaved; shuffle, map(decode_csv), batch, prefetch, all AUTOTUNE."""
    tf = import_module("tensorflow")

    def decode(line: Any) -> Any:
        columns = tf.io.decode_csv(line, [0.0] * COLUMNS)
        return tf.stack(columns[:-1]), columns[-1:]

    dataset = _tf_lines(tf, files).map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    return _tf_epoch(tf, dataset.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE))


def tfdata_batched(files: CsvFiles) -> Epoch:
    """TextLineDataset for every file, interleaved; shuffle, batch, map(decode_csv) for every batch, prefetch."""
    tf = import_module("tensorflow")

    def decode(lines: Any) -> Any:
        columns = tf.io.decode_csv(lines, [0.0] * COLUMNS)
        return tf.stack(columns[:-1], axis=1), columns[-1][:, tf.newaxis]

    dataset = _tf_lines(tf, files).batch(BATCH).map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    return _tf_epoch(tf, dataset)


def tfdata_split(files: CsvFiles) -> Epoch:
    """TextLineDataset for every file, interleaved; shuffle, batch, tf.strings.split and to_number, prefetch."""
    tf = import_module("tensorflow")

    def decode(lines: Any) -> Any:
        values = tf.strings.to_number(tf.strings.split(lines, ",").flat_values)
        values = tf.reshape(values, [-1, COLUMNS])
        return values[:, :-1], values[:, -1:]

    dataset = _tf_lines(tf, files).batch(BATCH).map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    return _tf_epoch(tf, dataset)


# --- torch ---------------------------------------------------------------------------------------------------------


class _ByRow:
    """A torch dataset that parses one row."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> Pair:
        return parse_pair(self.lines[index])


class _ByBatch(_ByRow):
    """A torch dataset that parses all rows of a batch at once."""

    def __getitems__(self, indices: list[int]) -> Pair:
        return parse_pairs([self.lines[index] for index in indices])


def _to_torch(pair: Pair) -> Any:
    torch = import_module("torch")
    return tuple(torch.from_numpy(np.ascontiguousarray(part)) for part in pair)


def _torch_epoch(dataset: _ByRow, workers: int, collate: Callable[[Any], Any] | None = None) -> Epoch:
    data = import_module("torch.utils.data")
    parallel = {"persistent_workers": True, "prefetch_factor": 8, "multiprocessing_context": "fork"} if workers else {}
    loader = data.DataLoader(
        dataset, batch_size=BATCH, shuffle=True, num_workers=workers, collate_fn=collate, **parallel
    )
    return lambda: loader


def torch_0(files: CsvFiles) -> Epoch:
    """DataLoader over a map-style dataset that parses a row, no workers."""
    return _torch_epoch(_ByRow(Lines(files.paths)), workers=0)


def torch_2(files: CsvFiles) -> Epoch:
    """DataLoader over a map-style dataset that parses a row, 2 persistent workers."""
    return _torch_epoch(_ByRow(Lines(files.paths)), workers=2)


def torch_0_batched(files: CsvFiles) -> Epoch:
    """DataLoader over a dataset whose __getitems__ parses a batch, no workers."""
    return _torch_epoch(_ByBatch(Lines(files.paths)), workers=0, collate=_to_torch)


def torch_2_batched(files: CsvFiles) -> Epoch:
    """DataLoader over a dataset whose __getitems__ parses a batch, 2 persistent workers."""
    return _torch_epoch(_ByBatch(Lines(files.paths)), workers=2, collate=_to_torch)


# --- Grain ---------------------------------------------------------------------------------------------------------


def grain(files: CsvFiles) -> Epoch:
    """MapDataset: source, shuffle, map, batch; read by 2 threads."""
    library = import_module("grain")
    dataset = library.MapDataset.source(Lines(files.paths)).shuffle(seed=SEED).map(parse_pair).batch(BATCH)
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=2, prefetch_buffer_size=8))
    return lambda: dataset


def grain_batched(files: CsvFiles) -> Epoch:
    """MapDataset: source, shuffle, batch with a batch_fn that parses; read by 2 threads."""
    library = import_module("grain")
    dataset = library.MapDataset.source(Lines(files.paths)).shuffle(seed=SEED).batch(BATCH, batch_fn=parse_pairs)
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=2, prefetch_buffer_size=8))
    return lambda: dataset


# --- SPDL ----------------------------------------------------------------------------------------------------------


class _ShuffledLines:
    """The source of an SPDL pipeline: all lines in a new random order each time."""

    def __init__(self, lines: Lines, batch: int | None = None) -> None:
        self.lines = lines
        self.batch = batch

    def __iter__(self) -> Iterator[Any]:
        order = np.random.default_rng().permutation(len(self.lines)).tolist()
        if self.batch is None:
            yield from map(self.lines.__getitem__, order)
        else:
            for start in range(0, len(order), self.batch):
                yield [self.lines[index] for index in order[start : start + self.batch]]


def _spdl_epoch(builder: Any) -> Epoch:
    ended = builder.add_sink(8)

    def epoch() -> Iterator[Batch]:
        pipeline = ended.build(num_threads=2, task_hook_factory=lambda _: [], use_thread_output_queue=True)
        with pipeline.auto_stop():
            yield from pipeline

    return epoch


def spdl(files: CsvFiles) -> Epoch:
    """Pipeline: pipe(parse), aggregate, pipe(stack); 2 threads, no hooks."""
    builder = import_module("spdl.pipeline").PipelineBuilder().add_source(_ShuffledLines(Lines(files.paths)))
    return _spdl_epoch(builder.pipe(parse_pair, concurrency=2).aggregate(BATCH).pipe(stack))


def spdl_batched(files: CsvFiles) -> Epoch:
    """Pipeline: a source of batches of lines, pipe(parse) in 2 threads, no hooks."""
    builder = import_module("spdl.pipeline").PipelineBuilder().add_source(_ShuffledLines(Lines(files.paths), BATCH))
    return _spdl_epoch(builder.pipe(parse_pairs, concurrency=2))


# --- torchdata -----------------------------------------------------------------------------------------------------


def torchdata(files: CsvFiles) -> Epoch:
    """Nodes: SamplerWrapper of a RandomSampler, Mapper, Batcher, Mapper, Prefetcher."""
    nodes, data = import_module("torchdata.nodes"), import_module("torch.utils.data")
    lines = Lines(files.paths)
    # Mapper rather than ParallelMapper: for one row at a time, its queues cost more than a second thread brings.
    parsed = nodes.Mapper(nodes.SamplerWrapper(data.RandomSampler(lines)), lambda index: parse_pair(lines[index]))
    batched = nodes.Mapper(nodes.Batcher(parsed, BATCH, drop_last=False), stack)
    loader = nodes.Loader(nodes.Prefetcher(batched, prefetch_factor=8))
    return lambda: loader


def torchdata_batched(files: CsvFiles) -> Epoch:
    """Nodes: SamplerWrapper of a BatchSampler, Mapper, Prefetcher."""
    nodes, data = import_module("torchdata.nodes"), import_module("torch.utils.data")
    lines = Lines(files.paths)
    sampler = data.BatchSampler(data.RandomSampler(lines), BATCH, drop_last=False)
    parsed = nodes.Mapper(
        nodes.SamplerWrapper(sampler), lambda indices: parse_pairs([lines[index] for index in indices])
    )
    loader = nodes.Loader(nodes.Prefetcher(parsed, prefetch_factor=8))
    return lambda: loader


# --- what is owed --------------------------------------------------------------------------------------------------


def _verify_order(files: CsvFiles, firsts: list[float]) -> None:
    if firsts == files.values[::BATCH, 0].tolist():
        raise WrongResultError("the rows were not shuffled")


def _total(batch: Batch) -> float:
    return math.fsum(float(np.asarray(part).sum(dtype=np.float64)) for part in batch)


def _first(batch: Batch) -> float:
    features, labels = batch
    float(labels[0, 0])
    return float(features[0, 0])


WORK: Final[Work[CsvFiles]] = Work(
    name="csv",
    title="20 files × 100 rows × 1,025 numbers, all rows shuffled, batches of 23",
    full=ALL_ROWS,
    probe=ALL_ROWS,
    batch_size=BATCH,
    make=make,
    load=load,
    size=lambda batch: len(batch[0]),
    first=_first,
    total=_total,
    expected_total=lambda files: float(files.values.sum(dtype=np.float64)),
    verify_order=_verify_order,
    candidates=(
        Candidate(prepare=limit, library="pyarrow", module="pyarrow", program=Program.LIMIT),
        Candidate(prepare=limit_one_core, library="pyarrow", module="pyarrow", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=headrace_lines, library="headrace", module="headrace", program=Program.BATCHES),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=tfdata_batched, library="tensorflow-cpu", module="tensorflow", program=Program.BATCHES),
        Candidate(prepare=tfdata_split, library="tensorflow-cpu", module="tensorflow", program=Program.BATCHES),
        Candidate(prepare=torch_0, library="torch", module="torch"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
        Candidate(prepare=torch_0_batched, library="torch", module="torch", program=Program.BATCHES),
        Candidate(prepare=torch_2_batched, library="torch", module="torch", program=Program.BATCHES),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=grain_batched, library="grain", module="grain", program=Program.BATCHES),
        Candidate(prepare=spdl, library="spdl", module="spdl"),
        Candidate(prepare=spdl_batched, library="spdl", module="spdl", program=Program.BATCHES),
        Candidate(prepare=torchdata, library="torchdata", module="torchdata"),
        Candidate(prepare=torchdata_batched, library="torchdata", module="torchdata", program=Program.BATCHES),
    ),
)
