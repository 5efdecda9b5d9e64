"""Law 3: in index space neither a state nor its loading grows with the position."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Self
from unittest import mock

import numpy as np
import pytest
from tests.laws.elements import Resumable
from tests.laws.running import Way, assert_same, history, in_blocks_of, resumed

import headrace as hr
from headrace.semantics.sources import ArraysSource


class CountedReads:
    """Counts how many rows are fetched from arrays, whoever fetches them."""

    def __init__(self) -> None:
        self.rows = 0

    def __enter__(self) -> Self:
        self._patches = [
            mock.patch.object(ArraysSource, name, self._counting(getattr(ArraysSource, name)))
            for name in ("rows", "columns")
        ]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()

    def _counting(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def counting(source: Any, indices: Any) -> Any:
            self.rows += len(indices)
            return read(source, indices)

        return counting


LENGTH = 100_000


INDEX_SPACE: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "source": lambda ds: ds,
    "batch": lambda ds: ds.batch(10),
    "shuffle of all": lambda ds: ds.shuffle(LENGTH, seed=1).batch(10),
    "shuffle of some": lambda ds: ds.shuffle(50, seed=1).batch(10),
    "endless": lambda ds: ds.repeat().shuffle(50, seed=1).batch(10),
    "choices": lambda ds: ds.skip(7).shard(3, 1).take(LENGTH).enumerate().batch(2),
    "zip": lambda ds: hr.Dataset.zip((ds, ds.shuffle(100))).batch(10),
    "two": lambda ds: ds.concatenate(ds).batch(10).prefetch(2),
    "mixture": lambda ds: hr.Dataset.sample_from_datasets([ds, ds.skip(9)], [0.7, 0.3], seed=1, repeat=True).batch(10),
}


@pytest.mark.parametrize("plan", sorted(INDEX_SPACE))
def test_in_index_space_a_late_state_is_as_small_and_as_cheap_as_an_early_one(plan: str) -> None:
    dataset = INDEX_SPACE[plan](hr.Dataset.from_tensor_slices(np.arange(LENGTH)))

    def cost_after(count: int) -> tuple[int, int]:
        with in_blocks_of([7], dataset) as iterator:
            for _ in range(count):
                next(iterator)
            state = iterator.state_dict()
            expected = next(iterator)
        with CountedReads() as reads, in_blocks_of([1], dataset) as restored:
            restored.load_state_dict(state)
            assert_same([expected], [next(restored)])
        return len(json.dumps(state["position"])), reads.rows

    early_size, early_rows = cost_after(20)
    late_size, late_rows = cost_after(900)
    assert late_size <= early_size + 40  # longer numbers, no more of them
    assert late_rows <= early_rows + 60  # what a buffer or a batch holds, however far the position


def test_a_shuffled_source_is_gathered_in_batches_and_never_row_by_row() -> None:
    dataset = hr.Dataset.from_tensor_slices(np.arange(1000)).shuffle(1000, seed=1).batch(50)
    row_by_row = mock.patch.object(ArraysSource, "rows", side_effect=AssertionError("read row by row"))
    with row_by_row, CountedReads() as reads:
        batches = list(dataset)
    assert reads.rows == 1000
    assert sorted(np.concatenate(batches).tolist()) == list(range(1000))


def test_a_generator_that_saves_its_own_place_is_not_run_again() -> None:
    dataset = hr.Dataset.from_generator(Resumable, args=(500,))
    for executor in ("thread", "inline"):
        chosen = dataset.with_options(hr.Options(executor=executor))
        way = Way(hr.Options(), (7,))
        expected, states = history(chosen, way, limit=400)
        Resumable.asked = 0
        assert_same(expected[300:310], resumed(chosen, states[300], way, limit=10))
        assert Resumable.asked < 40  # what was read ahead of the place, never the 300 before it
