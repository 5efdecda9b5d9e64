"""Work *parquet*: columns in files become batches of arrays.

20 files × 51,200 rows of 20 columns (16 float32, an int64 label, and three that nobody asks for), Snappy, as pyarrow
writes them; 17 of the columns are read, in order, as batches of 1,024 rows: a dict of 17 arrays each. Every epoch reads
the files anew.

The peers without a Parquet reader of their own, or whose own gives rows one by one, are given pyarrow's: `…_batched`
programs read a file's columns as the limit does, and cut them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError

FILES: Final = 20
ROWS: Final = (
    51_200  # in a file: whole batches, so that a library that reads two files at once delivers whole ones as well
)
ALL_ROWS: Final = FILES * ROWS
BATCH: Final = 1_024
FEATURES: Final = tuple(f"f{number:02d}" for number in range(16))
COLUMNS: Final = (*FEATURES, "label")
SEED: Final = 0
# What is decoded at once where nothing else says how much: a file.
DECODED_ROWS: Final = ROWS

Columns: TypeAlias = dict[str, npt.NDArray[Any]]


# --- the data ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """The files that an epoch reads, how many rows of each, and what is in them."""

    paths: list[str]
    rows: list[int]
    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]

    @property
    def examples(self) -> int:
        """Rows in an epoch."""
        return sum(self.rows)


def _paths(folder: Path) -> list[Path]:
    return [folder / f"rows-{number:02d}.parquet" for number in range(FILES)]


def _features() -> npt.NDArray[np.float32]:
    return np.random.default_rng(SEED).standard_normal((ALL_ROWS, len(FEATURES)), dtype=np.float32)


def _labels() -> npt.NDArray[np.int64]:
    return np.random.default_rng(SEED).integers(0, 10, ALL_ROWS)


def make(folder: Path) -> None:
    """Write the files, unless they are there."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    features, labels = _features(), _labels()
    for number, path in enumerate(_paths(folder)):
        if path.exists():
            continue
        rows = slice(number * ROWS, (number + 1) * ROWS)
        columns: dict[str, Any] = {"id": np.arange(rows.start, rows.stop)}
        columns |= {name: np.ascontiguousarray(features[rows, index]) for index, name in enumerate(FEATURES)}
        columns |= {"name": [f"user {row % 1000}" for row in range(ROWS)], "label": labels[rows]}
        columns["weight"] = np.ones(ROWS)
        part = path.with_suffix(".part")  # a file that was cut short by Ctrl-C must not be taken for a whole one
        pq.write_table(pa.table(columns), part)
        part.replace(path)


def load(folder: Path, examples: int) -> ParquetFiles:
    """The first files, the last of them as far as the epoch goes."""
    rows = [min(ROWS, examples - start) for start in range(0, examples, ROWS)]
    paths = [str(path) for path in _paths(folder)[: len(rows)]]
    return ParquetFiles(paths, rows, _features()[:examples], _labels()[:examples])


# --- the limit, and what peers without a reader are given ------------------------------------------------------------


def _decoded(path: str, rows: int, decoded_rows: int = DECODED_ROWS) -> Iterator[Columns]:
    """The first rows of a file, so many at once."""
    pq = import_module("pyarrow.parquet")
    left = rows
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(decoded_rows, columns=list(COLUMNS)):
            yield {name: batch.column(name).to_numpy()[:left] for name in COLUMNS}
            left -= batch.num_rows
            if left <= 0:
                return


def _cut(columns: Columns) -> list[Columns]:
    """Batches, views of the columns."""
    count = len(columns["label"])
    return [
        {name: column[start : start + BATCH] for name, column in columns.items()} for start in range(0, count, BATCH)
    ]


def _batches(files: ParquetFiles, part: int = 0, parts: int = 1) -> Iterator[Columns]:
    """The batches of every so-manieth file."""
    for path, rows in list(zip(files.paths, files.rows, strict=True))[part::parts]:
        for columns in _decoded(path, rows):
            yield from _cut(columns)


def _file_batches(file: tuple[str, int]) -> list[Columns]:
    """The batches of one file."""
    return [batch for columns in _decoded(*file) for batch in _cut(columns)]


def limit(files: ParquetFiles) -> Epoch:
    """pyarrow: a file's columns decoded at once, by its threads; NumPy's slices of them."""
    return lambda: _batches(files)


