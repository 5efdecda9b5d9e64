"""What is fuzzed: for each format a few good files, and how a program reads one."""

from __future__ import annotations

import bz2
import dataclasses
import datetime as dt
import gzip
import io
import itertools
import lzma
import tarfile
import wave
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from tests.fuzz.structures import cases, read_changed

import headrace as hr

__all__ = ["TARGETS", "Target"]

_NOON = dt.datetime(2020, 2, 29, 12)  # noqa: DTZ001 (of no zone, as the column is)


@dataclasses.dataclass(frozen=True)
class Target:
    """One format.

    Attributes:
        suffix: of its files.
        good: the contents of a few good files.
        read: the elements of a file; only what it raises under ``HeadraceError`` is an answer.
        most_answers: for each byte of the file; None where there is no such number: 45 bytes of bz2 can be 45 million lines.
    """

    suffix: str
    good: Callable[[], list[bytes]]
    read: Callable[[str], Iterable[Any]]
    most_answers: int | None = 1


def _text() -> list[bytes]:
    return [b"", b"one\ntwo\r\n\nvier \xc3\xa4\n", b"\n".join(b"line %d" % n for n in range(40))]


def _csv() -> list[bytes]:
    return [
        b"1,2.5,a\n2,,b\n",
        b'7,"1.5","a ""quoted"", text"\r\n8,-3e4,"two\nlines"\r\n',
        b"\n".join(b"%d,%d.25,text %d" % (n, n, n) for n in range(60)),
    ]


def _pictures() -> list[bytes]:
    import cv2

    rng = np.random.default_rng(0)
    small, wide = rng.integers(0, 255, (9, 7, 3), np.uint8), rng.integers(0, 255, (16, 40, 3), np.uint8)
    return [bytes(cv2.imencode(kind, pixels)[1]) for kind in (".jpg", ".png", ".bmp") for pixels in (small, wide)]


def _sounds() -> list[bytes]:
    found = []
    for width, channels in ((1, 1), (2, 1), (2, 2), (4, 1)):
        with io.BytesIO() as file:
            with wave.open(file, "wb") as writer:
                writer.setparams((channels, width, 8000, 0, "NONE", ""))
                writer.writeframes(bytes(range(240)))
            found.append(file.getvalue())
    return found


def _packed_sounds() -> list[bytes]:
    import soundfile

    found = []
    rng = np.random.default_rng(0)
    for form, coding, channels in (
        ("FLAC", "PCM_16", 1),
        ("FLAC", "PCM_24", 2),
        ("OGG", "VORBIS", 1),
        ("MP3", None, 2),
    ):
        with io.BytesIO() as file:
            soundfile.write(file, rng.uniform(-1, 1, (900, channels)), 16_000, coding, format=form)
            found.append(file.getvalue())
    return found


def _tar_elements() -> list[bytes]:
    """Archives with a file for each of the handlers."""
    contents = {
        "txt": _text()[1],
        "cls": b"7",
        "json": _json_lines()[1].splitlines()[0],
        "npy": _npy()[0],
        "jpg": _pictures()[0],
        "png": _pictures()[2],
        "wav": _sounds()[2],
    }
    found = []
    for extensions in (("txt", "cls"), ("json", "npy"), ("jpg", "png", "wav")):
        with io.BytesIO() as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                for number, extension in itertools.product(range(2), extensions):
                    member = tarfile.TarInfo(f"{number}.{extension}")
                    member.size = len(contents[extension])
                    archive.addfile(member, io.BytesIO(contents[extension]))
            found.append(file.getvalue().rstrip(b"\0") + bytes(1024))
    return found


def _databases() -> list[bytes]:
    import sqlite3

    found = []
    for rows in (0, 3, 200):
        with sqlite3.connect(":memory:") as connection:
            connection.execute("PRAGMA page_size = 512")
            connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, half REAL, raw BLOB)")
            values = [(number, f"item {number}", number / 2, bytes(number % 9)) for number in range(rows)]
            connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", values)
            connection.commit()
            found.append(connection.serialize())
        connection.close()
    return found


def _query(path: str) -> Iterable[Any]:
    return hr.SqlDataset("SELECT * FROM items", path, output_types=[np.int64, str, np.float64, bytes])


