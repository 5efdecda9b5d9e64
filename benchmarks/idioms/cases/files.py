"""Elements of files: lines, CSV, records, columns, archives, a database."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from collections.abc import Iterator
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case
from idioms.cases import file_data as files
from idioms.cases.nesting import interleaved
from idioms.loaders import streamed
from idioms.plain import batches, chunks, dicts_stacked, tuples_stacked


def _lines(paths: list[str]) -> Iterator[str]:
    return (line for path in paths for line in files.lines_of(path))


def _rows_below_names(path: str) -> Iterator[str]:
    lines = files.lines_of(path)
    next(lines)
    return lines


def _tokens_padded(path: str) -> Iterator[Any]:
    """Tokens with zeros behind them, and labels."""
    for rows in chunks(_objects(path), 32):
        tokens = np.zeros((len(rows), max(len(row["tokens"]) for row in rows)), np.int64)
        for padded, row in zip(tokens, rows, strict=True):
            padded[: len(row["tokens"])] = row["tokens"]
        yield tokens, np.array([row["label"] for row in rows])


def _labelled(paths: list[str]) -> Iterator[Any]:
    for path in paths:
        for line in _rows_below_names(path):
            label, _, text = line.partition(",")
            if label == "1":
                yield text


def _labelled_lines(hr: Any, paths: list[str]) -> Any:
    return (
        hr.Dataset.from_tensor_slices(paths)
        .flat_map(lambda path: hr.TextLineDataset(path).skip(1))
        .filter(lambda line: line.startswith("1"))
        .map(lambda line: line.partition(",")[2])
        .batch(32)
    )


def _labelled_lines_in_tf(tf: Any, paths: list[str]) -> Any:
    return (
        tf.data.Dataset.from_tensor_slices(paths)
        .flat_map(lambda path: tf.data.TextLineDataset(path).skip(1))
        .filter(lambda line: tf.equal(tf.strings.substr(line, 0, 1), "1"))
        .map(lambda line: tf.strings.substr(line, 2, -1))
        .batch(32)
    )


def _ported_csv(hr: Any, paths: list[str]) -> Any:
    defaults = [np.float32(0)] * 1025

    def parsed(lines: Any) -> Any:
        return np.stack(hr.io.decode_csv(lines, defaults), axis=1)

    return hr.TextLineDataset(paths).batch(23).map(parsed)


def _ported_csv_in_tf(tf: Any, paths: list[str]) -> Any:
    def parsed(lines: Any) -> Any:
        return tf.stack(tf.io.decode_csv(lines, [tf.constant(0.0)] * 1025), axis=1)

    return tf.data.TextLineDataset(paths).batch(23).map(parsed)


def _wide_columns(hr: Any, paths: list[str]) -> Any:
    return hr.CsvDataset(paths, [np.float32(0)] * 1025).batch(23).map(lambda *columns: np.stack(columns, axis=1))


def _wide_columns_in_tf(tf: Any, paths: list[str]) -> Any:
    defaults = [tf.constant(0.0)] * 1025
    dataset = tf.data.experimental.CsvDataset(paths, defaults).batch(23)
    return dataset.map(lambda *columns: tf.stack(columns, axis=1))


def _interleaved_records(hr: Any, paths: list[str]) -> Any:
    files_of = hr.Dataset.list_files(str(Path(paths[0]).parent / "*.tfrecord"), shuffle=False)
    return files_of.interleave(hr.TFRecordDataset, cycle_length=4, num_parallel_calls=hr.AUTOTUNE).batch(128)


def _interleaved_records_by_hand(paths: list[str]) -> Iterator[Any]:
    return batches(interleaved(paths, files.records_of, 4), 128)


def _objects(path: str) -> Iterator[Any]:
    return map(json.loads, files.lines_of(path))


def _table_rows(table: Any) -> Iterator[Any]:
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    for start in range(0, table.num_rows, 1024):
        yield {name: column[start : start + 1024] for name, column in columns.items()}


def _groups(path: str) -> list[tuple[str, int]]:
    return [(path, group) for group in range(import_module("pyarrow.parquet").ParquetFile(path).num_row_groups)]


def _group(path: str, group: int) -> dict[str, Any]:
    table = import_module("pyarrow.parquet").ParquetFile(path).read_row_group(group)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _row_groups(hr: Any, path: str) -> Any:
    groups = _groups(path)
    return (
        hr.Dataset.range(len(groups))
        .map(lambda index: _group(*groups[index]), num_parallel_calls=hr.AUTOTUNE)
        .rebatch(1024)
        .prefetch(2)
    )


def _row_groups_by_hand(path: str) -> Iterator[Any]:
    groups = [_group(*one) for one in _groups(path)]
    columns = {name: np.concatenate([group[name] for group in groups]) for name in groups[0]}
    for start in range(0, len(columns["id"]), 1024):
        yield {name: column[start : start + 1024] for name, column in columns.items()}


def _shard(path: str) -> Iterator[dict[str, Any]]:
    with tarfile.open(path) as archive:
        found: dict[str, dict[str, Any]] = {}
        for member in archive:
            key, _, ending = member.name.partition(".")
            content = archive.extractfile(member)
            found.setdefault(key, {})[ending] = content.read() if content else b""
            if len(found[key]) == 2:
                parts = found.pop(key)
                yield {"txt": parts["txt"].decode(), "cls": int(parts["cls"])}


def _shard_elements(hr: Any, path: str) -> Any:
    dataset = hr.TarDataset(path, handlers={"txt": bytes.decode, "cls": int})
    return dataset.map(lambda row: {"txt": row["txt"], "cls": row["cls"]}).batch(32)


def _database_rows(path: str) -> Iterator[Any]:
    connection = sqlite3.connect(path)
    try:
        yield from connection.execute("SELECT id, text, value FROM rows ORDER BY id")
    finally:
        connection.close()


def _archive_rows(path: str) -> Iterator[Any]:
    with np.load(path) as archive:
        x, y = archive["x"], archive["y"]
    return tuples_stacked(zip(x, y, strict=True), 128)


CASES: Final = (
    Case(
        name="text_lines",
        written="TextLineDataset(files).batch(128)",
        ours=lambda hr, paths: hr.TextLineDataset(paths).batch(128),
        plain=lambda paths: batches(_lines(paths), 128),
        tfdata=SAME,
        torch=lambda torch, paths: streamed(torch, lambda: _lines(paths), batch_size=128),
        data=files.text_files,
        full=100_000,
    ),
    Case(
        name="text_lines_labelled",
        written='from_tensor_slices(files).flat_map(TextLineDataset(f).skip(1)).filter("1…").map(text of it).batch(32)',
        ours=_labelled_lines,
        plain=lambda paths: batches(_labelled(paths), 32),
        tfdata=_labelled_lines_in_tf,
        torch=lambda torch, paths: streamed(torch, lambda: _labelled(paths), batch_size=32),
        data=files.text_files,
        full=100_000,
    ),
    Case(
        name="interleave_text_lines",
        written="list_files(pattern, shuffle=False).interleave(TextLineDataset(f).skip(1), cycle_length=4).batch(32)",
        ours=lambda hr, paths: (
            hr.Dataset.list_files(str(Path(paths[0]).parent / "*.txt"), shuffle=False)
            .interleave(lambda path: hr.TextLineDataset(path).skip(1), cycle_length=4)
            .batch(32)
        ),
        plain=lambda paths: batches(interleaved(paths, _rows_below_names, 4), 32),
        tfdata=SAME,
        data=files.text_files,
        full=100_000,
    ),
    Case(
        name="csv_mixed",
        written="CsvDataset(files, 12 defaults of three types).batch(128)",
        ours=lambda hr, paths: hr.CsvDataset(paths, files.MIXED_DEFAULTS).batch(128),
        plain=lambda paths: tuples_stacked(files.mixed_rows(paths), 128),
        tfdata=SAME,
        torch=lambda torch, paths: streamed(torch, lambda: files.mixed_rows(paths), batch_size=128),
        data=files.mixed_csv,
        full=100_000,
    ),
    Case(
        name="csv_wide",
        written="CsvDataset(files, 1,025 float32).batch(23).map(np.stack)",
        ours=_wide_columns,
        plain=files.wide_rows,
        tfdata=_wide_columns_in_tf,
        data=files.wide_csv,
        small=200,
        full=2_000,
    ),
    Case(
        name="csv_wide_decoded",
        written="TextLineDataset(files).batch(23).map(np.stack(decode_csv(lines, 1,025 defaults)))",
        ours=_ported_csv,
        plain=files.wide_rows,
        tfdata=_ported_csv_in_tf,
        data=files.wide_csv,
        small=200,
        full=2_000,
    ),
    Case(
        name="tfrecord",
        written="TFRecordDataset(files).batch(128)",
        ours=lambda hr, paths: hr.TFRecordDataset(paths).batch(128),
        plain=lambda paths: batches((record for path in paths for record in files.records_of(path)), 128),
        tfdata=SAME,
        data=files.examples,
        note="the plain loop compares no checksums",
        full=20_000,
    ),
    Case(
        name="tfrecord_interleave",
        written="list_files(pattern).interleave(TFRecordDataset, cycle_length=4, AUTOTUNE).batch(128)",
        ours=_interleaved_records,
        plain=_interleaved_records_by_hand,
        tfdata=SAME,
        data=files.examples,
        note="the plain loop compares no checksums",
        full=20_000,
    ),
    Case(
        name="fixed_length",
        written="FixedLengthRecordDataset(file, 16).map(decode_raw(record, int64)).batch(128)",
        ours=lambda hr, path: (
            hr.FixedLengthRecordDataset(path, 16).map(lambda record: hr.io.decode_raw(record, np.int64)).batch(128)
        ),
        plain=lambda path: batches(files.fixed_records(path), 128),
        tfdata=lambda tf, path: (
            tf.data.FixedLengthRecordDataset(path, 16).map(lambda record: tf.io.decode_raw(record, tf.int64)).batch(128)
        ),
        data=files.fixed_length,
    ),
    Case(
        name="json_lines",
        written="JsonLinesDataset(file).batch(32)",
        ours=lambda hr, path: hr.JsonLinesDataset(path).batch(32),
        plain=lambda path: dicts_stacked(_objects(path), 32),
        torch=lambda torch, path: streamed(torch, lambda: _objects(path), batch_size=32),
        data=files.json_lines,
        full=100_000,
    ),
    Case(
        name="json_lines_loads",
        written='TextLineDataset(file).map(json.loads).map(row["text"]).batch(32)',
        ours=lambda hr, path: hr.TextLineDataset(path).map(json.loads).map(itemgetter("text")).batch(32),
        plain=lambda path: batches((row["text"] for row in _objects(path)), 32),
        data=files.json_lines,
        full=100_000,
    ),
    Case(
        name="json_lines_tokens",
        written='TextLineDataset(file).map(json.loads).map((row["tokens"], row["label"])).padded_batch(32)',
        ours=lambda hr, path: (
            hr.TextLineDataset(path)
            .map(json.loads)
            .map(lambda row: (row["tokens"], row["label"]))
            .padded_batch(32, ([None], []))
        ),
        plain=_tokens_padded,
        data=files.json_lines_of_tokens,
        full=100_000,
    ),
    Case(
        name="parquet",
        written="ParquetDataset(file).batch(1024)",
        ours=lambda hr, path: hr.ParquetDataset(path).batch(1024),
        plain=lambda path: _table_rows(import_module("pyarrow.parquet").read_table(path)),
        data=files.parquet_file,
        full=2_000_000,
    ),
    Case(
        name="parquet_row_groups",
        written="range(groups).map(pyarrow's read_row_group, AUTOTUNE).rebatch(1024).prefetch(2)",
        ours=_row_groups,
        plain=_row_groups_by_hand,
        data=files.parquet_file,
        full=2_000_000,
    ),
    Case(
        name="arrow",
        written="ArrowDataset(file).batch(1024)",
        ours=lambda hr, path: hr.ArrowDataset(path).batch(1024),
        plain=lambda path: _table_rows(import_module("pyarrow").ipc.open_file(path).read_all()),
        data=files.arrow_file,
        full=2_000_000,
    ),
    Case(
        name="numpy",
        written="NumpyDataset(file).map((x, y)).batch(128)",
        ours=lambda hr, path: hr.NumpyDataset(path).map(lambda row: (row["x"], row["y"])).batch(128),
        plain=_archive_rows,
        data=files.array_files,
    ),
    Case(
        name="tar",
        written='TarDataset(file, handlers={"txt", "cls"}).map({"txt", "cls"}).batch(32)',
        ours=_shard_elements,
        plain=lambda path: dicts_stacked(_shard(path), 32),
        torch=lambda torch, path: streamed(torch, lambda: _shard(path), batch_size=32),
        data=files.tar_file,
        full=20_000,
    ),
    Case(
        name="sql",
        written='SqlDataset("SELECT …", file, order_key="id").batch(128)',
        ours=lambda hr, path: hr.SqlDataset("SELECT id, text, value FROM rows", path, order_key="id").batch(128),
        plain=lambda path: tuples_stacked(_database_rows(path), 128),
        data=files.database,
        full=100_000,
    ),
)
