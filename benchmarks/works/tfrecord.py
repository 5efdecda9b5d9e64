"""Work *tfrecord*: TFRecord files become batches of records.

4 files × 25,000 records of 1,024 random bytes, both checksums of each compared, batches of 128 in any order of the files. Every
epoch reads the files anew; nothing is decoded, so what is measured is the framing and the way to the program.

The peers without a reader of their own, or with one that a program cannot take apart, are given the limit's kernel.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from contest import Batch, Candidate, Epoch, Program, Work

FILES: Final = 4
RECORDS: Final = 25_000  # in a file
NBYTES: Final = 1024
BATCH: Final = 128
ALL: Final = FILES * RECORDS
SEED: Final = 0


# --- the data ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """The files, and the sum of all bytes that are in their records."""

    paths: list[str]
    total: float


def _contents(number: int) -> np.ndarray:
    """The records of a file, one a row."""
    return np.random.default_rng((SEED, number)).integers(0, 256, (RECORDS, NBYTES), np.uint8)


def _paths(folder: Path) -> list[Path]:
    return [folder / f"records-{number}.tfrecord" for number in range(FILES)]


def make(folder: Path) -> None:
    """Write the files, unless they are there."""
    for number, path in enumerate(_paths(folder)):
        if path.exists():
            continue
        part = path.with_suffix(".part")  # a file that was cut short by Ctrl-C must not be taken for a whole one
        with part.open("wb") as file:
            length = struct.pack("<Q", NBYTES)
            for row in _contents(number):
                payload = row.tobytes()
                file.write(b"".join((length, _masked(length), payload, _masked(payload))))
        part.replace(path)


def load(folder: Path, examples: int) -> RecordFiles:
    """The files; an epoch always has all their records."""
    total = sum(float(_contents(number).sum(dtype=np.int64)) for number in range(FILES))
    return RecordFiles([str(path) for path in _paths(folder)], total)


# --- the kernel ----------------------------------------------------------------------------------------------------


def _crc32c() -> Callable[[bytes], int]:
    value: Callable[[bytes], int] = import_module("google_crc32c").value
    return value


def _masked(data: bytes) -> bytes:
    crc = _crc32c()(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def records_of(path: str) -> Iterator[list[bytes]]:
    """The records of a file in runs of about two megabytes, all checksums compared."""
    crc32c, length_at = _crc32c(), struct.Struct("<Q").unpack_from
    left = b""
    with Path(path).open("rb", buffering=0) as file:
        while portion := file.read(1 << 21):
            data = left + portion
            begins, ends, at = [], [], 0
            while at + 12 <= len(data) and (end := at + 12 + length_at(data, at)[0]) + 4 <= len(data):
                begins.append(at)
                ends.append(end)
                at = end + 4
            heads = [data[begin : begin + 8] for begin in begins]
            records = [data[begin + 12 : end] for begin, end in zip(begins, ends, strict=True)]
            _compare(data, begins, [8] * len(begins), heads, crc32c)
            _compare(data, ends, [0] * len(ends), records, crc32c)
            left = data[at:]
            yield records


def _compare(data: bytes, at: list[int], behind: list[int], parts: list[bytes], crc32c: Callable[[bytes], int]) -> None:
    places = np.add.outer(np.array(at) + np.array(behind), np.arange(4))
    stored = np.frombuffer(data, np.uint8)[places].view("<u4")[:, 0]
    crcs = np.array(list(map(crc32c, parts)), np.uint32)
    if not np.array_equal((crcs >> 15 | crcs << 17) + np.uint32(0xA282EAD8), stored):
        raise ValueError("a checksum is wrong")


def all_records(paths: Iterable[str]) -> Iterator[bytes]:
    """The records of all files, one by one."""
    return itertools.chain.from_iterable(itertools.chain.from_iterable(map(records_of, paths)))


def in_batches(records: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lists of a batch each."""
    return iter(lambda: list(itertools.islice(records, BATCH)), [])


def limit(files: RecordFiles) -> Epoch:
    """The framing loop, and google-crc32c for each record, over file after file in one thread."""
    return lambda: itertools.chain.from_iterable(map(records_of, files.paths))


# --- headrace ------------------------------------------------------------------------------------------------------


def headrace(files: RecordFiles) -> Epoch:
    """TFRecordDataset, batch."""
    hr = import_module("headrace")
    dataset = hr.TFRecordDataset(files.paths).batch(BATCH)
    return lambda: dataset