def _tar() -> list[bytes]:
    found = []
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with io.BytesIO() as file:
            with tarfile.open(fileobj=file, mode="w", format=kind) as archive:
                for name in ("a/0.txt", "a/0.cls", "a/1.txt", "long/" * 30 + "2.txt", "ä.txt"):
                    member = tarfile.TarInfo(name)
                    member.size = len(name)
                    archive.addfile(member, io.BytesIO(name.encode()[: member.size].ljust(member.size)))
            found.append(file.getvalue())
    return found


def _tfrecords() -> list[bytes]:
    import tempfile
    from pathlib import Path

    found = []
    for records in ([], [b""], [b"a", b"bc" * 100, b""], [bytes([n]) * n for n in range(30)]):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.tfrecord")
            with hr.io.TFRecordWriter(path) as writer:
                for record in records:
                    writer.write(record)
            found.append(path.read_bytes())
    return found


def _examples() -> list[bytes]:
    return [
        hr.io.serialize_example({"a": [1, 2, 3], "b": [0.5], "c": ["text"]}),
        hr.io.serialize_example({"a": [7], "b": [1.0, 2.0], "c": []}),
    ]


def _parse_example(path: str) -> Iterable[Any]:
    io_ = hr.io
    features = {
        "a": io_.VarLenFeature(np.int64),
        "b": io_.FixedLenSequenceFeature((), np.float32, allow_missing=True),
        "c": io_.FixedLenFeature((), str, default_value=""),
    }
    yield io_.parse_single_example(io_.read_file(path), features)


def _one(function: Callable[[bytes], Any]) -> Callable[[str], Iterable[Any]]:
    def read(path: str) -> Iterable[Any]:
        yield function(hr.io.read_file(path))

    return read


def _lines(suffix: str, name: str, compress: Callable[[bytes], bytes]) -> Target:
    """Compressed text; two streams one after the other are one."""
    return Target(
        suffix,
        lambda: [compress(text) for text in _text()] + [compress(b"one\n") + compress(b"two\n")],
        lambda path: hr.TextLineDataset(path, name),
        most_answers=None,
    )


def _json_lines() -> list[bytes]:
    return [
        b'{"a": 1, "b": "x"}\n\n{"a": 2.5}\n',
        b"".join(b'{"a": %d.5, "b": "\\u00e9", "c": [%d]}\n' % (n, n) for n in range(40)),
        b"".join(b'{"a": %d, "b": "text %d", "c": [1, 2], "d": {"e": null}}\n' % (n, n) for n in range(40)),
    ]


def _tables() -> list[Any]:
    import pyarrow as pa

    rng = np.random.default_rng(0)
    wide = {
        "number": pa.array(rng.integers(0, 9, 50)),
        "text": pa.array([f"text {n}" if n % 7 else None for n in range(50)]).dictionary_encode(),
        "list": pa.array([list(range(n % 4)) for n in range(50)]),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.standard_normal(100)), 2),
        "nested": pa.array([{"x": n, "y": b"bytes"} for n in range(50)]),
    }
    return [pa.table({"a": [1, 2, 3], "b": [0.5, None, 1.5]}), pa.table(wide), pa.table({"a": pa.array([], pa.int8())})]


def _parquet() -> list[bytes]:
    import pyarrow.parquet as pq

    def written(table: Any, **options: Any) -> bytes:
        with io.BytesIO() as file:
            pq.write_table(table, file, **options)
            return file.getvalue()

    options: list[dict[str, Any]] = [{"row_group_size": 20}, {"compression": "zstd"}, {"compression": "none"}]
    return [written(table, **more) for table in _tables() for more in options]


_FILTERS = [[("number", ">", 4), ("half", "<=", 9.5)], [("text", "in", ["text 9", "text 10"])], [("at", "<", _NOON)]]


