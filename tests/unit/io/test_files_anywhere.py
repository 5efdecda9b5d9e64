"""Every format of files is read alike from a disk, from memory and from a web server, and goes on in the middle."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from tests.unit.io.compressing import COMPRESS, SUFFIXES
from tests.unit.io.http_server import WebServer, serving
from tests.unit.io.tfrecord.tfrecord_files import file_of

import headrace as hr
from headrace.errors import DataLossError, NotFoundError
from headrace.testing import check_every_restore_point

Reader = Callable[[str], hr.Dataset]

N = 7
TABLE = pa.table({"id": list(range(N)), "text": [f"text {number}" for number in range(N)]})


def written(write: Callable[[Any], Any]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in range(N):
            about = tarfile.TarInfo(f"{number}.txt")
            about.size = 6
            archive.addfile(about, io.BytesIO(b"text %d" % number))
    return buffer.getvalue()


LINES = b"".join(b"line %d\n" % number for number in range(N))
FORMATS: dict[str, tuple[bytes, Reader]] = {
    "text": (LINES, hr.TextLineDataset),
    "csv": (b"".join(b"%d,x%d\n" % (n, n) for n in range(N)), lambda path: hr.CsvDataset(path, [np.int64, ""])),
    "fixed": (LINES, lambda path: hr.FixedLengthRecordDataset(path, 7)),
    "json": (b"".join(b'{"a": %d}\n' % n for n in range(N)), hr.JsonLinesDataset),
    "json fields": (
        b"".join(b'{"a": %d}\n' % n for n in range(N)),
        lambda path: hr.JsonLinesDataset(path, record_defaults={"a": 0}),
    ),
    "tfrecord": (file_of(b"record %d" % number for number in range(N)), hr.TFRecordDataset),
    "tar": (tar(), hr.TarDataset),
    "parquet": (written(lambda file: pq.write_table(TABLE, file, row_group_size=2)), hr.ParquetDataset),
    "arrow": (written(lambda file: pa.feather.write_feather(TABLE, file)), hr.ArrowDataset),
    "npy": (written(lambda file: np.save(file, np.arange(N))), hr.NumpyDataset),
    "compressed text": (COMPRESS["ZSTD"](LINES), lambda path: hr.TextLineDataset(path, "ZSTD")),
}


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as served:
        yield served


def in_memory(name: str, content: bytes) -> str:
    import fsspec

    path = f"memory://anywhere/{name}"
    with fsspec.open(path, "wb") as file:
        file.write(content)
    return path


def shown(dataset: hr.Dataset, path: str) -> list[str]:
    """The elements, without the name of the file where they say it."""
    return [repr(element).replace(path, "PATH") for element in dataset]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_file_is_the_same_wherever_it_lies(name: str, tmp_path: Path, server: WebServer) -> None:
    content, read = FORMATS[name]
    local = tmp_path / "local"
    local.write_bytes(content)
    elements = shown(read(str(local)), str(local))
    assert len(elements) == N
    for path in (in_memory(name, content), server.put(name.replace(" ", "_"), content)):
        assert shown(read(path), path) == elements


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("place", ["memory", "web"])
def test_reading_goes_on_in_the_middle_wherever_a_file_lies(name: str, place: str, server: WebServer) -> None:
    content, read = FORMATS[name]
    path = in_memory(name, content) if place == "memory" else server.put(name.replace(" ", "_"), content)
    check_every_restore_point(read(path))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_file_that_the_server_does_not_have_is_told(name: str, server: WebServer) -> None:
    with pytest.raises(NotFoundError, match=rf"no such file: {server.address}/absent"):
        list(FORMATS[name][1](f"{server.address}/absent"))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_server_that_hangs_up_is_told_and_nothing_is_made_up(name: str, server: WebServer) -> None:
    content, read = FORMATS[name]
    path = server.put(name.replace(" ", "_"), content)
    server.drops_after = len(content) // 2
    in_full = in_memory(name, content)
    good = shown(read(in_full), in_full)
    told: list[str] = []
    with pytest.raises(DataLossError, match=server.address):
        told.extend(repr(element).replace(path, "PATH") for element in read(path))
    assert told == good[: len(told)]


@pytest.mark.parametrize("kind", sorted(COMPRESS))
def test_a_compressed_file_of_a_server_is_known_by_its_suffix(kind: str, server: WebServer) -> None:
    path = server.put(f"lines.txt{SUFFIXES[kind]}", COMPRESS[kind](LINES)) + "?download=1"
    assert list(hr.TextLineDataset(path, "INFER")) == LINES.decode().splitlines()


def test_a_resumed_run_asks_the_server_for_the_rest_alone(server: WebServer) -> None:
    path = server.put("long.txt", b"".join(b"line %07d\n" % number for number in range(500_000)))
    dataset = hr.TextLineDataset(path)
    iterator = iter(dataset)
    for _ in range(400_000):
        next(iterator)
    state = iterator.state_dict()
    iterator.close()
    server.ranges.clear()
    resumed = iter(dataset)
    resumed.load_state_dict(state)
    assert next(resumed) == "line 0400000"
    resumed.close()
    assert min(server.ranges) > 4_000_000


def test_several_files_are_read_from_memory_at_once() -> None:
    paths = [in_memory("shared", LINES)] * 3
    lines = list(hr.TextLineDataset(paths, buffer_size=8, num_parallel_reads=3))
    assert sorted(lines) == sorted(LINES.decode().splitlines() * 3)
