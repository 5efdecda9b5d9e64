"""Sources of records: JSON Lines, records of a fixed length, and files that are compressed or far away; some of them bad."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.laws.elements import text_file, written
from tests.unit.io.compressing import COMPRESS, SUFFIXES

import headrace as hr

FIELDS: dict[str, Any] = {"id": np.int64, "value": 0.5, "text": "none"}
TOKENS = hr.TensorSpec((None,), np.int32)
BAD_LINES = ["no JSON", "[1]", '{"id": "x"}', '{"value": 1}', '{"id": 1, "tokens": [[1], [1, 2]]}', '{"id": 1.5}']

SOURCES: dict[str, Callable[[int], hr.Dataset]] = {
    "json": lambda n: hr.JsonLinesDataset([json_file(n), json_file(n // 2)]),
    "json fields": lambda n: hr.JsonLinesDataset([json_file(n), json_file(2)], record_defaults=FIELDS),
    "json tokens": lambda n: hr.JsonLinesDataset(json_file(n), record_defaults={"tokens": TOKENS, "id": 0}),
    "json inner fields": lambda n: hr.JsonLinesDataset(json_file(n), record_defaults={"in": {"x": np.zeros(2)}}),
    "bad json": lambda n: hr.JsonLinesDataset([json_file(n, good=False), "absent.jsonl", json_file(2)]),
    "bad json fields": lambda n: hr.JsonLinesDataset(json_file(n, good=False), record_defaults=FIELDS),
    "readable json": lambda n: hr.JsonLinesDataset(
        [json_file(n, good=False), "absent.jsonl", json_file(2)], record_defaults=FIELDS, on_error="skip"
    ),
    "small buffers of json": lambda n: hr.JsonLinesDataset(json_file(n, good=False), buffer_size=7),
    "parallel json": lambda n: hr.JsonLinesDataset([json_file(n), json_file(3)], None, None, 2, record_defaults=FIELDS),
    "fixed": lambda n: hr.FixedLengthRecordDataset([fixed_file(n), fixed_file(n // 2)], 3, 2, 1),
    "cut fixed": lambda n: hr.FixedLengthRecordDataset([fixed_file(n, cut=2), fixed_file(2)], 3, 2, 1),
    "readable fixed": lambda n: hr.FixedLengthRecordDataset(
        [fixed_file(n, cut=n % 4), "absent.bin", fixed_file(2)], 3, 2, 1, on_error="skip"
    ),
    "parallel fixed": lambda n: hr.FixedLengthRecordDataset(
        hr.Dataset.from_tensor_slices([fixed_file(n), fixed_file(1), fixed_file(2)]), 3, 2, 1, num_parallel_reads=2
    ),
    "compressed text": lambda n: hr.TextLineDataset([compressed(kind, n) for kind in COMPRESS], "INFER"),
    "cut compressed text": lambda n: hr.TextLineDataset([compressed(kind, n, cut=9) for kind in COMPRESS], "infer"),
    "readable compressed text": lambda n: hr.TextLineDataset(
        [compressed("ZSTD", n, cut=n), compressed("LZ4", n, cut=n), "absent.xz"], "INFER", on_error="skip"
    ),
    "text in memory": lambda n: hr.TextLineDataset([in_memory(n), in_memory(n // 2)], num_parallel_reads=n % 3 or None),
}


def json_file(length: int, *, good: bool = True) -> str:
    """Objects, some without some fields, some lines blank; every third one is wrong in its own way, unless good."""
    lines = []
    for number in range(length):
        value = f'"value": {number}, ' if number % 4 else ""
        text = "null" if number % 5 == 1 else f'"text {number}"'
        inner = f'"in": {{"x": [{number}, 0.5]}}' if number % 3 else '"in": null'
        tokens = list(range(number % 4))
        lines.append(f'{{"id": {number}, {value}"text": {text}, "tokens": {tokens}, {inner}}}')
    if not good:
        lines[::3] = [BAD_LINES[number % len(BAD_LINES)] for number in range(len(lines[::3]))]
    return written("".join(line + "\n" * (1 + number % 5 // 3) for number, line in enumerate(lines)).encode(), ".jsonl")


def fixed_file(length: int, *, cut: int = 0) -> str:
    """A header of two bytes, records of three, a footer of one."""
    content = b"HH" + b"".join(b"%03d" % number for number in range(length)) + b"F"
    return written(content[: len(content) - cut], ".bin")


def compressed(kind: str, length: int, *, cut: int = 0) -> str:
    content = COMPRESS[kind](Path(text_file(length)).read_bytes())
    return written(content[: len(content) - cut], f".txt{SUFFIXES[kind]}")


def in_memory(length: int) -> str:
    import fsspec

    path = f"memory://plans/{length}.txt"
    with fsspec.open(path, "wb") as copy:
        copy.write(Path(text_file(length)).read_bytes())
    return path