def _bounded_parquet() -> list[bytes]:
    """What has bounds in its footer, of all the types that filters look at."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "number": list(range(30)),
        "half": [number / 2 for number in range(30)],
        "text": [f"text {number}" for number in range(30)],
        "at": [_NOON + dt.timedelta(hours=number) for number in range(30)],
    }
    found = []
    for group in (5, 30):
        with io.BytesIO() as file:
            pq.write_table(pa.table(columns), file, row_group_size=group)
            found.append(file.getvalue())
    return found


def _by_number(path: str) -> Iterable[Any]:
    # However many rows a footer claims, each of which is an error then.
    return hr.ParquetDataset(path, random_access=True).take(200)


def _arrow() -> list[bytes]:
    import pyarrow as pa

    found = []
    for table, make, codec in itertools.product(_tables(), (pa.ipc.new_file, pa.ipc.new_stream), (None, "lz4", "zstd")):
        with pa.BufferOutputStream() as sink:
            with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
                writer.write_table(table, max_chunksize=20)
            found.append(sink.getvalue().to_pybytes())
    return found


def _npy() -> list[bytes]:
    found = []
    for array in (np.arange(6).reshape(3, 2), np.zeros((2, 5), "<f4", order="F"), np.array(["a", "bc"]), np.zeros(0)):
        with io.BytesIO() as file:
            np.save(file, array)
            found.append(file.getvalue())
    return found


def _npz() -> list[bytes]:
    found = []
    for save in (np.savez, np.savez_compressed):
        with io.BytesIO() as file:
            save(file, x=np.arange(12).reshape(4, 3), y=np.arange(4, dtype=np.int8))
            found.append(file.getvalue())
    return found


def _arrow_codec(name: str) -> Callable[[bytes], bytes]:
    def compress(content: bytes) -> bytes:
        import pyarrow as pa

        with pa.BufferOutputStream() as sink:
            with pa.CompressedOutputStream(sink, name) as stream:
                stream.write(content)
            return bytes(sink.getvalue().to_pybytes())

    return compress


_JSON_FIELDS = {"a": 0.0, "b": "none", "c": hr.TensorSpec((None,), np.int32)}

TARGETS: dict[str, Target] = {
    "text": Target(".txt", _text, hr.TextLineDataset),
    "gzip": _lines(".gz", "GZIP", gzip.compress),
    "zlib": _lines(".zz", "ZLIB", zlib.compress),
    "bz2": _lines(".bz2", "BZ2", bz2.compress),
    "xz": _lines(".xz", "XZ", lzma.compress),
    "zstd": _lines(".zst", "ZSTD", _arrow_codec("zstd")),
    "lz4": _lines(".lz4", "LZ4", _arrow_codec("lz4")),
    "csv": Target(".csv", _csv, lambda path: hr.CsvDataset(path, [np.int32, 7.0, "none"])),
    "json_lines": Target(".jsonl", _json_lines, hr.JsonLinesDataset),
    "json_fields": Target(".jsonl", _json_lines, lambda path: hr.JsonLinesDataset(path, record_defaults=_JSON_FIELDS)),
    "fixed_length": Target(".bin", _text, lambda path: hr.FixedLengthRecordDataset(path, 3, 1, 2)),
    "tfrecord": Target(".tfrecord", _tfrecords, hr.TFRecordDataset),
    "example": Target(".example", _examples, _parse_example),
    "tar": Target(".tar", _tar, hr.TarDataset),
    "elements": Target(".tar", _tar_elements, lambda path: hr.TarDataset(path, handlers="auto")),
    "sqlite": Target(".sqlite", _databases, _query, most_answers=10_000),
    "parquet": Target(".parquet", _parquet, hr.ParquetDataset, most_answers=10_000),
    "filters": Target(".parquet", _bounded_parquet, lambda path: hr.ParquetDataset(path, filters=_FILTERS), 10_000),
    "by_number": Target(".parquet", _parquet, _by_number, most_answers=10_000),
    "arrow": Target(".arrow", _arrow, hr.ArrowDataset, most_answers=10_000),
    "npy": Target(".npy", _npy, hr.NumpyDataset),
    "npz": Target(".npz", _npz, hr.NumpyDataset),
    "image": Target(".image", _pictures, _one(hr.io.decode_image)),
    "wav": Target(".wav", _sounds, _one(hr.audio.decode_wav)),
    "sound": Target(".sound", _packed_sounds, _one(hr.audio.decode)),
    "structures": Target(".case", cases, read_changed, most_answers=None),
}
