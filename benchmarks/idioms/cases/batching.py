"""Elements together: batch, padded, ragged, by length, packed, and apart again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case, Unit
from idioms.loaders import mapped, streamed
from idioms.plain import batches, chunks, dicts_stacked, slices, tuples_stacked


def _counts(units: int, folder: Path) -> Any:
    return np.random.default_rng(0).integers(1, 20, units)


def _documents(units: int, folder: Path) -> list[Any]:
    """Documents of so many tokens together."""
    lengths = np.random.default_rng(0).integers(10, 200, units // 100)
    return [np.arange(length, dtype=np.int32) for length in lengths]


def padded(rows: list[Any]) -> Any:
    """One array of rows of different lengths, zeros at their ends."""
    made = np.zeros((len(rows), max(map(len, rows))), rows[0].dtype)
    for index, row in enumerate(rows):
        made[index, : len(row)] = row
    return made


def _bucketed(counts: Any) -> Iterator[Any]:
    boundaries, sizes = (5, 10, 15), (32, 32, 32, 32)
    buckets: list[list[Any]] = [[] for _ in sizes]
    for count in counts.tolist():
        index = sum(count >= boundary for boundary in boundaries)
        bucket = buckets[index]
        bucket.append(np.arange(count))
        if len(bucket) == sizes[index]:
            yield padded(bucket)
            bucket.clear()
    yield from (padded(bucket) for bucket in buckets if bucket)


def _first_fit(documents: list[Any], length: int) -> Iterator[Any]:
    """Each document in the oldest of 32 open rows with room; where there is none, the oldest is finished."""
    rows: list[
        tuple[Any, list[int]]
    ] = []  # tokens, segment ids and positions as one array, and where each segment ends
    for document in documents:
        found = next((row for row in rows if row[1][-1] + len(document) <= length), None)
        if found is None:
            if len(rows) == 32:
                yield tuple(rows.pop(0)[0])
            found = np.zeros((3, length), np.int32), [0]
            rows.append(found)
        columns, ends = found
        begin, end = ends[-1], ends[-1] + len(document)
        columns[0, begin:end], columns[1, begin:end], columns[2, begin:end] = (
            document,
            len(ends),
            np.arange(len(document)),
        )
        ends.append(end)
    yield from (tuple(columns) for columns, _ in rows)


def _packed(documents: list[Any], length: int) -> Iterator[Any]:
    """Tokens, segment ids and positions, sequence after sequence, cut where a row is full."""
    tokens = np.concatenate(documents)
    segments, positions = np.empty_like(tokens), np.empty_like(tokens)
    begin = segment = 0
    for document in documents:
        at, rest = begin, len(document)
        while rest:
            segment = 1 if at % length == 0 else segment + 1
            taken = min(rest, length - at % length)
            segments[at : at + taken] = segment
            positions[at : at + taken] = np.arange(taken)
            at, rest = at + taken, rest - taken
        begin += len(document)
    short = -len(tokens) % length
    columns = [np.pad(column, (0, short)).reshape(-1, length) for column in (tokens, segments, positions)]
    return zip(*columns, strict=True)


def _of_counts(hr: Any, counts: Any) -> Any:
    return hr.Dataset.from_tensor_slices(counts).map(np.arange)


def _of_counts_in_tf(tf: Any, counts: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(counts).map(tf.range)


def _sentences(hr: Any, counts: Any) -> Any:
    return (
        hr.Dataset.from_tensor_slices((counts, counts))
        .map(lambda one, other: (np.arange(one), other))
        .filter(lambda ids, label: len(ids) < 16)
        .padded_batch(64, padded_shapes=([None], []))
        .prefetch(hr.AUTOTUNE)
    )


def _sentences_in_tf(tf: Any, counts: Any) -> Any:
    return (
        tf.data.Dataset.from_tensor_slices((counts, counts))
        .map(lambda one, other: (tf.range(one), other))
        .filter(lambda ids, label: tf.size(ids) < 16)
        .padded_batch(64, padded_shapes=([None], []))
        .prefetch(tf.data.AUTOTUNE)
    )


def _sentences_by_hand(counts: Any) -> Iterator[Any]:
    sentences = ((np.arange(count), count) for count in counts)
    for chunk in chunks(((ids, label) for ids, label in sentences if len(ids) < 16), 64):
        ids, labels = zip(*chunk, strict=True)
        yield padded(list(ids)), np.array(labels)


def _padded_in_torch(torch: Any, rows: Iterable[Any]) -> Any:
    return torch.nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True)


def _ragged(rows: list[Any]) -> tuple[Any, Any]:
    """The values of all rows, and where each row begins: what a ragged array is."""
    return np.concatenate(rows), np.cumsum([0, *map(len, rows)])


def _pairs_of_batches(units: int) -> Iterator[tuple[Any, Any]]:
    rows = np.ones((32, 8), np.float32)
    for index in range(units // 32):
        yield rows, np.full(32, index)


CASES: Final = (
    Case(
        name="batch_mapped_rows",
        written="from_tensor_slices(rows).map(x).batch(32)",
        ours=lambda hr, rows: hr.Dataset.from_tensor_slices(rows).map(lambda x: x).batch(32),
        plain=lambda rows: batches(iter(rows), 32),
        tfdata=SAME,
        torch=lambda torch, rows: mapped(torch, len(rows), rows.__getitem__, batch_size=32),
        data=lambda n, folder: np.ones((n, 64), np.float32),
    ),
    Case(
        name="batch_drop_remainder",
        written="range(n).map(x + 1).batch(100, drop_remainder=True).map(sum).prefetch(AUTOTUNE)",
        ours=lambda hr, n: (
            hr.Dataset.range(n + 50)
            .map(lambda x: x + 1)
            .batch(100, drop_remainder=True)
            .map(lambda batch: batch * 2)
            .prefetch(hr.AUTOTUNE)
        ),
        plain=lambda n: (batch * 2 for batch in batches(range(1, (n + 50) // 100 * 100 + 1), 100)),
        tfdata=SAME,
    ),
    Case(
        name="batch_sequences",
        written="from_tensor_slices(ids).batch(101, drop_remainder=True).map((s[:-1], s[1:])).batch(64)",
        ours=lambda hr, ids: (
            hr.Dataset.from_tensor_slices(ids)
            .batch(101, drop_remainder=True)
            .map(lambda sequence: (sequence[:-1], sequence[1:]))
            .batch(64)
        ),
        plain=lambda ids: tuples_stacked(
            ((ids[at : at + 100], ids[at + 1 : at + 101]) for at in range(0, len(ids) - 100, 101)), 64
        ),
        tfdata=SAME,
        torch=lambda torch, ids: mapped(
            torch,
            len(ids) // 101,
            lambda index: (ids[101 * index : 101 * index + 100], ids[101 * index + 1 : 101 * index + 101]),
            batch_size=64,
        ),
        data=lambda n, folder: np.arange(n),
        full=2_000_000,
    ),
    Case(
        name="batch_dicts",
        written='range(n).map({"id": x, "text": str(x)}).batch(32)',
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: {"id": x, "text": str(x)}).batch(32),
        plain=lambda n: dicts_stacked(({"id": x, "text": str(x)} for x in range(n)), 32),
        tfdata=lambda tf, n: (
            tf.data.Dataset.range(n).map(lambda x: {"id": x, "text": tf.strings.as_string(x)}).batch(32)
        ),
        torch=lambda torch, n: mapped(torch, n, lambda x: {"id": x, "text": str(x)}, batch_size=32),
    ),
    Case(
        name="batch_parallel",
        written="range(n).map(x + 1).batch(32, num_parallel_calls=AUTOTUNE)",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).batch(32, num_parallel_calls=hr.AUTOTUNE),
        plain=lambda n: batches((x + 1 for x in range(n)), 32),
        tfdata=SAME,
    ),
    Case(
        name="distributed_batch",
        written="range(n).map(x + 1).distributed_batch(128), one rank alone",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).distributed_batch(128),
        plain=lambda n: batches((x + 1 for x in range(n - n % 128)), 128),
    ),
    Case(
        name="unbatch",
        written="range(n).batch(32).unbatch()",
        ours=lambda hr, n: hr.Dataset.range(n).batch(32).unbatch(),
        plain=lambda n: (x for batch in slices(np.arange(n), 32) for x in batch.tolist()),
        tfdata=SAME,
    ),
    Case(
        name="unbatch_pairs",
        written="from_generator(pairs of batches).unbatch().batch(50)",
        ours=lambda hr, n: hr.Dataset.from_generator(lambda: _pairs_of_batches(n)).unbatch().batch(50),
        plain=lambda n: tuples_stacked(
            (pair for batch in _pairs_of_batches(n) for pair in zip(*batch, strict=True)), 50
        ),
        tfdata=lambda tf, n: (
            tf.data.Dataset.from_generator(
                lambda: _pairs_of_batches(n),
                output_signature=(tf.TensorSpec((32, 8), tf.float32), tf.TensorSpec((32,), tf.int64)),
            )
            .unbatch()
            .batch(50)
        ),
    ),
    Case(
        name="rebatch",
        written="range(n).batch(32).rebatch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).batch(32).rebatch(128),
        plain=lambda n: (np.concatenate(four) for four in chunks(slices(np.arange(n), 32), 4)),
        tfdata=SAME,
    ),
    Case(
        name="padded_batch",
        written="from_tensor_slices(counts).map(np.arange).padded_batch(32)",
        ours=lambda hr, counts: _of_counts(hr, counts).padded_batch(32),
        plain=lambda counts: (padded(rows) for rows in chunks(map(np.arange, counts), 32)),
        tfdata=lambda tf, counts: _of_counts_in_tf(tf, counts).padded_batch(32),
        torch=lambda torch, counts: mapped(
            torch,
            len(counts),
            lambda index: np.arange(counts[index]),
            batch_size=32,
            collate_fn=lambda rows: _padded_in_torch(torch, rows),
        ),
        data=_counts,
    ),
    Case(
        name="padded_batch_sentences",
        written="map(tokenize).filter(shorter than 16).padded_batch(64, ([None], [])).prefetch(AUTOTUNE)",
        ours=_sentences,
        plain=_sentences_by_hand,
        tfdata=_sentences_in_tf,
        data=_counts,
    ),
    Case(
        name="ragged_batch",
        written="from_tensor_slices(counts).map(np.arange).ragged_batch(32)",
        ours=lambda hr, counts: _of_counts(hr, counts).ragged_batch(32),
        plain=lambda counts: (_ragged(rows) for rows in chunks(map(np.arange, counts), 32)),
        tfdata=lambda tf, counts: _of_counts_in_tf(tf, counts).ragged_batch(32),
        data=_counts,
    ),
    Case(
        name="bucket_by_sequence_length",
        written="from_tensor_slices(counts).map(np.arange).bucket_by_sequence_length(len, [5, 10, 15], [32] * 4)",
        ours=lambda hr, counts: _of_counts(hr, counts).bucket_by_sequence_length(len, [5, 10, 15], [32] * 4),
        plain=_bucketed,
        tfdata=lambda tf, counts: _of_counts_in_tf(tf, counts).bucket_by_sequence_length(
            lambda row: tf.shape(row)[0], [5, 10, 15], [32] * 4
        ),
        torch=lambda torch, counts: streamed(torch, lambda: _bucketed(counts), batch_size=None),
        data=_counts,
    ),
    Case(
        name="pack",
        written="from_generator(documents).pack(2048)",
        ours=lambda hr, documents: hr.Dataset.from_generator(lambda: iter(documents)).pack(2048),
        plain=lambda documents: _first_fit(documents, 2048),
        data=_documents,
        unit=Unit.TOKEN,
        small=20_000,
        full=5_000_000,
        note="tf.data has no pack",
    ),
    Case(
        name="pack_and_split",
        written='from_generator(documents).pack(2048, "concat_then_split")',
        ours=lambda hr, documents: hr.Dataset.from_generator(lambda: iter(documents)).pack(2048, "concat_then_split"),
        plain=lambda documents: _packed(documents, 2048),
        data=_documents,
        unit=Unit.TOKEN,
        small=20_000,
        full=5_000_000,
        note="tf.data has no pack; its users write unbatch and rebatch, without segments and positions",
    ),
    Case(
        name="pack_rebatch",
        written="from_generator(documents).unbatch().batch(2048)",
        ours=lambda hr, documents: hr.Dataset.from_generator(lambda: iter(documents)).unbatch().batch(2048),
        plain=lambda documents: slices(np.concatenate(documents), 2048),
        tfdata=lambda tf, documents: (
            tf.data.Dataset.from_generator(lambda: iter(documents), output_signature=tf.TensorSpec((None,), tf.int32))
            .unbatch()
            .batch(2048)
        ),
        data=_documents,
        unit=Unit.TOKEN,
        small=20_000,
        full=5_000_000,
    ),
)
