"""Sources of as many files, or row groups of one, as a plan has streams at most, so that files are dealt; no element is in two of them."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from tests.laws.elements import Build, folder, written
from tests.unit.io.tfrecord.tfrecord_files import file_of

import headrace as hr

FILES: Final = 24


def _parts(length: int) -> list[range]:
    """Returns which numbers are in which file: of unlike lengths, the first of none."""
    ends = [length * part * part // FILES**2 for part in range(FILES + 1)]
    return [range(*pair) for pair in itertools.pairwise(ends)]


def _lines(length: int) -> list[str]:
    return [written("".join(f"{number}\n" for number in part).encode(), f".{i}.txt") for i, part in _numbered(length)]


def _rows(length: int) -> list[str]:
    return [written("".join(f"{n},{n / 2}\n" for n in part).encode(), f".{i}.csv") for i, part in _numbered(length)]


def _objects(length: int) -> list[str]:
    text = '{{"id": {}}}\n'
    return [written("".join(map(text.format, part)).encode(), f".{i}.jsonl") for i, part in _numbered(length)]


def _records(length: int) -> list[str]:
    return [written(file_of([b"%d" % n for n in part]), f".{i}.tfrecord") for i, part in _numbered(length)]


def _archives(length: int) -> list[str]:
    return [written(_archive(part), f".{i}.tar") for i, part in _numbered(length)]


def _archive(numbers: Sequence[int]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in numbers:
            content = b"%d" % number
            info = tarfile.TarInfo(f"{number}.cls")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _numbered(length: int) -> list[tuple[int, range]]:
    return list(enumerate(_parts(length)))


def _row_groups(length: int, *, broken: bool = False) -> str:
    """One file of as many row groups, or of one for each row; a byte of the second one is another than was written, where it is broken."""
    sink = io.BytesIO()
    rows = pa.table({"id": pa.array(range(length), pa.int64())})
    each = max(1, length // FILES)
    pq.write_table(rows, sink, row_group_size=each, compression="none", use_dictionary=False, write_page_checksum=True)
    content = bytearray(sink.getvalue())
    if broken and length > each:
        chunk = pq.ParquetFile(pa.BufferReader(bytes(content))).metadata.row_group(1).column(0)
        content[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 1
    return written(bytes(content), ".parquet")


def _record_batches(length: int) -> str:
    sink, rows = io.BytesIO(), pa.table({"id": pa.array(range(length), pa.int64())})
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=max(1, length // FILES))
    return written(sink.getvalue(), ".arrow")


def _listed(length: int) -> hr.Dataset:
    place = folder() / f"many {length}"
    place.mkdir(exist_ok=True)
    for number, part in _numbered(length):
        if not (path := place / f"{number:02}.part").exists():
            path.write_text("".join(f"{n}\n" for n in part))
    return hr.Dataset.list_files(place / "*.part", shuffle=True, seed=3)


def many_files(lengths: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[str, Build]]:
    """Each of them as often as the others."""
    return st.builds(
        lambda name, length: (f"{name}({length})", lambda: SOURCES[name](length)),
        st.sampled_from(sorted(SOURCES)),
        lengths,
    )


SOURCES: Final[dict[str, Callable[[int], hr.Dataset]]] = {
    "many texts": lambda n: hr.TextLineDataset(_lines(n)),
    "many texts, two at a time": lambda n: hr.TextLineDataset(_lines(n), num_parallel_reads=2),
    "many csv": lambda n: hr.CsvDataset(_rows(n), [np.int32, 7.0]),
    "many json": lambda n: hr.JsonLinesDataset(_objects(n), record_defaults={"id": np.int64}),
    "many records": lambda n: hr.TFRecordDataset(_records(n)),
    "many numbered records": lambda n: hr.TFRecordDataset(_records(n), random_access=True),
    "many tars": lambda n: hr.TarDataset(_archives(n), {"cls": int}),
    "many texts, some absent": lambda n: hr.TextLineDataset(["absent.txt", *_lines(n), "absent.txt"], on_error="skip"),
    "many texts, interleaved": lambda n: (
        hr.Dataset.from_tensor_slices(_lines(n)).shuffle(FILES, seed=1).interleave(hr.TextLineDataset, cycle_length=3)
    ),
    "many texts, read ahead": lambda n: hr.Dataset.from_tensor_slices(_lines(n)).interleave(
        hr.TextLineDataset, cycle_length=4, num_parallel_calls=2
    ),
    "many row groups": lambda n: hr.ParquetDataset(_row_groups(n)),
    "many row groups, two at a time": lambda n: hr.ParquetDataset(_row_groups(n), num_parallel_reads=2),
    "many row groups, one broken": lambda n: hr.ParquetDataset(_row_groups(n, broken=True)),
    "many row groups, filtered": lambda n: hr.ParquetDataset(_row_groups(n), filters=[("id", "not in", [1, 7, 8, 9])]),
    "many record batches": lambda n: hr.ArrowDataset(_record_batches(n), on_error="skip"),
    "many listed files": lambda n: _listed(n).flat_map(hr.TextLineDataset),
}
