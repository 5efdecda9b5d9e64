"""Sources of TFRecord files, and of records that are read by their number; some of them bad."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
from tests.laws.elements import folder, text_file, written
from tests.unit.io.tfrecord.tfrecord_files import file_of

import headrace as hr

SUFFIX = ".tfrecord"


def payloads(length: int) -> list[bytes]:
    return [b"%d" % number * (number % 4) for number in range(length)]


def record_file(length: int) -> str:
    return written(file_of(payloads(length)), SUFFIX)


def damaged_file(length: int) -> str:
    """The third record is corrupt; the file ends inside the last one."""
    content = bytearray(file_of([b"record %d" % number for number in range(length)]))
    if length > 2:
        content[2 * 24 + 12] ^= 1
    return written(bytes(content[: len(content) - 3]), SUFFIX)


def corrupt_length_file(length: int) -> str:
    """Behind the third record, nobody knows where the next one begins."""
    content = bytearray(file_of(payloads(length)))
    at = len(file_of(payloads(min(length, 3))))
    if at < len(content):
        content[at] ^= 1
    return written(bytes(content), SUFFIX)


def compressed_file(length: int) -> str:
    return written(zlib.compress(file_of(payloads(length)))[: 9 + 9 * length], ".zlib")


def example_file(length: int) -> str:
    path = folder() / f"examples-{length}.tfrecord"
    with hr.io.TFRecordWriter(path) as writer:
        for number in range(length):
            writer.write(hr.io.serialize_example({"x": [number, number + 1], "words": ["a"] * (number % 3)}))
    return str(path)


def parsed_examples(length: int) -> hr.Dataset:
    features = {"x": hr.io.FixedLenFeature([2], np.int64), "words": hr.io.VarLenFeature(str)}
    return hr.TFRecordDataset(example_file(length)).batch(3).map(lambda records: hr.io.parse_example(records, features))


SOURCES: dict[str, Callable[[int], hr.Dataset]] = {
    "records": lambda n: hr.TFRecordDataset([record_file(n), record_file(n // 2)]),
    "damaged records": lambda n: hr.TFRecordDataset([damaged_file(n), "absent.tfrecord", corrupt_length_file(n)]),
    "readable records": lambda n: hr.TFRecordDataset(
        [damaged_file(n), "absent.tfrecord", record_file(2)], on_error="skip"
    ),
    "compressed records": lambda n: hr.TFRecordDataset([compressed_file(n)], "ZLIB"),
    "interleaved records": lambda n: hr.TFRecordDataset([record_file(n), damaged_file(3)], num_parallel_reads=2),
    "parsed examples": parsed_examples,
    "numbered records": lambda n: hr.TFRecordDataset([record_file(n), record_file(n // 2)], random_access=True),
    "damaged numbered records": lambda n: hr.TFRecordDataset(
        [damaged_file(n), "absent.tfrecord", corrupt_length_file(n)], random_access=True, num_parallel_reads=2
    ),
    "readable numbered records": lambda n: hr.TFRecordDataset(
        [damaged_file(n), "absent.tfrecord", record_file(2)], random_access=True, on_error="skip"
    ),
    # Files that are read by number stay open as long as the dataset is there, so no law about runs may look at them.
    "numbered lines": lambda n: hr.TextLineDataset(
        [text_file(n, ".lines"), "absent.txt", text_file(2, ".lines")], random_access=True
    ),
}