def limit_small(files: ParquetFiles) -> Epoch:
    """pyarrow: iter_batches of the batches' size, to_numpy."""

    def epoch() -> Iterator[Columns]:
        for path, rows in zip(files.paths, files.rows, strict=True):
            yield from _decoded(path, rows, BATCH)

    return epoch


# --- headrace ------------------------------------------------------------------------------------------------------


def _batched(hr: Any, files: ParquetFiles) -> Any:
    dataset = hr.ParquetDataset(files.paths, columns=COLUMNS)
    if files.examples % ROWS:  # an epoch that is cut short for the clock's sake
        dataset = dataset.take(files.examples)
    return dataset.batch(BATCH)


def headrace(files: ParquetFiles) -> Epoch:
    """ParquetDataset, batch."""
    dataset = _batched(import_module("headrace"), files)
    return lambda: dataset


def headrace_ahead(files: ParquetFiles) -> Epoch:
    """ParquetDataset, batch, prefetch: the next file is decoded while a batch is looked at."""
    hr = import_module("headrace")
    dataset = _batched(hr, files).prefetch(hr.AUTOTUNE)
    return lambda: dataset


# --- tf.data -------------------------------------------------------------------------------------------------------


def tfdata_batched(files: ParquetFiles) -> Epoch:
    """from_generator of whole batches, prefetch: tensorflow has no Parquet reader of its own."""
    tf = import_module("tensorflow")
    spec = {name: tf.TensorSpec((None,), tf.float32) for name in FEATURES} | {"label": tf.TensorSpec((None,), tf.int64)}
    dataset = tf.data.Dataset.from_generator(lambda: _batches(files), output_signature=spec)
    return dataset.prefetch(tf.data.AUTOTUNE).as_numpy_iterator  # type: ignore[no-any-return]  # imported by name


# --- torch ---------------------------------------------------------------------------------------------------------


def _torch_loader(files: ParquetFiles, workers: int, *, batched: bool) -> Any:
    torch, data = import_module("torch"), import_module("torch.utils.data")

    class Rows(data.IterableDataset):  # type: ignore[misc, name-defined]  # torch is imported by name
        """The rows of all files, or their batches; a worker has every so-manieth file."""

        def __iter__(self) -> Iterator[Any]:
            worker = data.get_worker_info()
            mine = (worker.id, worker.num_workers) if worker else (0, 1)
            for batch in _batches(files, *mine):
                if batched:
                    yield {name: torch.from_numpy(column.copy()) for name, column in batch.items()}
                else:
                    for row in zip(*batch.values(), strict=True):
                        yield dict(zip(COLUMNS, row, strict=True))

    parallel = {"persistent_workers": True, "prefetch_factor": 8, "multiprocessing_context": "fork"} if workers else {}
    return data.DataLoader(Rows(), batch_size=None if batched else BATCH, num_workers=workers, **parallel)


def torch_0(files: ParquetFiles) -> Epoch:
    """DataLoader over an IterableDataset of pyarrow's rows, no workers."""
    loader = _torch_loader(files, 0, batched=False)
    return lambda: loader


def torch_2(files: ParquetFiles) -> Epoch:
    """DataLoader over an IterableDataset of pyarrow's rows, 2 persistent workers."""
    loader = _torch_loader(files, 2, batched=False)
    return lambda: loader


def torch_0_batched(files: ParquetFiles) -> Epoch:
    """DataLoader over an IterableDataset of pyarrow's batches, batch_size=None, no workers."""
    loader = _torch_loader(files, 0, batched=True)
    return lambda: loader


def torch_2_batched(files: ParquetFiles) -> Epoch:
    """DataLoader over an IterableDataset of pyarrow's batches, batch_size=None, 2 persistent workers."""
    loader = _torch_loader(files, 2, batched=True)
    return lambda: loader


# --- Grain ---------------------------------------------------------------------------------------------------------


def grain(files: ParquetFiles) -> Epoch:
    """ParquetIterDataset for every file (it reads all columns), map to those wanted, batch."""
    library = import_module("grain")
    experimental = library.experimental

    def rows_of(path: str) -> Any:
        return experimental.ParquetIterDataset(path).map(lambda row: {name: row[name] for name in COLUMNS})

    def epoch() -> Iterator[Batch]:
        left = files.examples
        for path in files.paths:
            for batch in rows_of(path).batch(BATCH):
                yield batch if left >= BATCH else {name: column[:left] for name, column in batch.items()}
                left -= BATCH
                if left <= 0:
                    return

    return epoch


