"""Law 4: what is in flight is bounded in elements and in bytes, however slow the consumer is."""

from __future__ import annotations

import itertools
import operator
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import OVERLAPS, AlwaysAhead, in_blocks_of, paced

import headrace as hr
from headrace import log
from headrace.engine import Run, choosing
from headrace.iterator import DatasetIterator
from headrace.log import LOG
from headrace.machine import Share
from headrace.physical.budget import Budget
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.run_policy import RunPolicy
from headrace.physical.stage import Stage
from headrace.physical.stages.nesting_openers import NestingPaces
from headrace.physical.workers.overlap_tuner import OverlapTuner
from headrace.physical.workers.prefetch import PrefetchStage

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

    @property
    def started(self) -> int:
        with self._lock:
            return self._started

    def deliver(self, count: int = 1) -> None:
        with self._lock:
            self._delivered += count


def stages_of(stage: Stage) -> Iterator[Stage]:
    yield stage
    for above in stage.inputs:
        yield from stages_of(above)


def at_rest(iterator: hr.DatasetIterator) -> None:
    """Comes back when what reads ahead last waits for room, or has ended."""
    run = iterator._run
    assert isinstance(run, Run)
    assert run._root is not None
    ahead = [stage for stage in stages_of(run._root) if isinstance(stage, PrefetchStage)]
    if not ahead or (driver := ahead[0]._driver) is None:
        return
    end_s = time.monotonic() + LIMIT_S
    while driver.threads()[0].is_alive() and not driver._channel.snapshot().producers_waiting:
        assert time.monotonic() < end_s, "what reads ahead does not come to rest"
        threading.Event().wait(0.0002)


def peak_of(
    dataset: hr.Dataset,
    flow: Flow,
    *,
    size: int | None = None,
    elements: int = 30,
    each: int = 1,
    overlap: type[OverlapTuner] = AlwaysAhead,
) -> int:
    """The most that was ever in flight, in blocks of one size, while a consumer stops after every few elements."""
    with in_blocks_of(None if size is None else [size], dataset, overlap=overlap) as iterator:
        for number in range(elements):
            next(iterator)
            flow.deliver(each)
            if number % 10 == 1:
                at_rest(iterator)
    return flow.peak


def same(x: Any) -> Any:
    return x


SIZES = st.sampled_from([1, 2, 5, 20])


@given(SIZES)
def test_without_threads_no_more_than_a_block_is_in_flight(size: int) -> None:
    flow = Flow()
    dataset = hr.Dataset.from_generator(flow.source).map(lambda x: x).filter(lambda x: True)
    assert peak_of(dataset, flow, size=size) <= size


@given(SIZES, st.integers(1, 40), st.sampled_from(OVERLAPS))
def test_a_prefetch_holds_what_its_buffer_or_a_block_holds_and_what_passes_through_two_hands(
    size: int, buffer: int, overlap: type[OverlapTuner]
) -> None:
    flow = Flow()
    dataset = hr.Dataset.from_generator(flow.source).prefetch(buffer)
    assert peak_of(dataset, flow, size=size, overlap=overlap) <= max(buffer, size) + 2 * size


@given(SIZES, st.integers(1, 4), st.integers(1, 20), st.sampled_from([None, False]), st.sampled_from(OVERLAPS))
def test_a_parallel_map_holds_two_blocks_a_call(
    size: int, calls: int, buffer: int, order: bool | None, overlap: type[OverlapTuner]
) -> None:
    flow = Flow()
    numbers = hr.Dataset.counter()
    dataset = numbers.map(flow.start, num_parallel_calls=calls, deterministic=order).prefetch(buffer)
    peak = peak_of(dataset, flow, size=size, overlap=overlap)
    assert peak <= 2 * calls * size + max(buffer, size) + 2 * size


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
    # Two ready and one being read; what has left is in the eight blocks of the last prefetch, and in two hands. For
    # each slot whose dataset is read to its end, one more is open.
    assert peak_of(dataset, flow, size=size, elements=100) <= (2 * cycle + calls) * 3 * size + 10 * size


@given(SIZES, st.integers(1, 30))
def test_a_shuffle_holds_its_buffer_and_one_block(size: int, buffer: int) -> None:
    flow = Flow()
    assert peak_of(hr.Dataset.from_generator(flow.source).shuffle(buffer), flow, size=size) <= buffer + size