def headrace_shuffled(files: RecordFiles) -> Epoch:
    """TFRecordDataset by number, all records shuffled, batch: more work than the others do."""
    hr = import_module("headrace")
    dataset = hr.TFRecordDataset(files.paths, random_access=True).shuffle(ALL, seed=SEED).batch(BATCH)
    return lambda: dataset


# --- tf.data -------------------------------------------------------------------------------------------------------


def tfdata(files: RecordFiles) -> Epoch:
    """TFRecordDataset, batch, prefetch."""
    tf = import_module("tensorflow")
    dataset = tf.data.TFRecordDataset(files.paths).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def tfdata_parallel(files: RecordFiles) -> Epoch:
    """TFRecordDataset with parallel reads, batch, prefetch, all AUTOTUNE, a buffer of 2 MB, any order."""
    tf = import_module("tensorflow")
    options = tf.data.Options()
    options.deterministic = False
    dataset = tf.data.TFRecordDataset(files.paths, buffer_size=1 << 21, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE).with_options(options)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


# --- torch ---------------------------------------------------------------------------------------------------------


def _torch_epoch(files: RecordFiles, workers: int, *, by_hand: bool = False) -> Epoch:
    data = import_module("torch.utils.data")

    class Records(data.IterableDataset):  # type: ignore[name-defined, misc]  # torch is imported by name
        def __iter__(self) -> Iterator[Any]:
            worker = data.get_worker_info()
            mine = files.paths if worker is None else files.paths[worker.id :: worker.num_workers]
            return in_batches(all_records(mine)) if by_hand else all_records(mine)

    parallel = {"persistent_workers": True, "prefetch_factor": 8, "multiprocessing_context": "fork"} if workers else {}
    loader = data.DataLoader(Records(), batch_size=None if by_hand else BATCH, num_workers=workers, **parallel)
    return lambda: loader


def torch_0(files: RecordFiles) -> Epoch:
    """DataLoader over an IterableDataset of the limit's kernel, no workers."""
    return _torch_epoch(files, workers=0)


def torch_0_batched(files: RecordFiles) -> Epoch:
    """DataLoader over an IterableDataset of batches of the limit's kernel, no workers."""
    return _torch_epoch(files, workers=0, by_hand=True)


# --- Grain ---------------------------------------------------------------------------------------------------------


def grain(files: RecordFiles) -> Epoch:
    """Its own TFRecordIterDataset for every file, interleaved, batch; it compares no checksums."""
    library, experimental = import_module("grain"), import_module("grain.experimental")
    sources = library.MapDataset.source(files.paths).map(experimental.TFRecordIterDataset)
    dataset = experimental.InterleaveIterDataset(sources, cycle_length=1).batch(BATCH, batch_fn=list)
    return lambda: dataset


# --- torchdata -----------------------------------------------------------------------------------------------------


def torchdata(files: RecordFiles) -> Epoch:
    """Nodes: IterableWrapper over the limit's kernel, Batcher."""
    nodes = import_module("torchdata.nodes")

    class Records:
        def __iter__(self) -> Iterator[bytes]:
            return all_records(files.paths)

    loader = nodes.Loader(nodes.Batcher(nodes.IterableWrapper(Records()), BATCH, drop_last=False))
    return lambda: loader


# --- what is owed --------------------------------------------------------------------------------------------------


def _any_order(files: RecordFiles, firsts: list[float]) -> None:
    """Files may be read side by side."""


def _total(batch: Batch) -> float:
    return float(np.frombuffer(b"".join(batch), np.uint8).sum(dtype=np.int64))


WORK: Final[Work[RecordFiles]] = Work(
    name="tfrecord",
    title="4 files × 25,000 records of 1 KB, checksums compared, batches of 128",
    full=ALL,
    probe=ALL,
    batch_size=BATCH,
    make=make,
    load=load,
    size=len,
    first=lambda batch: float(batch[0][0]),
    total=_total,
    expected_total=lambda files: files.total,
    verify_order=_any_order,
    candidates=(
        Candidate(prepare=limit, library="google-crc32c", module="google_crc32c", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=headrace_shuffled, library="headrace", module="headrace"),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=tfdata_parallel, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=torch_0, library="torch", module="torch"),
        Candidate(prepare=torch_0_batched, library="torch", module="torch", program=Program.BATCHES),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=torchdata, library="torchdata", module="torchdata"),
    ),
)
