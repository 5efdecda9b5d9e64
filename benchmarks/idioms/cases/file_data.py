"""The files of the cases of `files`, and the plain loops that read them with the standard library and NumPy."""

from __future__ import annotations

import csv
import json
import sqlite3
import struct
import tarfile
from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from idioms.plain import chunks

FILES = 4


def _paths(folder: Path, ending: str) -> list[str]:
    return [str(folder / f"part-{number}.{ending}") for number in range(FILES)]


def text_files(units: int, folder: Path) -> list[str]:
    """Lines below a line of names."""
    paths = _paths(folder, "txt")
    for path in paths:
        lines = (f"{index % 2},some words of a line, number {index}\n" for index in range(units // FILES))
        Path(path).write_text("label,text\n" + "".join(lines))
    return paths


def mixed_csv(units: int, folder: Path) -> list[str]:
    """Twelve columns: six whole numbers, four floats, two texts."""
    paths = _paths(folder, "csv")
    for path in paths:
        lines = (
            ",".join([*(str(index + column) for column in range(6)), "0.5", "1.25", "-3.5", "7.75", "a word", "b"])
            + "\n"
            for index in range(units // FILES)
        )
        Path(path).write_text("".join(lines))
    return paths


MIXED_DEFAULTS: list[Any] = [*[np.int64(0)] * 6, *[np.float32(0)] * 4, "", ""]


def wide_csv(units: int, folder: Path) -> list[str]:
    """A thousand features and a label, all floats."""
    rng = np.random.default_rng(0)
    paths = _paths(folder, "csv")
    for path in paths:
        rows = rng.standard_normal((units // FILES, 1025)).round(4)
        Path(path).write_text("".join(",".join(map(str, row)) + "\n" for row in rows.tolist()))
    return paths


def json_lines(units: int, folder: Path) -> str:
    """An object a line."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"id": index, "text": "some words"}) + "\n" for index in range(units)))
    return str(path)


def json_lines_of_tokens(units: int, folder: Path) -> str:
    """An object a line, as those of language data: an id, the numbers of tokens as a list, a label."""
    path = folder / "tokens.jsonl"
    lines = ({"id": index, "tokens": [*range(index % 8 + 4)], "label": index % 3} for index in range(units))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def fixed_length(units: int, folder: Path) -> str:
    """Records of 16 bytes."""
    path = folder / "records.bin"
    path.write_bytes(np.arange(2 * units, dtype=np.int64).tobytes())
    return str(path)


def array_files(units: int, folder: Path) -> str:
    """Features and labels in one archive."""
    path = folder / "arrays.npz"
    np.savez(path, x=np.ones((units, 8), np.float32), y=np.arange(units))
    return str(path)


def _arrow_table(units: int) -> Any:
    pa = import_module("pyarrow")
    numbers = np.arange(units)
    return pa.table({"id": numbers, "value": numbers * 0.5, "label": numbers % 10})


def parquet_file(units: int, folder: Path) -> str:
    """Three columns in groups of 10,000 rows."""
    path = str(folder / "rows.parquet")
    import_module("pyarrow.parquet").write_table(_arrow_table(units), path, row_group_size=10_000)
    return path


def arrow_file(units: int, folder: Path) -> str:
    """The same columns as an Arrow file."""
    path, table = str(folder / "rows.arrow"), _arrow_table(units)
    pa = import_module("pyarrow")
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=10_000)
    return path


def tar_file(units: int, folder: Path) -> str:
    """A shard of examples of a text and a class."""
    path = folder / "shard.tar"
    with tarfile.open(path, "w") as archive:
        for index in range(units):
            for ending, content in (("txt", b"some words"), ("cls", str(index % 10).encode())):
                member = tarfile.TarInfo(f"{index:06}.{ending}")
                member.size = len(content)
                archive.addfile(member, BytesIO(content))
    return str(path)


def database(units: int, folder: Path) -> str:
    """A table of three columns."""
    path = folder / "rows.sqlite"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT, value REAL)")
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", ((index, "words", 0.5) for index in range(units)))
    connection.commit()
    connection.close()
    return str(path)


def examples(units: int, folder: Path) -> list[str]:
    """TFRecord files of serialized examples: four floats, a label and a text."""
    row = [0.5, 1.5, 2.5, 3.5]
    rows = ({"x": row, "label": index % (units // FILES), "text": "words"} for index in range(units))
    return example_files(rows, units, folder)


def example_files(rows: Iterator[dict[str, Any]], units: int, folder: Path) -> list[str]:
    """TFRecord files of these examples, serialized, as many in each."""
    io = import_module("headrace").io
    paths = _paths(folder, "tfrecord")
    for path in paths:
        with io.TFRecordWriter(path) as writer:
            for row in islice(rows, units // FILES):
                writer.write(io.serialize_example(row))
    return paths


# --- reading them by hand ------------------------------------------------------------------------------------------


def lines_of(path: str) -> Iterator[str]:
    """The lines of a file without their ends."""
    with Path(path).open() as file:
        for line in file:
            yield line.rstrip("\n")


def mixed_rows(paths: list[str]) -> Iterator[tuple[Any, ...]]:
    """Each row's numbers and texts."""
    for path in paths:
        with Path(path).open(newline="") as file:
            for row in csv.reader(file):
                yield (*map(int, row[:6]), *map(float, row[6:10]), *row[10:])


def wide_rows(paths: list[str]) -> Iterator[Any]:
    """Arrays of 23 rows."""
    lines = (line for path in paths for line in lines_of(path))
    for chunk in chunks(lines, 23):
        yield np.array([line.split(",") for line in chunk], np.float32)


def records_of(path: str) -> Iterator[bytes]:
    """The records of a TFRecord file, their checksums not compared."""
    with Path(path).open("rb") as file:
        while header := file.read(12):
            (length,) = struct.unpack_from("<Q", header)
            yield file.read(length)
            file.read(4)


def fixed_records(path: str) -> Iterator[Any]:
    """Each record as two numbers."""
    with Path(path).open("rb") as file:
        while record := file.read(16):
            yield np.frombuffer(record, np.int64)
