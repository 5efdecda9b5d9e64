"""The plans that are dealt: those of the works of the same names, with as many files as there are streams.

Each is built once for each way of batching: with ``batch``, as one process would, and with ``distributed_batch``, as the one rank
of a job of one would. The number of streams is the default: the largest divisor of the global batch up to 64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from works import csv_files

# A dataset of headrace's, which is imported by name.
Dataset = Any
SEED: Final = 0
RECORD_FILES: Final = 64
RECORDS: Final = 1_500  # in a file
NBYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class Job:
    """A plan up to its batch.

    Attributes:
        name: of the work that it is taken from.
        how: what it does, and what is other than there.
        batch: how many elements a global batch has.
        make: writes the files that it needs into a folder, or makes what it reads from memory, and returns what builds the plan.
    """

    name: str
    how: str
    batch: int
    make: Callable[[Path], Callable[[], Dataset]]

    def plain(self, upstream: Dataset) -> Dataset:
        """The plan with ``batch``."""
        return _seeded(upstream.batch(self.batch, drop_remainder=True))

    def dealt(self, upstream: Dataset) -> Dataset:
        """The plan with ``distributed_batch``."""
        return _seeded(upstream.distributed_batch(self.batch))


def _seeded(dataset: Dataset) -> Dataset:
    return dataset.with_options(import_module("headrace").Options(seed=SEED))


def _csv(folder: Path) -> Callable[[], Dataset]:
    hr = import_module("headrace")
    csv_files.make(folder)
    paths = csv_files.load(folder, csv_files.ALL_ROWS).paths
    components = [np.zeros(csv_files.FEATURES, np.float32), 0.0]

    def build() -> Dataset:
        files = hr.Dataset.from_tensor_slices(paths)
        return files.interleave(lambda path: hr.CsvDataset(path, components), cycle_length=4).shuffle(
            csv_files.ALL_ROWS
        )

    return build


def _memory(folder: Path) -> Callable[[], Dataset]:
    hr = import_module("headrace")
    rows = np.random.default_rng(SEED).standard_normal((1_000_000, 64), dtype=np.float32)
    return lambda: hr.Dataset.from_tensor_slices(rows).shuffle(len(rows))


def record_paths(folder: Path) -> list[str]:
    """Write the TFRecord files, unless they are there."""
    hr = import_module("headrace")
    paths = [folder / f"dealt-{number:02d}.tfrecord" for number in range(RECORD_FILES)]
    for number, path in enumerate(paths):
        if path.exists():
            continue
        with hr.io.TFRecordWriter(path) as writer:
            for record in np.random.default_rng((SEED, number)).integers(0, 256, (RECORDS, NBYTES), np.uint8):
                writer.write(record.tobytes())
    return [str(path) for path in paths]


def _tfrecord(folder: Path) -> Callable[[], Dataset]:
    hr = import_module("headrace")
    paths = record_paths(folder)

    def build() -> Dataset:
        return hr.Dataset.from_tensor_slices(paths).interleave(hr.TFRecordDataset, cycle_length=4).shuffle(10_000)

    return build


def _tokens(folder: Path) -> Callable[[], Dataset]:
    hr = import_module("headrace")
    draw = np.random.default_rng(SEED)
    documents = [draw.integers(0, 50_000, length, np.int32) for length in draw.integers(50, 500, 100_000)]
    return lambda: hr.Dataset.source(documents).shuffle(len(documents)).pack(2048)


JOBS: Final = (
    Job(
        "csv",
        "interleave of 20 CSV files, shuffle; batches of 20 and not 23, as 23 streams would need 23 files",
        20,
        _csv,
    ),
    Job("memory", "1,000,000 rows × 64 float32 in memory, shuffle", 256, _memory),
    Job("tfrecord", "interleave of 64 TFRecord files of 1,500 records of 1,024 bytes, shuffle(10_000)", 128, _tfrecord),
    Job("tokens", "100,000 documents in memory, shuffle, pack(2048)", 64, _tokens),
)
