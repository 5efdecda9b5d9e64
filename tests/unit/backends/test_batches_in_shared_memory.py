"""Batches of a process beside the trainer lie where the trainer reads them, for it alone and as long as it likes."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.physical.workers import batch_memory
from headrace.processes import slab

SIZE = 4
LONG = 3_000  # numbers of an element: more than what travels beside a message


def element(number: int) -> np.ndarray:
    return np.full(LONG, number, np.int32)


def beside(dataset: Any) -> Any:
    return dataset.with_options(hr.Options(executor="subprocess"))


@pytest.mark.parametrize("calls", [None, 2, hr.AUTOTUNE])
def test_batches_that_are_kept_stay_as_they_are_in_the_next_epochs(calls: int | None) -> None:
    dataset = beside(hr.Dataset.range(10 * SIZE).map(element, num_parallel_calls=calls).batch(SIZE).prefetch(1))
    kept: list[tuple[int, np.ndarray]] = []
    for epoch in range(4):
        for number, batch in enumerate(dataset):
            assert batch[:, 0].tolist() == batch[:, -1].tolist() == [*range(number * SIZE, (number + 1) * SIZE)]
            if (number + epoch) % 3 == 0:
                kept.append((number, batch))
            del batch
    for number, batch in kept:
        assert (batch == np.repeat(np.arange(number * SIZE, (number + 1) * SIZE), LONG).reshape(SIZE, LONG)).all()


def test_a_run_goes_on_in_the_memory_of_the_one_before_and_not_after_a_break(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.backends.subprocess import plan_process

    numbers: list[int] = []
    begin = plan_process.PlanProcess.begin

    def noted(*given: Any) -> Any:
        session, told = begin(*given)
        numbers.append(session.memory.number)
        return session, told

    monkeypatch.setattr(plan_process.PlanProcess, "begin", noted)
    dataset = beside(hr.Dataset.range(10 * SIZE).map(element).batch(SIZE))
    # A process that nobody needs leaves after a while, and what it shared with it: this run needs it as long as the test lasts.
    needs_it = iter(dataset)
    next(needs_it)
    for stops in (False, False, True, False, False):
        for _ in dataset:
            if stops:
                break
        gc.collect()
    needs_it.close()
    its, first, second, third, fourth, fifth = numbers
    assert first == second == third != its
    assert fourth == fifth != first


def _places_taken(number: int) -> np.ndarray:
    """Gives a large array that begins with how many bytes are taken in the memory that its process shares."""
    noted = np.zeros(LONG, np.int64)
    slabs = [one for one in gc.get_objects() if isinstance(one, slab.Slab)] if not number else []
    noted[0] = sum(one._arena.taken_bytes for one in slabs)
    return noted


@pytest.mark.parametrize("stops", [False, True])
def test_what_was_shared_in_an_epoch_is_free_in_the_next_ones(stops: bool) -> None:
    dataset = beside(hr.Dataset.range(6).map(_places_taken).batch(1))
    taken: list[int] = []
    for _ in range(40):
        with iter(dataset) as iterator:
            batches = [next(iterator)] if stops else list(iterator)
        taken.append(int(batches[0][0, 0]))
    assert max(taken) <= 20 * 8 * LONG  # of an epoch or two, and not of forty


def _keeps_and_overwrites() -> Callable[[np.ndarray], np.ndarray]:
    held: list[np.ndarray] = []

    def keep(batch: np.ndarray) -> np.ndarray:
        if held:
            held.pop()[:] = -1
        held.append(batch)
        return batch

    return keep


def test_what_a_function_keeps_of_a_batch_and_overwrites_is_not_what_the_trainer_has() -> None:
    dataset = hr.Dataset.range(10 * SIZE).map(element).batch(SIZE).map(_keeps_and_overwrites())
    batches = list(beside(dataset))
    assert [batch[0, 0] for batch in batches] == [*range(0, 10 * SIZE, SIZE)]


def test_what_the_trainer_writes_into_its_batch_is_not_what_a_cache_gives_next() -> None:
    dataset = beside(hr.Dataset.range(3 * SIZE).map(element).batch(SIZE).cache().map(lambda batch: batch))
    for _ in range(3):
        for number, batch in enumerate(dataset):
            assert batch[0, 0] == number * SIZE
            if batch.flags.writeable:
                batch[:] = -1


def test_batches_are_placed_in_the_memory_that_is_shared_and_in_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    shared = slab.Slab()

    def array(nbytes: int) -> np.ndarray | None:
        asked.append(nbytes)
        return shared.array(nbytes)

    memory = batch_memory.BatchMemory(SIZE, 1 << 30, shared=array)
    buffer = memory._array((LONG,), np.dtype(np.int32))
    assert asked == [SIZE * LONG * 4]
    assert shared.placed(buffer.data.cast("B")).nbytes >= buffer.nbytes
    shared.close()
