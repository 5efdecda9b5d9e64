"""headrace: the same plan on any number of ranks; the states of all are merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headrace as hr
from elastic.asking import BATCH, NUMBERS, SOURCES, WEIGHTS, WINDOW, Open, Opening, kept


def load() -> tuple[Opening, Opening]:
    return _opening(_numbers), _opening(_mixture)


def _numbers() -> hr.Dataset:
    return hr.Dataset.range(NUMBERS).shuffle(NUMBERS, seed=0)


def _mixture() -> hr.Dataset:
    sources = [hr.Dataset.from_tensor_slices(list(source)) for source in SOURCES]
    return hr.Dataset.sample_from_datasets(sources, list(WEIGHTS), seed=0).filter(kept).shuffle(WINDOW, seed=0)


def _opening(build: Callable[[], hr.Dataset]) -> Opening:
    def opening(rank: int, ranks: int, state: Any) -> Open:
        # Built anew, as each process does: a second iterator of one dataset would be another epoch.
        dealt = build().distributed_batch(BATCH, num_streams=24, end="uneven")
        batches = iter(dealt.with_options(hr.Options(rank=rank, world_size=ranks, seed=0)))
        if state is not None:
            batches.load_state_dict(state)
        return Open(batches, batches.state_dict)

    return opening


def given(states: list[Any], after: int) -> list[Any]:
    return [hr.merge_states(states)] * after
