"""Counters, and the frozen pictures of them."""

from __future__ import annotations

import dataclasses

import pytest

from headrace.observe.meter import IteratorStats, Meter, StageStats


def test_a_stage_counts_its_own_work_without_what_stands_above_it() -> None:
    meter = Meter("map")
    meter.pulled(elements=3, span_s=1.0, inside_s=0.25)
    meter.pulled(elements=2, span_s=1.0, inside_s=0.25)
    meter.waited(0.5)
    meter.buffered = 7
    assert meter.snapshot() == StageStats("map", elements=5, busy_s=1.0, wait_s=0.5, buffered=7)


def test_work_of_workers_is_added_to_the_drivers_own() -> None:
    meter = Meter("map")
    meter.pulled(elements=1, span_s=0.5, inside_s=0.0)
    meter.waited(0.5)
    meter.worked(2.0)
    assert meter.snapshot().busy_s == 2.0


def test_own_work_is_never_negative() -> None:
    meter = Meter("map")
    meter.waited(3.0)
    assert meter.snapshot().busy_s == 0.0


def test_a_snapshot_stands_still() -> None:
    meter = Meter("map")
    before = meter.snapshot()
    meter.pulled(elements=1, span_s=1.0, inside_s=0.0)
    assert before.elements == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.elements = 1  # type: ignore[misc]  # what is tested


def test_the_share_of_waiting_is_a_part_of_the_time() -> None:
    assert IteratorStats(elements=1, wait_s=1.0, elapsed_s=4.0, stages=()).wait_share == 0.25
    assert IteratorStats(elements=0, wait_s=0.0, elapsed_s=0.0, stages=()).wait_share == 0.0