def grain_batched(files: ParquetFiles) -> Epoch:
    """MapDataset of files, map to the batches of a file by pyarrow, read by 2 threads."""
    library = import_module("grain")
    dataset = library.MapDataset.source(list(zip(files.paths, files.rows, strict=True))).map(_file_batches)
    dataset = dataset.to_iter_dataset(library.ReadOptions(num_threads=2, prefetch_buffer_size=2))

    def epoch() -> Iterator[Batch]:
        for batches in dataset:
            yield from batches

    return epoch


def grain_batched_owned(files: ParquetFiles) -> Epoch:
    """The same with each column copied, so that a batch may be written to, as headrace's may: Arrow's own memory may not."""
    views = grain_batched(files)

    def epoch() -> Iterator[Batch]:
        for batch in views():
            yield {name: column.copy() for name, column in batch.items()}

    return epoch


# --- SPDL, torchdata -----------------------------------------------------------------------------------------------


def spdl_batched(files: ParquetFiles) -> Epoch:
    """Pipeline: a source of files, pipe to the batches of a file by pyarrow in 2 threads, no hooks."""
    builder = import_module("spdl.pipeline").PipelineBuilder()
    builder = builder.add_source(list(zip(files.paths, files.rows, strict=True)))
    ended = builder.pipe(_file_batches, concurrency=2).add_sink(2)

    def epoch() -> Iterator[Batch]:
        pipeline = ended.build(num_threads=2, task_hook_factory=lambda _: [], use_thread_output_queue=True)
        with pipeline.auto_stop():
            for batches in pipeline:
                yield from batches

    return epoch


def torchdata_batched(files: ParquetFiles) -> Epoch:
    """Nodes: IterableWrapper of files, Mapper to the batches of a file by pyarrow, Unbatcher, Prefetcher."""
    nodes = import_module("torchdata.nodes")
    named = nodes.IterableWrapper(list(zip(files.paths, files.rows, strict=True)))
    loader = nodes.Loader(nodes.Prefetcher(nodes.Unbatcher(nodes.Mapper(named, _file_batches)), prefetch_factor=8))
    return lambda: loader


# --- what is owed --------------------------------------------------------------------------------------------------


def _verify_order(files: ParquetFiles, firsts: list[float]) -> None:
    # Two workers deliver the batches of two files by turns.
    if sorted(firsts) != sorted(files.features[::BATCH, 0].tolist()):
        raise WrongResultError("the batches do not begin with the rows that they should")


def _total(batch: Batch) -> float:
    return math.fsum(float(np.asarray(batch[name]).sum(dtype=np.float64)) for name in COLUMNS)


def _first(batch: Batch) -> float:
    return float(batch[FEATURES[0]][0])


WORK: Final[Work[ParquetFiles]] = Work(
    name="parquet",
    title="20 Parquet files × 51,200 rows, 17 of 20 columns, batches of 1,024",
    full=ALL_ROWS,
    probe=ROWS,
    batch_size=BATCH,
    make=make,
    load=load,
    size=lambda batch: len(batch["label"]),
    first=_first,
    total=_total,
    expected_total=lambda files: float(files.features.sum(dtype=np.float64)) + float(files.labels.sum()),
    verify_order=_verify_order,
    candidates=(
        Candidate(prepare=limit, library="pyarrow", module="pyarrow", program=Program.LIMIT),
        Candidate(prepare=limit_small, library="pyarrow", module="pyarrow", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=headrace_ahead, library="headrace", module="headrace"),
        Candidate(prepare=tfdata_batched, library="tensorflow-cpu", module="tensorflow", program=Program.BATCHES),
        Candidate(prepare=torch_0, library="torch", module="torch"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
        Candidate(prepare=torch_0_batched, library="torch", module="torch", program=Program.BATCHES),
        Candidate(prepare=torch_2_batched, library="torch", module="torch", program=Program.BATCHES),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=grain_batched, library="grain", module="grain", program=Program.BATCHES),
        Candidate(prepare=grain_batched_owned, library="grain", module="grain", program=Program.BATCHES),
        Candidate(prepare=spdl_batched, library="spdl", module="spdl", program=Program.BATCHES),
        Candidate(prepare=torchdata_batched, library="torchdata", module="torchdata", program=Program.BATCHES),
    ),
)
