"""The input of the job, which says nothing of how many processes there are."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np

import headrace as hr
from examples.elastic.documents import SOURCES, WEIGHTS, Files

ROW: Final = 128  # bytes of text in a row that the model sees
SHORTEST: Final = 16  # shorter texts are filtered out


def input_of(files: Files, *, batch: int, streams: int, steps: int, seed: int) -> hr.Dataset:
    """Mixes the sources 5:3:2, drops short texts, shuffles in a window, packs rows, and deals them."""
    sources = [
        hr.CsvDataset(list(files.csv), [str], header=True, select_cols=[1]).map(lambda text: (text.encode(), 0)),
        hr.TFRecordDataset(list(files.tfrecord)).map(lambda record: (record, 1)),
        hr.TarDataset(list(files.tar)).map(lambda member: (member["txt"], 2)),
    ]
    mixed = hr.Dataset.sample_from_datasets([source.repeat() for source in sources], weights=WEIGHTS, seed=seed)
    return (
        mixed.map(tokens_of)
        .filter(lambda text: len(text["tokens"]) >= SHORTEST)
        .shuffle(32 * streams, seed=seed)
        .pack(ROW)
        .distributed_batch(batch, num_streams=streams, steps=steps)
        .prefetch(1)
    )


def tokens_of(text: bytes, source: int) -> dict[str, Any]:
    """A text's bytes, 0 being padding, and beside each of them which source it is of, from 1 on."""
    tokens = np.frombuffer(bytes(text), np.uint8).astype(np.int32)
    return {"tokens": tokens, "source": np.full(len(tokens), source + 1, np.int32)}


def row_hashes(batch: dict[str, Any]) -> list[bytes]:
    """A hash of all that each row of a rank's batch holds."""
    names = sorted(batch)
    return [
        hashlib.blake2b(b"".join(batch[name][row].tobytes() for name in names), digest_size=16).digest()
        for row in range(len(batch[names[0]]))
    ]


def batch_hash(of_ranks: list[list[bytes]]) -> str:
    """The hash of a global batch, of which rank r of N has the rows r, r + N and so on."""
    rows = (row for turn in zip(*of_ranks, strict=True) for row in turn)
    return hashlib.blake2b(b"".join(rows), digest_size=8).hexdigest()


def mix_of(batch: dict[str, Any]) -> tuple[int, ...]:
    """How many bytes of each source a batch holds."""
    counts = np.bincount(np.asarray(batch["source"]).ravel(), minlength=len(SOURCES) + 1)
    return tuple(int(count) for count in counts[1:])
