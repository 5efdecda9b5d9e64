"""Which elements, and of which dataset: take, skip, shard, concatenate, repeat, mixtures."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, cycle, islice, takewhile
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case
from idioms.cases.sources import rows_of_64
from idioms.loaders import fetched, streamed
from idioms.plain import batches, slices
from idioms.sameness import as_many, in_any_order


def _mixed(n: int) -> Iterator[int]:
    sources = [iter(range(n)), iter(range(n, 2 * n))]
    draw = random.Random(0).random
    for _ in range(n):
        yield next(sources[draw() >= 0.25])


def _chosen(n: int) -> Iterator[int]:
    sources = cycle([iter(range(n)), iter(range(n, 2 * n))])
    return (next(source) for source in islice(sources, 2 * n))


def _choosing(hr: Any, n: int) -> Any:
    datasets = [hr.Dataset.range(n), hr.Dataset.range(n, 2 * n)]
    return hr.Dataset.choose_from_datasets(datasets, hr.Dataset.range(2).repeat(n)).batch(128)


def _balanced(hr: Any, n: int) -> Any:
    def of_class(label: int) -> Any:
        return hr.Dataset.range(n // 10).map(lambda x: (x, label)).repeat()

    mixed = hr.Dataset.sample_from_datasets([of_class(0), of_class(1)], weights=[0.5, 0.5], seed=0)
    return mixed.take(n).batch(32).prefetch(2)


def _balanced_by_hand(n: int) -> Iterator[Any]:
    classes = [cycle([(x, label) for x in range(n // 10)]) for label in range(2)]
    draw = random.Random(0).random
    drawn = (next(classes[draw() >= 0.5]) for _ in range(n))
    return (tuple(map(np.array, zip(*chunk, strict=True))) for chunk in iter(lambda: list(islice(drawn, 32)), []))


def _shuffled_slices(rows: Any) -> Iterator[Any]:
    return (rows[chosen] for chosen in slices(np.random.default_rng(0).permutation(len(rows)), 32))


def _repeated(n: int, inner: int) -> Iterator[int]:
    return (x + 1 for _ in range(n // inner) for x in range(inner))


CASES: Final = (
    Case(
        name="take",
        written="counter().map(x + 1).take(n)",
        ours=lambda hr, n: hr.Dataset.counter().map(lambda x: x + 1).take(n),
        plain=lambda n: (x + 1 for x in range(n)),
        tfdata=SAME,
    ),
    Case(
        name="skip",
        written="range(n).map(x + 1).skip(100).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).skip(100).batch(128),
        plain=lambda n: batches((x + 1 for x in range(100, n)), 128),
        tfdata=SAME,
    ),
    Case(
        name="skip_split",
        written="from_tensor_slices(rows).skip(100).shuffle(n).batch(32)",
        ours=lambda hr, rows: hr.Dataset.from_tensor_slices(rows).skip(100).shuffle(len(rows)).batch(32),
        plain=lambda rows: _shuffled_slices(rows[100:]),
        tfdata=SAME,
        torch=lambda torch, rows: fetched(
            torch, len(rows) - 100, rows[100:].__getitem__, batch_size=32, shuffle=True, collate_fn=lambda batch: batch
        ),
        data=rows_of_64,
        same=in_any_order,
    ),
    Case(
        name="shard",
        written="range(4 n).shard(4, 1).map(x + 1).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(4 * n).shard(4, 1).map(lambda x: x + 1).batch(128),
        plain=lambda n: batches((x + 1 for x in range(1, 4 * n, 4)), 128),
        tfdata=SAME,
    ),
    Case(
        name="shard_mapped",
        written="range(4 n).map(x + 1).shard(4, 1).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(4 * n).map(lambda x: x + 1).shard(4, 1).batch(128),
        plain=lambda n: batches(islice((x + 1 for x in range(4 * n)), 1, None, 4), 128),
        tfdata=SAME,
    ),
    Case(
        name="take_while",
        written="counter().take_while(x < n).batch(128)",
        ours=lambda hr, n: hr.Dataset.counter().take_while(lambda x: x < n).batch(128),
        plain=lambda n: batches(takewhile(lambda x: x < n, range(n + 1)), 128),
        tfdata=SAME,
    ),
    Case(
        name="repeat",
        written="range(n / 10).map(x + 1).repeat(10).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n // 10).map(lambda x: x + 1).repeat(10).batch(128),
        plain=lambda n: batches(_repeated(n, n // 10), 128),
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, lambda: _repeated(n, n // 10), batch_size=128),
    ),
    Case(
        name="repeat_small",
        written="range(10).map(x + 1).repeat(n / 10).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(10).map(lambda x: x + 1).repeat(n // 10).batch(128),
        plain=lambda n: batches(_repeated(n, 10), 128),
        tfdata=SAME,
    ),
    Case(
        name="repeat_small_prefetch",
        written="range(10).map(x + 1).prefetch(1).repeat(n / 10).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(10).map(lambda x: x + 1).prefetch(1).repeat(n // 10).batch(128),
        plain=lambda n: batches(_repeated(n, 10), 128),
        tfdata=SAME,
    ),
    Case(
        name="repeat_steps",
        written="range(1000).map(x + 1).shuffle(1000).repeat().batch(128).take(n / 128).prefetch(AUTOTUNE)",
        ours=lambda hr, n: (
            hr.Dataset.range(1000)
            .map(lambda x: x + 1)
            .shuffle(1000)
            .repeat()
            .batch(128)
            .take(n // 128)
            .prefetch(hr.AUTOTUNE)
        ),
        plain=lambda n: islice(
            batches((x for _ in iter(int, 1) for x in random.sample(range(1, 1001), 1000)), 128), n // 128
        ),
        tfdata=SAME,
        same=as_many,
    ),
    Case(
        name="concatenate",
        written="range(n).concatenate(range(n)).map(x + 1).batch(128)",
        ours=lambda hr, n: (
            hr.Dataset.range(n // 2).concatenate(hr.Dataset.range(n // 2)).map(lambda x: x + 1).batch(128)
        ),
        plain=lambda n: batches((x + 1 for x in chain(range(n // 2), range(n // 2))), 128),
        tfdata=SAME,
        torch=lambda torch, n: torch.utils.data.DataLoader(
            torch.utils.data.ConcatDataset([range(1, n // 2 + 1)] * 2), batch_size=128
        ),
    ),
    Case(
        name="sample_from_datasets",
        written="sample_from_datasets([range, range], weights=[0.25, 0.75]).take(n).batch(128)",
        ours=lambda hr, n: (
            hr.Dataset.sample_from_datasets(
                [hr.Dataset.range(n), hr.Dataset.range(n, 2 * n)], weights=[0.25, 0.75], seed=0
            )
            .take(n)
            .batch(128)
        ),
        plain=lambda n: batches(_mixed(n), 128),
        tfdata=SAME,
        same=as_many,
    ),
    Case(
        name="sample_from_datasets_balanced",
        written="sample_from_datasets([a.repeat(), b.repeat()], [0.5, 0.5]).take(n).batch(32).prefetch(2), pairs",
        ours=_balanced,
        plain=_balanced_by_hand,
        tfdata=SAME,
        same=as_many,
    ),
    Case(
        name="choose_from_datasets",
        written="choose_from_datasets([range, range], range(2).repeat(n)).batch(128)",
        ours=lambda hr, n: _choosing(hr, n // 2),
        plain=lambda n: batches(_chosen(n // 2), 128),
        tfdata=SAME,
    ),
)
