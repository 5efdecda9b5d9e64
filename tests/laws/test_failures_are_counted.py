"""Law 6 for failures that nobody sees: whatever becomes of an element that failed, and wherever its function ran, the run's figures tell it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.laws.hosts import Hosts, one_process_for_plans
from tests.laws.running import REFERENCE, Way, running, ways

import headrace as hr
from headrace.testing.restoring import delivered

OnError = str | Callable[[hr.errors.HeadraceError], Any]


class Fails:
    """A function that fails on some numbers."""

    def __init__(self, numbers: frozenset[int]) -> None:
        self._numbers = numbers

    def at(self, number: Any) -> Any:
        if int(number) in self._numbers:
            raise ValueError(f"no {number}")
        return number


def minus(error: hr.errors.HeadraceError) -> int:
    return -len(error.origin or "")


def unluckily(error: hr.errors.HeadraceError) -> int:
    if error.origin == "element 3":
        raise KeyError("nor this")
    return -1


RANGE = hr.Dataset.range(30)
MAKES: dict[str, Callable[[Fails, OnError], hr.Dataset]] = {
    "serial": lambda fails, on_error: RANGE.map(fails.at, on_error=on_error),
    "workers": lambda fails, on_error: RANGE.map(fails.at, 2, on_error=on_error),
    "autotune": lambda fails, on_error: RANGE.map(fails.at, hr.AUTOTUNE, on_error=on_error),
    "timed": lambda fails, on_error: RANGE.map(fails.at, 2, on_error=on_error, timeout_s=36_000),
    "vectorized": lambda fails, on_error: RANGE.map(
        hr.vectorized(lambda xs: [*map(fails.at, xs)] and xs), on_error=on_error
    ),
    "ignored": lambda fails, _: RANGE.map(fails.at).map(lambda x: x + 1).ignore_errors(),
    "behind a batch": lambda fails, on_error: RANGE.map(fails.at, 2, on_error=on_error).batch(4),
    "inside flat_map": lambda fails, on_error: hr.Dataset.range(6).flat_map(
        lambda x: hr.Dataset.range(5).map(lambda y: fails.at(5 * x + y), on_error=on_error)
    ),
    "inside interleave": lambda fails, on_error: hr.Dataset.range(6).interleave(
        lambda x: hr.Dataset.range(5).map(lambda y: fails.at(5 * x + y), on_error=on_error),
        cycle_length=2,
        num_parallel_calls=2,
    ),
}


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    hosts = Hosts()
    yield hosts
    hosts.end()


def told(dataset: hr.Dataset, way: Way) -> list[Any]:
    """Of each operation what failed; of few elements which they were."""
    with running(dataset, way) as iterator:
        list(delivered(iterator, 1_000))
        stats = iterator.stats()
    assert json.loads(json.dumps(stats.to_dict()))["failures"] == stats.to_dict()["failures"]
    for stage in stats.failures:
        assert str(stage) in str(stats)
        assert len(stage.first) == min(stage.count, 10)
        assert all("ValueError: no " in one.traceback or "nor this" in one.traceback for one in stage.first)
    return sorted(
        (
            stage.stage,
            stage.raised,
            stage.skipped,
            stage.replaced,
            sorted((one.origin, one.kind, one.message, one.outcome) for one in stage.first)
            if stage.count <= 10
            else None,
        )
        for stage in stats.failures
    )


makes = st.sampled_from(sorted(MAKES))
numbers = st.frozensets(st.integers(0, 29), max_size=14)
on_errors = st.sampled_from(["raise", "skip", minus, unluckily])


@given(make=makes, numbers=numbers, on_error=on_errors, way=ways())
def test_what_failed_is_told_alike_however_a_plan_runs(
    make: str, numbers: frozenset[int], on_error: OnError, way: Way
) -> None:
    dataset = MAKES[make](Fails(numbers), on_error)
    failed = told(dataset, way)
    assert failed == told(dataset, REFERENCE)
    count = sum(raised + skipped + replaced for _, raised, skipped, replaced, _ in failed)
    assert count == len(numbers) or (make == "behind a batch" and count < len(numbers))  # a batch has the error of one


@settings(max_examples=(settings().max_examples + 2) // 3)
@given(make=makes, numbers=numbers, on_error=on_errors, way=ways(), executor=st.sampled_from(["process", "subprocess"]))
def test_what_failed_in_another_process_is_told_alike(
    hosts: Hosts, make: str, numbers: frozenset[int], on_error: OnError, way: Way, executor: str
) -> None:
    assume(way.jumps is None)
    dataset = MAKES[make](Fails(numbers), on_error)
    there = dataclasses.replace(way, options=dataclasses.replace(way.options, executor=executor))
    with one_process_for_plans(hosts):
        assert told(dataset, there) == told(dataset, REFERENCE)
