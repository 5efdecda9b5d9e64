"""Law 4: what is in flight is bounded in elements and in bytes, however slow the consumer is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import in_blocks_of

import headrace as hr
from headrace.physical.prefetching import PrefetchStage
from headrace.physical.stage import Stage

LIMIT_S = 30.0


class Flow:
    """Counts elements from the first work on them to their delivery."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = self._delivered = 0
        self.peak = 0

    def source(self) -> Iterator[int]:
        number = 0
        while True:
            yield self.start(number)
            number += 1

    def start(self, x: Any) -> Any:
        with self._lock:
            self._started += 1
            self.peak = max(self.peak, self._started - self._delivered)
        return x

    def deliver(self, count: int = 1) -> None:
        with self._lock:
            self._delivered += count


def stages_of(stage: Stage) -> Iterator[Stage]:
    yield stage
    for above in stage.inputs:
        yield from stages_of(above)


def at_rest(iterator: hr.DatasetIterator) -> None:
    """Comes back when every thread that reads ahead waits for room."""
    run = iterator._run
    assert run is not None
    assert run._root is not None
    ahead = [stage for stage in stages_of(run._root) if isinstance(stage, PrefetchStage)]
    end_s = time.monotonic() + LIMIT_S
    while ahead and not ahead[0]._channel.snapshot().producers_waiting:
        assert time.monotonic() < end_s, "what reads ahead does not come to rest"
        threading.Event().wait(0.0002)


def peak_of(dataset: hr.Dataset, flow: Flow, *, elements: int = 30, each: int = 1) -> int:
    """The most that was ever in flight, while a consumer stops after every few elements."""
    with iter(dataset) as iterator:
        for number in range(elements):
            next(iterator)
            flow.deliver(each)
            if number % 10 == 1:
                at_rest(iterator)
    return flow.peak


SIZES = st.sampled_from([1, 2, 5, 20])


@given(SIZES)
def test_without_threads_no_more_than_a_block_is_in_flight(size: int) -> None:
    flow = Flow()
    dataset = hr.Dataset.from_generator(flow.source).map(lambda x: x).filter(lambda x: True)
    with in_blocks_of([size]):
        assert peak_of(dataset, flow) <= size


@given(SIZES, st.integers(1, 40))
def test_a_prefetch_holds_what_its_buffer_holds_and_what_passes_through_two_hands(size: int, buffer: int) -> None:
    flow = Flow()
    dataset = hr.Dataset.from_generator(flow.source).prefetch(buffer)
    with in_blocks_of([size]):
        hand = min(size, -(-buffer // 4))  # a block is at most a quarter of the buffer
        assert peak_of(dataset, flow) <= buffer + 2 * hand


@given(SIZES, st.integers(1, 4), st.integers(1, 20), st.sampled_from([None, False]))
def test_a_parallel_map_holds_two_blocks_a_call(size: int, calls: int, buffer: int, order: bool | None) -> None:
    flow = Flow()
    numbers = hr.Dataset.counter()
    dataset = numbers.map(flow.start, num_parallel_calls=calls, deterministic=order).prefetch(buffer)
    with in_blocks_of([size]):
        hand = min(size, -(-buffer // 4))
        assert peak_of(dataset, flow) <= 2 * calls * size + buffer + 2 * hand


@given(SIZES, st.integers(1, 4), st.integers(1, 3))
def test_an_interleave_holds_three_blocks_of_each_dataset_that_is_open_or_opened_ahead(
    size: int, cycle: int, calls: int
) -> None:
    flow = Flow()
    calls = min(calls, cycle)
    dataset = hr.Dataset.counter().interleave(
        lambda _: hr.Dataset.from_generator(flow.source).take(50),
        cycle_length=cycle,
        block_length=2,
        num_parallel_calls=calls,
    )
    with in_blocks_of([size]):
        # Two ready and one being read; what has left is in the eight blocks of the last prefetch, and in two hands. For
        # each slot whose dataset is read to its end, one more is open.
        assert peak_of(dataset, flow, elements=100) <= (2 * cycle + calls) * 3 * size + 10 * size


@given(SIZES, st.integers(1, 30))
def test_a_shuffle_holds_its_buffer_and_one_block(size: int, buffer: int) -> None:
    flow = Flow()
    with in_blocks_of([size]):
        assert peak_of(hr.Dataset.from_generator(flow.source).shuffle(buffer), flow) <= buffer + size


@given(SIZES, st.integers(1, 6))
def test_batches_read_no_more_than_their_elements(size: int, batch: int) -> None:
    flow = Flow()
    with in_blocks_of([size]):
        assert peak_of(hr.Dataset.from_generator(flow.source).batch(batch), flow, each=batch) <= size * batch


ELEMENT_BYTES = 8_000
HEAVY: dict[str, Callable[[hr.Dataset, Callable[[Any], Any]], hr.Dataset]] = {
    "map": lambda ds, f: ds.map(f, num_parallel_calls=3),
    "unordered map": lambda ds, f: ds.map(f, num_parallel_calls=3, deterministic=False),
    "map and prefetch": lambda ds, f: ds.map(f, num_parallel_calls=2).prefetch(1_000_000),
    "prefetch": lambda ds, f: ds.map(f).prefetch(1_000_000),
    "two prefetches": lambda ds, f: ds.map(f).prefetch(1_000_000).map(lambda x: x).prefetch(hr.AUTOTUNE),
    "fused maps": lambda ds, f: ds.map(lambda x: x, num_parallel_calls=2).map(f, num_parallel_calls=2),
    "batches": lambda ds, f: ds.map(f, num_parallel_calls=2).batch(4).unbatch().prefetch(1_000_000),
    "interleave": lambda ds, f: ds.interleave(
        lambda _: hr.Dataset.range(1000).map(f), cycle_length=3, num_parallel_calls=3
    ),
}


@pytest.mark.parametrize("budget", [1_000_000, 4_000_000])
@pytest.mark.parametrize("plan", sorted(HEAVY))
def test_the_budget_in_bytes_is_kept(plan: str, budget: int) -> None:
    flow = Flow()

    def heavy(x: int) -> np.ndarray:
        return np.full(ELEMENT_BYTES // 8, flow.start(x))

    dataset = HEAVY[plan](hr.Dataset.counter(), heavy).with_options(hr.Options(ram_budget=budget))
    peak = peak_of(dataset, flow, elements=1_500)
    # A half more than the budget, for the blocks that are in hand between the buffers.
    assert peak * ELEMENT_BYTES <= 1.5 * budget


@pytest.mark.parametrize("plan", sorted(HEAVY))
def test_elements_that_each_exceed_the_budget_pass_one_by_one(plan: str) -> None:
    flow = Flow()

    def heavy(x: int) -> np.ndarray:
        return np.full(ELEMENT_BYTES // 8, flow.start(x))

    dataset = HEAVY[plan](hr.Dataset.counter(), heavy).with_options(hr.Options(ram_budget=1_000))
    # How large they are is not known before the first ones came: six calls have begun by then, or nine readers, which
    # may lie two ahead each; and a few are in hand.
    assert peak_of(dataset, flow, elements=50) <= 24