@given(SIZES, st.sampled_from([1, 4, 16]), st.sampled_from(["drop", "pad", "uneven"]), st.booleans())
def test_the_streams_of_a_rank_read_a_block_of_global_batches(size: int, streams: int, end: str, whole: bool) -> None:
    flow = Flow()
    numbers = hr.Dataset.counter().map(flow.start)
    dealt = numbers if whole else numbers.filter(lambda _: True)
    dataset = dealt.distributed_batch(16, num_streams=streams, end=end, steps=100)
    assert peak_of(dataset, flow, size=size, each=16) <= 16 * size


@given(SIZES, st.integers(1, 6))
def test_batches_read_no_more_than_their_elements(size: int, batch: int) -> None:
    flow = Flow()
    dataset = hr.Dataset.from_generator(flow.source).batch(batch)
    assert peak_of(dataset, flow, size=size, each=batch) <= size * batch


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


def _of_numbers(number: int) -> np.ndarray:
    return np.full(ELEMENT_BYTES // 8, number)


def _of_objects(number: int) -> dict[str, np.ndarray]:
    """An array of texts, as a batch of records is, which holds far more than it has places."""
    texts = np.empty((2, 2), object)
    texts[...] = [[b"%0*d" % (ELEMENT_BYTES // 4, number + place) for place in range(2)] for _ in range(2)]
    return {"texts": texts}


@pytest.mark.parametrize("budget", [1_000_000, 4_000_000])
@pytest.mark.parametrize("plan", sorted(HEAVY))
@pytest.mark.parametrize("element", [_of_numbers, _of_objects])
def test_the_budget_in_bytes_is_kept(element: Callable[[int], Any], plan: str, budget: int) -> None:
    flow = Flow()

    def heavy(x: int) -> Any:
        return element(flow.start(x))

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


def arrays(flow: Flow, count: int = 300) -> hr.Dataset:
    """Pairs of a number and a heavy array, which no rule takes for what is read by number."""

    def rows() -> Iterator[tuple[int, np.ndarray]]:
        for number in range(count):
            yield number, np.full(ELEMENT_BYTES // 8, flow.start(number))

    return hr.Dataset.from_generator(rows)


# What must hold many elements: each holds so many of them, or all.
HOLDERS: dict[str, Callable[[hr.Dataset, int], hr.Dataset]] = {
    "shuffle": lambda ds, count: ds.shuffle(count, seed=1),
    "cache": lambda ds, count: ds.take(count).cache(),
    "group_by_window": lambda ds, count: ds.group_by_window(
        lambda number, _: number % count, lambda _, group: group.batch(2), 2
    ),
    "pack": lambda ds, count: ds.map(lambda _, array: array[: 600 + _ % 2]).pack(1_000, open_rows=count),
    "unique": lambda ds, count: ds.take(count).map(lambda number, _: f"{number:08d}" * (ELEMENT_BYTES // 8)).unique(),
}
BEFORE: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "nothing": lambda ds: ds,
    "a map": lambda ds: ds.map(lambda number, array: (number, array)),
    "workers": lambda ds: ds.map(lambda number, array: (number, array + 0), num_parallel_calls=2),
    "a prefetch": lambda ds: ds.prefetch(1_000_000),
}
FEW = st.sampled_from([None, [1], [7]])
WAYS = st.sampled_from(["thread", "inline"])


@given(st.sampled_from(sorted(HOLDERS)), st.sampled_from(sorted(BEFORE)), WAYS, FEW)
def test_what_must_hold_more_than_the_budget_is_an_error_that_says_by_how_much(
    holder: str, before: str, executor: str, sizes: list[int] | None
) -> None:
    flow = Flow()
    budget = 80 * ELEMENT_BYTES
    dataset = HOLDERS[holder](BEFORE[before](arrays(flow)), 250)
    dataset = dataset.with_options(hr.Options(ram_budget=budget, executor=executor))
    with pytest.raises(hr.errors.ResourceExhaustedError) as raised, in_blocks_of(sizes, dataset) as iterator:
        for _ in iterator:
            flow.deliver()
    assert str(raised.value.stage).startswith(holder)
    assert re.search(
        r" more than the ram_budget of 640 kB\. .*, or a larger Options\(ram_budget=\)$", str(raised.value)
    )
    # It is known when the budget is full; in hand are blocks of each stage, and texts and arrays that are cut.
    assert flow.peak * ELEMENT_BYTES <= 3 * budget


def test_what_the_streams_of_a_rank_hold_counts_together_and_is_told_once() -> None:
    large = hr.Dataset.range(3000).filter(lambda _: True).map(lambda x: np.full(1 << 14, x)).filter(lambda _: True)
    dataset = large.shuffle(640).distributed_batch(64, num_streams=64, steps=3)
    with pytest.raises(hr.errors.ResourceExhaustedError, match=r", \d more of shuffle [\d.]+ MB: [^,]* more than"):
        list(dataset.with_options(hr.Options(ram_budget=10 << 20, executor="inline")))


@given(st.sampled_from(sorted(HOLDERS)), st.sampled_from(sorted(BEFORE)), WAYS, FEW)
def test_what_must_be_held_and_fits_the_budget_is_held(
    holder: str, before: str, executor: str, sizes: list[int] | None
) -> None:
    dataset = HOLDERS[holder](BEFORE[before](arrays(Flow(), 80)), 40)
    options = hr.Options(ram_budget=100 * ELEMENT_BYTES, executor=executor)
    count = sum(1 for _ in in_blocks_of(sizes, dataset.with_options(options)))
    assert count == sum(1 for _ in dataset.with_options(hr.Options(executor="inline")))


@given(st.sampled_from(["nothing", "workers", "a prefetch"]), st.sampled_from([100, 200, 300]))
def test_what_reads_ahead_has_what_is_left_of_the_budget(before: str, held: int) -> None:
    flow = Flow()
    budget = 400 * ELEMENT_BYTES
    dataset = BEFORE[before](arrays(flow, 3_000)).shuffle(held).prefetch(1_000_000)
    peak = peak_of(dataset.with_options(hr.Options(ram_budget=budget)), flow, elements=600)
    assert peak * ELEMENT_BYTES <= 1.5 * budget  # as above


@given(st.sampled_from(sorted(HOLDERS)), WAYS)
def test_a_single_element_above_the_budget_passes_also_what_must_hold(holder: str, executor: str) -> None:
    dataset = HOLDERS[holder](arrays(Flow(), 1), 1).with_options(hr.Options(ram_budget=100, executor=executor))
    assert sum(1 for _ in dataset) == 1


TABLE = np.zeros((300, ELEMENT_BYTES // 8))


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(hr.Dataset.from_tensor_slices(TABLE).shuffle(300), id="numbers"),
        pytest.param(hr.Dataset.from_tensor_slices(TABLE).map(lambda x: x).shuffle(300), id="the source's own rows"),
        pytest.param(hr.Dataset.from_tensor_slices(TABLE).cache(), id="the source's own rows, cached"),
        pytest.param(
            hr.Dataset.from_tensors(TABLE[0]).repeat(300).filter(lambda _: True).shuffle(300), id="one row many times"
        ),
        pytest.param(
            hr.Dataset.range(300).filter(lambda _: True).map(lambda n: TABLE[:1].copy()[0][n:]).take(9).shuffle(9),
            id="few elements",
        ),
    ],
)
def test_memory_that_is_shared_or_there_anyway_counts_once_or_not_at_all(dataset: hr.Dataset) -> None:
    options = hr.Options(ram_budget=20 * ELEMENT_BYTES, optimize=False)
    assert sum(1 for _ in dataset.with_options(options)) == dataset.reduce(0, lambda count, _: count + 1)


def test_what_a_file_has_that_is_mapped_does_not_count(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", TABLE)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    dataset = hr.Dataset.range(300).filter(lambda _: True).map(lambda n: mapped[n]).shuffle(300)
    assert sum(1 for _ in dataset.with_options(hr.Options(ram_budget=20 * ELEMENT_BYTES))) == 300


def test_one_element_that_is_larger_than_most_is_no_false_alarm() -> None:
    def rows() -> Iterator[np.ndarray]:
        for number in range(300):
            yield np.zeros(100_000 if number % 100 == 50 else 10)

    dataset = hr.Dataset.from_generator(rows).shuffle(300)
    for size in (1, 7, 101, 300):
        assert sum(1 for _ in in_blocks_of([size], dataset.with_options(hr.Options(ram_budget=3_000_000)))) == 300


@given(WAYS)
def test_above_the_default_budget_is_one_warning_and_above_all_memory_an_error(executor: str) -> None:
    share = Share(cores=1, memory_bytes=400 * ELEMENT_BYTES)
    options = hr.Options(executor=executor)
    with (
        mock.patch.object(choosing, "current_share", return_value=share),
        mock.patch.object(log, "_said", {}),
    ):
        with mock.patch.object(LOG, "warning") as warning:
            for _ in range(2):
                assert sum(1 for _ in arrays(Flow(), 300).shuffle(200).with_options(options)) == 300
        assert warning.call_count == 1
        message = warning.call_args.args[0] % warning.call_args.args[1:]
        assert "more than the ram_budget of 800 kB, a quarter of what the process may take" in message
        with pytest.raises(hr.errors.ResourceExhaustedError, match=r"more than what the process may take, 3.2 MB"):
            list(arrays(Flow(), 600).shuffle(600).with_options(options))


def test_what_is_above_the_default_budget_leaves_a_part_of_it_to_what_reads_ahead() -> None:
    budget = Budget(800, parts=2, most_bytes=3_200)
    holding = budget.holding("shuffle", "")
    holding.hold(2_000, tuple, count=1)
    assert budget.share_bytes == 50
    holding.release()
    assert budget.share_bytes == 400


def test_what_is_held_no_more_is_there_again_for_what_reads_ahead() -> None:
    budget = Budget(1_000)
    holding = budget.holding("shuffle", "")
    holding.hold(900, tuple, count=9)
    assert budget.share_bytes == 100
    holding.hold(100, tuple, count=1)
    assert budget.share_bytes == 900


@given(st.integers(1, 70), WAYS)
def test_a_buffer_that_is_filled_again_counts_too(delivered: int, executor: str) -> None:
    dataset = arrays(Flow(), 100).shuffle(30, seed=1)
    with iter(dataset.with_options(hr.Options(ram_budget=50 * ELEMENT_BYTES, executor=executor))) as first:
        for _ in range(delivered):
            next(first)
        state = first.state_dict()
    with iter(dataset.with_options(hr.Options(ram_budget=20 * ELEMENT_BYTES, executor=executor))) as again:
        again.load_state_dict(state)
        with pytest.raises(hr.errors.ResourceExhaustedError, match="its buffer of 30 elements"):
            next(again)
        assert again.state_dict() == state
    with iter(dataset.with_options(hr.Options(ram_budget=50 * ELEMENT_BYTES, executor=executor))) as again:
        again.load_state_dict(state)
        assert sum(1 for _ in again) == 100 - delivered


@pytest.mark.parametrize("sizes", [(1,), (4,), (3, 7, 1)])
def test_a_prefetch_of_nothing_reads_no_further_than_none(sizes: tuple[int, ...]) -> None:
    def read_by(dataset: hr.Dataset) -> list[int]:
        flow, reads = Flow(), []
        with (
            in_blocks_of(sizes, dataset.map(flow.start)) as plain,
            in_blocks_of(sizes, dataset.map(flow.start).prefetch(0)) as with_it,
        ):
            for iterator in (plain, with_it):
                before = flow.started
                for _ in range(10):
                    next(iterator)
                reads.append(flow.started - before)
        return reads

    plain, with_it = read_by(hr.Dataset.range(1000))
    assert plain == with_it


class HandClock:
    """Moved by hand."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def now_s(self) -> float:
        return self._now_s

    def pass_s(self, seconds: float) -> None:
        self._now_s += seconds


class SlowSource:
    """Works on an element when it is allowed to; each takes a second, or a microsecond where it is one of the quick."""

    def __init__(self, *, quick: int = 0) -> None:
        self.clock = HandClock()
        self.begun = 0
        self.was_starved = False  # the error would come only after what was made
        self._quick = quick
        self._allowed = threading.Semaphore(0)

    def elements(self) -> Iterator[int]:
        return map(self.work, itertools.count())

    def work(self, value: Any) -> Any:
        self.begun += 1
        if self.begun <= self._quick:
            self.clock.pass_s(1e-6)
        else:
            self.was_starved = not self._allowed.acquire(timeout=LIMIT_S)
            self.clock.pass_s(1.0)
            assert not self.was_starved
        return value

    def allow(self, count: int) -> None:
        self._allowed.release(count)

    def iterator(self, make: Callable[[hr.Dataset], hr.Dataset], **policy: Any) -> hr.DatasetIterator:
        return self.running(make(hr.Dataset.from_generator(self.elements)), **policy)

    def running(
        self, dataset: hr.Dataset, *, overlap: type[OverlapTuner] = OverlapTuner, **policy: Any
    ) -> hr.DatasetIterator:
        loops = LoopPolicy(clock=self.clock)
        ways = RunPolicy(clock=self.clock, loops=loops, overlap=lambda _: overlap(), **policy)
        return DatasetIterator(dataset.__headrace_plan__(), policy=ways)


@given(st.integers(1, 60), st.integers(1, 30))
def test_a_slow_source_is_read_as_far_ahead_as_was_asked_for_and_one_element_further(buffer: int, taken: int) -> None:
    source = SlowSource()
    with source.iterator(lambda ds: ds.prefetch(buffer)) as iterator:
        source.allow(taken + buffer + 100)
        for number in range(taken):
            assert next(iterator) == number
            at_rest(iterator)
            assert source.begun <= number + 1 + buffer + 1


# A block may have been begun while the source was quick: it ends soon after the first element that is not.
MOST_SLOW_ONES = 16


@given(st.sampled_from([None, [1000], [300, 7], [1]]), st.sampled_from([0, 1, 2, 50]), st.sampled_from(OVERLAPS))
def test_what_a_source_gave_before_it_became_slow_is_there_after_a_few_slow_elements(
    sizes: list[int] | None, buffer: int, overlap: type[OverlapTuner]
) -> None:
    source = SlowSource(quick=1_000)
    source.allow(MOST_SLOW_ONES)
    with source.iterator(lambda ds: ds.prefetch(buffer), pace=paced(sizes), overlap=overlap) as iterator:
        assert [next(iterator) for _ in range(1_000)] == list(range(1_000))
        source.allow(1_000)  # for what is read ahead meanwhile, and must end
    assert not source.was_starved


# What calls a function on each element and gives them in order; those of a group that is not full are still to come.
CALLERS: dict[str, Callable[[hr.Dataset, Callable[[Any], Any]], hr.Dataset]] = {
    "map": lambda ds, f: ds.map(f),
    "map to lists": lambda ds, f: ds.map(lambda x: [f(x), 0]).map(lambda x, _: x),
    "filter": lambda ds, f: ds.filter(lambda x: f(x) == x),
    "scan": lambda ds, f: ds.scan(0, lambda count, x: (count + 1, f(x))),
    "take_while": lambda ds, f: ds.take_while(lambda x: f(x) == x),
    "group_by_window": lambda ds, f: ds.group_by_window(lambda x: 0 * f(x), lambda _, group: group, 3),
    "batches": lambda ds, f: ds.map(f).batch(2).unbatch().map(int),
    "long batches": lambda ds, f: ds.map(f).batch(90).unbatch().map(int),
    "long groups": lambda ds, f: ds.group_by_window(lambda x: 0 * f(x), lambda _, group: group.map(lambda x: x), 90),
    "prefetch": lambda ds, f: ds.map(f).prefetch(2),
}
STEPS = st.lists(st.sampled_from(sorted(CALLERS)), max_size=2)


@given(
    STEPS,
    st.sampled_from(sorted(CALLERS)),
    STEPS,
    st.integers(1, 1_500),
    st.sampled_from([None, [1000], [300, 7], [1]]),
    st.sampled_from(OVERLAPS),
)
def test_what_functions_gave_before_they_became_slow_is_there_after_a_few_slow_calls(
    before: list[str], slow: str, after: list[str], quick: int, sizes: list[int] | None, overlap: type[OverlapTuner]
) -> None:
    source = SlowSource(quick=quick)
    source.allow(MOST_SLOW_ONES)
    dataset = hr.Dataset.range(1_000_000)
    ready = quick
    for step, function in [*((one, same) for one in before), (slow, source.work), *((one, same) for one in after)]:
        dataset = CALLERS[step](dataset, function)
        ready -= ready % {"batches": 2, "group_by_window": 3, "long batches": 90, "long groups": 90}.get(step, 1)
    with source.running(dataset, pace=paced(sizes), overlap=overlap) as iterator:
        assert [next(iterator) for _ in range(ready)] == list(range(ready))
        source.allow(1_000)  # for what is read ahead meanwhile, and must end
    assert not source.was_starved


@given(
    st.integers(1, 1_500),
    st.sampled_from([None, (0.5, 0.5), (0.9, 0.1)]),
    st.sampled_from([None, [1000], [300, 7], [1]]),
)
def test_a_resampling_whose_classes_become_slow_hands_on_what_it_has(
    quick: int, initial: tuple[float, float] | None, sizes: list[int] | None
) -> None:
    source = SlowSource(quick=quick)
    source.allow(1_000)
    resampled = hr.Dataset.range(1_000_000).rejection_resample(
        lambda x: source.work(x) % 2, [0.5, 0.5], initial and list(initial), seed=1
    )
    with source.running(resampled, pace=paced(sizes)) as iterator:
        slow = waiting = 0  # calls until now, and how many of them were made while there was something to hand on
        while slow < 100:
            next(iterator)
            before, slow = slow, max(source.begun - quick, 0)
            waiting = max(waiting, slow - before) if operator.length_hint(iterator._rows) else waiting
        # Those of one look are in what is handed on, and those of another one may have been needed for its last element.
        assert waiting <= 2 * MOST_SLOW_ONES


@given(st.integers(1, 60))
def test_a_source_that_becomes_slow_is_read_as_far_ahead_as_was_asked_for(buffer: int) -> None:
    source = SlowSource(quick=1_000)
    source.allow(1_000)
    with source.iterator(lambda ds: ds.prefetch(buffer)) as iterator:
        for number in range(1_000 + 3 * MOST_SLOW_ONES):
            assert next(iterator) == number
        at_rest(iterator)
        for number in range(1_000 + 3 * MOST_SLOW_ONES, 1_100):
            assert next(iterator) == number
            at_rest(iterator)
            assert source.begun <= number + 1 + buffer + 1


# Plans of a function, and how many elements are made of 1,000 calls.
CALLING: dict[str, tuple[Callable[[Callable[[int], int]], hr.Dataset], int]] = {
    "repeat": (lambda f: hr.Dataset.range(90).map(f).repeat(), 1_000),
    "repeat of pairs": (lambda f: hr.Dataset.range(90).map(f).enumerate().repeat(), 1_000),
    "repeat of batches": (lambda f: hr.Dataset.range(90).map(f).batch(7).repeat(), 11 * 13 + 1),
    "flat_map": (lambda f: hr.Dataset.counter().flat_map(lambda _: hr.Dataset.range(90).map(f)), 1_000),
    "flat_map of two": (
        lambda f: hr.Dataset.counter().flat_map(lambda _: hr.Dataset.range(90).map(lambda x: x).map(f).enumerate()),
        1_000,
    ),
    "flat_map of failures": (
        lambda f: hr.Dataset.counter().flat_map(
            lambda _: hr.Dataset.range(90).map(lambda x: 1 // 0 if f(x) else x, on_error=lambda _: 0)
        ),
        1_000,
    ),
    "flat_map of filtered": (
        lambda f: hr.Dataset.counter().flat_map(lambda _: hr.Dataset.range(90).filter(lambda x: f(x) % 2 == 0)),
        500,
    ),
    "flat_map of batches": (
        lambda f: hr.Dataset.counter().flat_map(lambda _: hr.Dataset.range(90).map(f).batch(7)),
        11 * 13 + 1,
    ),
    "interleave": (
        lambda f: hr.Dataset.counter().interleave(
            lambda _: hr.Dataset.range(90).map(f), cycle_length=2, block_length=5
        ),
        1_000 - 90,  # some of the other slot's may be there, too
    ),
}


@given(
    st.sampled_from(sorted(CALLING)),
    st.sampled_from([None, [1000], [300, 7], [1]]),
    st.sampled_from([0, 1, 50]),
    st.sampled_from(OVERLAPS),
)
def test_what_a_function_made_before_it_became_slow_is_there_after_a_few_slow_calls(
    plan: str, sizes: list[int] | None, buffer: int, overlap: type[OverlapTuner]
) -> None:
    source = SlowSource(quick=1_000)
    source.allow(MOST_SLOW_ONES)
    make, count = CALLING[plan]
    with source.running(make(source.work).prefetch(buffer), pace=paced(sizes), overlap=overlap) as iterator:
        assert len([next(iterator) for _ in range(count)]) == count
        source.allow(2_000)  # for what is read ahead meanwhile, and must end
    assert not source.was_starved


@given(
    st.sampled_from(sorted(plan for plan in CALLING if not plan.startswith("repeat"))),
    st.integers(0, 1 << 30),
    st.sampled_from(OVERLAPS),
)
def test_nor_does_it_matter_how_many_elements_there_was_room_for(
    plan: str, seed: int, overlap: type[OverlapTuner]
) -> None:
    source = SlowSource(quick=1_000)
    source.allow(MOST_SLOW_ONES)
    make, count = CALLING[plan]
    chance = random.Random(seed)
    with (
        mock.patch.object(NestingPaces, "room", property(lambda _: chance.choice([16, 64, 90, 128]))),
        source.running(make(source.work).prefetch(0), pace=paced([1]), overlap=overlap) as iterator,
    ):
        assert len([next(iterator) for _ in range(count)]) == count
        source.allow(2_000)  # as above
    assert not source.was_starved
