"""Where a parallel interleave reads its datasets."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import headrace as hr
from headrace.iterator import DatasetIterator
from headrace.physical.run_policy import RunPolicy
from headrace.physical.stages import nesting
from headrace.physical.workers.reading_place import ReadingPlace, reading_place_of

if TYPE_CHECKING:
    import pytest

SHORT_S, LONG_S = 1e-5, 1e-3


def after(*seconds: float) -> bool:
    place = ReadingPlace()
    for one in seconds:
        place.took(one)
    return place.here


def test_workers_read_until_several_datasets_in_a_row_were_short() -> None:
    assert not after()
    assert not after(SHORT_S, SHORT_S)
    assert not after(SHORT_S, SHORT_S, LONG_S, SHORT_S)
    assert after(SHORT_S, SHORT_S, SHORT_S)


def test_one_that_was_a_little_longer_changes_nothing_and_two_in_a_row_do() -> None:
    short = (SHORT_S,) * 3
    assert after(*short, LONG_S, SHORT_S, LONG_S)
    assert not after(*short, LONG_S, LONG_S)


def test_one_that_was_much_longer_goes_to_workers_at_once() -> None:
    assert not after(SHORT_S, SHORT_S, SHORT_S, 1.0)


def test_who_went_to_workers_again_asks_for_more_short_ones() -> None:
    before = (*(SHORT_S,) * 3, 1.0)
    assert not after(*before, *(SHORT_S,) * 5)
    assert after(*before, *(SHORT_S,) * 6)


def with_reads(
    *, cpu: float, workers: int, beside: float = 0.0, wanting: float = 1.0, took: float = LONG_S
) -> ReadingPlace:
    """Returns a place that has seen reads of workers at once, of a millisecond each, which have the processor for such a part of it.

    The thread that wants their elements has another processor for a part of the time, and spends a part of it on getting elements.
    """
    place, process_s = ReadingPlace(), 0.0
    for number in range(16):
        start_s = number // workers * LONG_S
        process_s += (cpu + beside / workers) * LONG_S
        place.wanting_s += wanting / workers * LONG_S
        place.read(start_s, start_s + LONG_S, cpu * LONG_S, process_s)
    for _ in range(3):
        place.took(took)
    return place


def test_what_workers_read_in_turns_is_read_here_however_long_it_takes() -> None:
    assert with_reads(cpu=0.9, workers=1).here
    assert with_reads(cpu=0.5, workers=2).here
    assert with_reads(cpu=0.3, workers=1, beside=0.7).here


def test_short_ones_that_take_longer_again_are_read_here_where_workers_took_turns() -> None:
    for cpu, is_here in ((0.5, True), (0.1, False)):
        place = with_reads(cpu=cpu, workers=2, took=SHORT_S)
        assert place.here
        for _ in range(4):
            place.took(LONG_S)
        assert place.here is is_here
    place = with_reads(cpu=0.9, workers=1)
    while place.here:  # until workers read some again
        place.took(LONG_S)
    for seconds in (*(SHORT_S,) * 3, LONG_S, LONG_S):
        place.took(seconds)
    assert place.here


def test_what_workers_read_while_their_elements_are_not_waited_for_is_read_by_workers() -> None:
    assert not with_reads(cpu=0.5, workers=2, wanting=0.7).here
    assert not with_reads(cpu=0.1, workers=1, beside=0.9, wanting=0.05).here


def test_what_workers_read_at_once_or_what_waits_is_read_by_workers() -> None:
    assert not with_reads(cpu=0.9, workers=2).here
    assert not with_reads(cpu=1.0, workers=1, beside=0.3).here
    assert not with_reads(cpu=0.5, workers=1).here
    assert not with_reads(cpu=0.05, workers=4).here


def test_what_was_read_here_because_workers_took_turns_goes_back_when_it_waits_or_takes_much_longer() -> None:
    for seconds, waited_s in ((LONG_S, 0.5 * LONG_S), (0.05, 0.0)):
        place = with_reads(cpu=0.9, workers=1)
        place.took(LONG_S, 0.1 * LONG_S)
        assert place.here
        for _ in range(2):
            place.took(seconds, waited_s)
        assert not place.here


def test_workers_read_some_again_ever_more_seldom() -> None:
    place, seen = with_reads(cpu=0.9, workers=1), []
    for number in range(20_000):
        place.took(LONG_S)
        seen.append(place.here)
        if not place.here:
            place.read(number * LONG_S, (number + 1) * LONG_S, 0.9 * LONG_S, (number + 1) * LONG_S)
            place.wanting_s += LONG_S
    assert not seen[63]
    assert seen.count(False) < 200


class _Here(ReadingPlace):
    def __init__(self) -> None:
        super().__init__()
        self.here = True

    def took(self, seconds: float, waited_s: float = 0.0) -> None:
        """Learns nothing: on a busy machine any dataset may take long."""


def test_datasets_that_are_read_here_are_opened_by_the_thread_that_wants_their_elements() -> None:
    openers: set[str] = set()

    def opened(number: int) -> hr.Dataset:
        openers.add(threading.current_thread().name)
        return hr.Dataset.range(number, number + 3)

    ds = hr.Dataset.range(9).interleave(opened, cycle_length=2, num_parallel_calls=2)
    plan = ds.with_options(hr.Options(optimize=False)).__headrace_plan__()
    with DatasetIterator(plan, policy=RunPolicy(reading_place=lambda _: _Here())) as iterator:
        assert len(list(iterator)) == 27
    assert openers == {threading.current_thread().name}


def test_that_a_small_file_was_waited_for_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[float, float]] = []

    class Place(_Here):
        def took(self, seconds: float, waited_s: float = 0.0) -> None:
            told.append((seconds, waited_s))

    path = tmp_path / "lines.txt"
    path.write_text("one\ntwo\n")
    # A clock of the processor that stands still: all of the time is a wait.
    monkeypatch.setattr(nesting, "time", SimpleNamespace(perf_counter=time.perf_counter, thread_time=lambda: 0.0))
    ds = hr.Dataset.from_tensor_slices([str(path)] * 9)
    plan = ds.interleave(hr.TextLineDataset, cycle_length=2, num_parallel_calls=2).__headrace_plan__()
    with DatasetIterator(plan, policy=RunPolicy(reading_place=lambda _: Place())) as iterator:
        assert len(list(iterator)) == 18
    assert 1 <= len(told) <= 9  # one for files that were read together
    assert all(waited_s == seconds > 0 for seconds, waited_s in told)


def test_a_dataset_that_takes_long_here_is_read_on_by_workers() -> None:
    readers: list[str] = []

    def numbers(count: int) -> hr.Dataset:
        def generate() -> object:
            for number in range(count):
                readers.append(threading.current_thread().name)
                yield number

        return hr.Dataset.from_generator(generate)

    class OnceHere(_Here):
        def took(self, seconds: float, waited_s: float = 0.0) -> None:
            self.here = False

    ds = hr.Dataset.from_tensor_slices([1, 50]).interleave(numbers, cycle_length=2, num_parallel_calls=2)
    plan = ds.with_options(hr.Options(optimize=False)).__headrace_plan__()
    with DatasetIterator(plan, policy=RunPolicy(reading_place=lambda _: OnceHere())) as iterator:
        assert sorted(iterator) == sorted([0, *range(50)])
    assert readers[0] == threading.current_thread().name
    assert readers[-1].startswith("headrace-worker")


def test_the_next_epoch_goes_on_where_the_one_before_read() -> None:
    operation, other = type("Operation", (), {}), type("Operation", (), {})
    for _ in range(3):
        reading_place_of((operation,)).took(1e-5)
    assert reading_place_of((operation,)).here
    assert not reading_place_of((other,)).here
