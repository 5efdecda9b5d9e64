"""Counters, and the frozen pictures of them."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.durations import GROWTH
from headrace.observe.meter import START, Gauge, Meter
from headrace.observe.stats import IteratorStats, StageStats, stage_stats


def of_all(meter: Meter, window_s: float = 1.0) -> StageStats:
    """The figures of the whole time."""
    return stage_stats(meter, [START, meter.reading()], window_s)


def test_work_and_waits_are_added_up() -> None:
    meter = Meter("map")
    meter.count(elements=3, served=3, busy_s=0.5, wait_s=0.125, input_wait_s=0.25)
    meter.count(elements=2, served=2, busy_s=0.5, room_wait_s=2.0)
    stats = of_all(meter, 4.0)
    assert (stats.elements, stats.busy_s, stats.wait_s, stats.input_wait_s, stats.room_wait_s) == (
        5,
        1.0,
        0.125,
        0.25,
        2.0,
    )
    assert (stats.elements_per_s, stats.parallelism, stats.input_wait_share) == (1.25, 0.25, 0.0625)
    assert (stats.wait_share, stats.room_wait_share) == (0.03125, 0.5)


@given(
    st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 100)), min_size=1, max_size=400),
    st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 100)), min_size=1, max_size=400),
)
def test_percentiles_are_those_of_the_elements_of_the_window(
    before: list[tuple[int, float]], within: list[tuple[int, float]]
) -> None:
    meter = Meter("map")
    for served, busy_s in before:
        meter.count(served=served, busy_s=busy_s)
    base = meter.reading(remembered=True)
    for served, busy_s in within:
        meter.count(served=served, busy_s=busy_s)
    service = stage_stats(meter, [base, meter.reading()], 1.0).service
    each_s = sorted(busy_s / served for served, busy_s in within for _ in range(served))
    assert service.count == len(each_s)
    assert service.total_s == pytest.approx(sum(each_s), abs=1e-6)
    for percent, told_s in [(50, service.p50_s), (95, service.p95_s), (99, service.p99_s), (100, service.max_s)]:
        exact_s = each_s[-(-percent * len(each_s) // 100) - 1]
        assert exact_s <= told_s * (1 + 1e-9) or exact_s == 0
        assert told_s <= max(exact_s * GROWTH * (1 + 1e-9), 1e-7)


@given(st.lists(st.integers(-3, 5), max_size=400), st.integers(0, 400))
def test_levels_are_the_least_and_the_most_of_the_window(changes: list[int], noted_after: int) -> None:
    meter = Meter("map")
    levels = [0]
    base = START
    for number, change in enumerate(changes):
        if number == noted_after:
            base = meter.reading(remembered=True)
            levels = levels[-1:]
        meter.count_buffered(change, 8 * change)
        levels.append(levels[-1] + change)
    stats = stage_stats(meter, [base, meter.reading()], 1.0)
    assert (stats.buffered, stats.buffered_bytes) == (sum(changes), 8 * sum(changes))
    assert (stats.buffered_low, stats.buffered_high) == (min(levels), max(levels))


def test_what_several_stages_hold_is_added_up() -> None:
    meter = Meter("map")
    one, other = Gauge(meter), Gauge(meter)
    one.set(3, 30)
    other.set(4, 40)
    one.set(1, 10)
    stats = of_all(meter)
    assert (stats.buffered, stats.buffered_bytes, stats.buffered_high) == (5, 50, 7)


def test_the_part_of_the_processor_is_of_the_work_that_was_looked_at() -> None:
    meter = Meter("map")
    meter.count(elements=1, busy_s=9.0)
    assert of_all(meter).cpu_share is None
    meter.count_cpu(0.25, 1.0)
    assert of_all(meter).cpu_share == 0.25


def test_many_threads_count_without_losing_anything() -> None:
    meter = Meter("map")

    def work() -> None:
        for _ in range(2000):
            meter.count(elements=1, served=1, busy_s=1.0)
            meter.count_buffered(1, 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        meter.reading()
    for thread in threads:
        thread.join(timeout=60)
    stats = of_all(meter)
    assert (stats.elements, stats.busy_s, stats.service.count, stats.buffered) == (8000, 8000.0, 8000, 8000)


def test_a_snapshot_stands_still() -> None:
    meter = Meter("map")
    before = of_all(meter)
    meter.count(elements=1)
    assert before.elements == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.elements = 1  # type: ignore[misc]  # what is tested


def test_the_share_of_waiting_is_a_part_of_the_time() -> None:
    assert IteratorStats(elements=1, wait_s=1.0, elapsed_s=4.0, stages=()).wait_share == 0.25
    assert IteratorStats(elements=0, wait_s=0.0, elapsed_s=0.0, stages=()).wait_share == 0.0
