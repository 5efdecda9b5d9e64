"""Sources of columns in files: Parquet, Arrow and NumPy, whole and broken, with nulls, and read by number."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.laws.elements import written

import headrace as hr


def table(length: int, *, nulls: bool = False, ragged: bool = False) -> pa.Table:
    """Columns of several kinds; every third text is null where nulls are asked for."""
    numbers = range(length)
    columns: dict[str, Any] = {
        "y": pa.array([None if nulls and number % 3 == 1 else f"é{number % 4}" for number in numbers], pa.string()),
        "x": pa.array(numbers, pa.int16()),
        "inner": pa.array([{"b": number, "a": [number, -number]} for number in numbers], _INNER),
    }
    if ragged:
        columns["items"] = pa.array([list(range(number % 3)) for number in numbers], pa.list_(pa.int64()))
        columns["lists"] = pa.array(
            [[[number], []] * (number % 2) for number in numbers], pa.list_(columns["items"].type)
        )
    return pa.table(columns)


_INNER = pa.struct([("b", pa.int64()), ("a", pa.list_(pa.float32(), 2))])


def parquet_file(length: int, *, broken: bool = False, **how: bool) -> str:
    """Row groups of four rows; a byte of the second one is another than was written, where it is broken."""
    sink = io.BytesIO()
    pq.write_table(
        table(length, **how),
        sink,
        row_group_size=4,
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
    )
    content = bytearray(sink.getvalue())
    if broken and length > 4:
        chunk = pq.ParquetFile(pa.BufferReader(bytes(content))).metadata.row_group(1).column(1)
        content[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 1
    return written(bytes(content), ".parquet")


def arrow_file(length: int, *, stream: bool = False, cut: int | None = None, **how: bool) -> str:
    """Record batches of four rows, compressed where the length is odd."""
    sink, rows = io.BytesIO(), table(length, **how)
    options = pa.ipc.IpcWriteOptions(compression="lz4" if length % 2 else None)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(sink, rows.schema, options=options) as writer:
        for batch in rows.to_batches(max_chunksize=4):
            writer.write_batch(batch)
    return written(sink.getvalue()[:cut], ".arrows" if stream else ".arrow")


def numpy_file(length: int, *, how: str) -> str:
    """An array, one whose rows are dicts, or an archive of two."""
    numbers = np.arange(length)
    sink = io.BytesIO()
    if how == "archive":
        np.savez(sink, b=numbers.astype(">i2"), a=numbers.astype(str).astype("S"))
    elif how == "fields":
        np.save(
            sink, np.array([(n, (n, f"é{n}")) for n in range(length)], [("z", "f4"), ("y", [("b", "i8"), ("a", "U4")])])
        )
    else:
        np.save(sink, np.asfortranarray(np.stack([numbers, -numbers], axis=1)))
    return written(sink.getvalue(), ".npz" if how == "archive" else ".npy")


def _parquet_by_number(length: int) -> hr.Dataset:
    # So few bytes are kept that every change of the row group reads it anew.
    files = [parquet_file(length), parquet_file(2)]
    return hr.ParquetDataset(files, random_access=True, num_parallel_reads=length % 3 or None, cache_bytes=1)


def _of_files(length: int) -> hr.Dataset:
    names = np.array([parquet_file(length), "absent.parquet", parquet_file(3)], dtype=object)
    return hr.ParquetDataset(hr.Dataset.from_tensor_slices(names), num_parallel_reads=2)


_FILTERS = [[("x", "in", [1, 2, 6, 11])], [("y", "=", "é3"), ("x", ">", 4)]]

SOURCES: dict[str, Callable[[int], hr.Dataset]] = {
    "parquet": lambda n: hr.ParquetDataset([parquet_file(n), parquet_file(n // 2)]),
    "parquet columns": lambda n: hr.ParquetDataset(parquet_file(n), ["x", "y"]),
    "filtered parquet": lambda n: hr.ParquetDataset([parquet_file(n), parquet_file(5)], ["x"], _FILTERS),
    "parquet with nulls": lambda n: hr.ParquetDataset([parquet_file(n, nulls=True), parquet_file(2)]),
    "readable parquet": lambda n: hr.ParquetDataset(
        [parquet_file(n, nulls=True), "absent.parquet", parquet_file(n, broken=True)], on_error="skip"
    ),
    "broken parquet": lambda n: hr.ParquetDataset(["absent.parquet", parquet_file(n, broken=True), parquet_file(2)]),
    "ragged parquet": lambda n: hr.ParquetDataset(parquet_file(n, ragged=True)),
    "parquet of files": _of_files,
    "parquet by number": _parquet_by_number,
    "ragged parquet by number": lambda n: hr.ParquetDataset(parquet_file(n, ragged=True), random_access=True),
    "parquet with nulls by number": lambda n: hr.ParquetDataset(parquet_file(n, nulls=True), random_access=True),
    "arrow": lambda n: hr.ArrowDataset([arrow_file(n), arrow_file(n // 2, stream=True)]),
    "filtered arrow": lambda n: hr.ArrowDataset([arrow_file(n)], ["y"], _FILTERS),
    "cut arrow": lambda n: hr.ArrowDataset([arrow_file(n, stream=True, cut=-200), arrow_file(2)], num_parallel_reads=2),
    "arrow with nulls": lambda n: hr.ArrowDataset(arrow_file(n, nulls=True), record_defaults={"y": "none"}),
    "ragged arrow": lambda n: hr.ArrowDataset(arrow_file(n, ragged=True)),
    "numpy": lambda n: hr.NumpyDataset([numpy_file(n, how="plain"), numpy_file(2, how="plain")]),
    "numpy fields": lambda n: hr.NumpyDataset(numpy_file(n, how="fields")),
    "numpy archives": lambda n: hr.NumpyDataset(
        [numpy_file(n, how="archive"), numpy_file(3, how="archive")], num_parallel_reads=n % 3 or None
    ),
    "arrow by number": lambda n: hr.ArrowDataset([arrow_file(n), arrow_file(3)], random_access=True),
}
