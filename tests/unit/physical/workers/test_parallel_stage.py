"""When a parallel stage reads on, and when it hands on what is ready, by a clock that only reading and working move."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.clock_by_hand import by_hand

from headrace.blocks.block import Block
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.elements.structure import flatten
from headrace.observe.meter import START, Meter
from headrace.observe.stats import StageStats, stage_stats
from headrace.physical.budget import Budget
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage
from headrace.physical.workers import parallel_stage as parallel
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.parallel_stage import ParallelStage
from headrace.physical.workers.task_paces import TaskPaces
from headrace.queues.channel import EMPTY, Channel

CALLS = 4


class Here:
    """Runs a task at once, so that what is made lies ready as soon as it was read."""

    workers = CALLS
    is_free = True

    def submit(self, task: Callable[[], None]) -> None:
        task()

    def resize(self, more: int) -> None:
        """Has as many as there are."""


class Numbers(Stage):
    """Numbers, each of which takes a while to come."""

    def __init__(self, takes_s: float, now: list[float]) -> None:
        super().__init__(Meter("numbers"), (), IndexCursor(0))
        self.takes_s, self.now = takes_s, now
        self.read = self.reads = 0
        self.last: int | None = None  # behind which there are none
        self.asked: list[int] = []
        self.sizes: list[int] = []  # of a pace, whenever something was asked for
        self._pace: Pace | None = None

    def sizes_of(self, pace: Pace) -> list[int]:
        self._pace = pace
        return self.sizes

    def _pull(self, limit: int) -> Item:
        if self.last is not None and self.read >= self.last:
            return None
        self.asked.append(limit)
        if self._pace is not None:
            self.sizes.append(self._pace.size)
        if self.last is not None:
            limit = min(limit, self.last - self.read)
        first, self.read, self.reads = self.read, self.read + limit, self.reads + 1
        self.now[0] += limit * self.takes_s
        rows = Rows(list(range(first, self.read)))
        return Block(rows, IndexCursor(first), IndexOrigin(np.arange(first, self.read)))


def stage_of(
    monkeypatch: pytest.MonkeyPatch, *, read_s: float, work_s: float, ordered: bool
) -> tuple[ParallelStage, Numbers]:
    now = [0.0]
    monkeypatch.setattr(
        parallel, "time", types.SimpleNamespace(perf_counter=lambda: now[0], thread_time=lambda: now[0])
    )
    numbers = Numbers(read_s, now)

    def make(block: Block) -> list[Block]:
        now[0] += len(block) * work_s
        return [block]

    gate = Gate(Here(), CALLS)
    stage = ParallelStage(
        make, numbers, Meter("map"), gate=gate, map_index=None if ordered else 0, ahead=Budget(1 << 30).ahead()
    )
    return stage, numbers


class HeardOfLate(Channel[Any]):
    """Gives what was put only to who waits for it: as if each worker had been stopped before it could tell of its result."""

    def get_nowait(self) -> Any:
        return EMPTY


@pytest.mark.parametrize("ordered", [True, False])
def test_a_result_that_is_not_told_of_yet_is_no_end(ordered: bool) -> None:
    numbers = Numbers(0.0, [0.0])
    stage = ParallelStage(
        lambda block: [block],
        numbers,
        Meter("map"),
        gate=Gate(Here(), CALLS),
        map_index=None if ordered else 0,
        ahead=Budget(1 << 30).ahead(),
    )
    stage._done = HeardOfLate(capacity=2 * CALLS, name="late")
    came: list[Any] = []
    while len(came) < 20:
        piece = stage.pull(1)
        assert isinstance(piece, Block)
        came += piece.payload.rows()
    assert came == list(range(len(came)))


@pytest.mark.parametrize("ordered", [True, False])
def test_what_comes_slowly_is_handed_on_as_it_comes(monkeypatch: pytest.MonkeyPatch, ordered: bool) -> None:
    stage, numbers = stage_of(monkeypatch, read_s=1.0, work_s=1e-6, ordered=ordered)
    for count in range(1, 20):
        piece = stage.pull(1000)
        assert isinstance(piece, Block)
        assert piece.payload.rows() == [count - 1]
        assert numbers.read == count


def test_what_comes_fast_is_read_ahead_so_that_no_worker_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, numbers = stage_of(monkeypatch, read_s=1e-6, work_s=1e-6, ordered=True)
    stage.pull(1000)
    assert numbers.reads >= 2 * CALLS


def test_what_the_workers_take_longer_for_is_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, numbers = stage_of(monkeypatch, read_s=1.0, work_s=100.0, ordered=True)
    for _ in range(3):
        stage.pull(1000)
    assert numbers.read >= 2 * CALLS


def test_elements_that_come_slowly_are_read_in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, numbers = stage_of(monkeypatch, read_s=1e-3, work_s=1e-7, ordered=True)
    for _ in range(30):
        stage.pull(100_000)
    assert numbers.read <= 32 * numbers.reads  # 32 ms a read, where the work alone would have it be 80,000 elements


def figures_of(stage: ParallelStage) -> StageStats:
    """What the stage did since the start, which was a second ago."""
    return stage_stats(stage.meter, [START, stage.meter.reading()], 1.0)


def test_workers_that_nobody_takes_from_wait_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    with by_hand() as clock:
        stage, numbers = stage_of(monkeypatch, read_s=0.0, work_s=0.0, ordered=True)
        monkeypatch.setattr(parallel, "time", time)  # the same for all who look
        stage.pull(1)
        assert figures_of(stage).room_wait_s == 0.0
        clock.move(5.0)  # the consumer works, and all that the window has room for is made
        stage.pull(1)
        assert figures_of(stage).room_wait_s == 5.0
        assert numbers.reads > 1


def test_what_is_ready_is_shown_and_what_was_taken_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, numbers = stage_of(monkeypatch, read_s=1e-6, work_s=1e-6, ordered=True)
    came = 0
    for _ in range(6):
        piece = stage.pull(1000)
        assert isinstance(piece, Block)
        came += len(piece)
        figures = figures_of(stage)
        assert 0 < figures.buffered <= numbers.read - came
        assert figures.max_parallelism == CALLS
    stage.close()
    assert figures_of(stage).buffered == 0


@pytest.mark.parametrize("before", [0, 3])
def test_blocks_that_come_stacked_are_whole_batches_as_soon_as_it_is_known_what_elements_cost(before: int) -> None:
    def make(block: Block) -> list[Block]:
        rows = np.repeat(np.asarray(block.payload.rows(), np.float64), 1024).reshape(len(block), 1024)
        return [Block(Columns(flatten(rows)[1], [rows]), block.cursor, block.origin)]

    def of_six(target_s: float) -> Pace:  # elements take no time here
        return Pace(target_s=target_s, limit=6)

    numbers, budget = Numbers(0.0, [0.0]), Budget(1 << 30)
    stage = ParallelStage(
        make,
        numbers,
        Meter("map"),
        gate=Gate(Here(), CALLS),
        ahead=budget.ahead(),
        paces=TaskPaces(of_six),
        memory=BatchMemory(8, 1 << 30, before, stacked=True),
    )
    stage._reads.pace.limit = 100
    lengths: list[int] = []
    while sum(lengths) < 160:
        piece = stage.pull(100)
        assert isinstance(piece, Block)
        assert piece.payload.columns().arrays[0][:, 0].tolist() == list(range(sum(lengths), sum(lengths) + len(piece)))
        lengths.append(len(piece))
    begun = next(at for at in range(len(lengths)) if lengths[at:] == [8] * len(lengths[at:]))
    assert (before + sum(lengths[:begun])) % 8 == 0
    assert begun < len(lengths) // 2


@given(st.integers(1, 3000), st.floats(1e-6, 1e-2), st.integers(0, 40))
def test_toward_a_known_end_no_worker_has_more_than_its_part_of_what_is_left(
    count: int, work_s: float, more: int
) -> None:
    """Whatever an element takes, and where the end comes later than was said, or sooner."""
    with by_hand() as clock:
        numbers = Numbers(0.0, [0.0])
        numbers.last = max(1, count + more - 20)

        def make(block: Block) -> list[Block]:
            clock.move(len(block) * work_s)
            return [block]

        gate = Gate(Here(), CALLS)
        stage = ParallelStage(make, numbers, Meter("map"), gate=gate, ahead=Budget(1 << 30).ahead(), count=count)
        sizes = numbers.sizes_of(stage._pace)
        came: list[int] = []
        while (piece := stage.pull(10_000)) is not None:
            assert isinstance(piece, Block)
            came += piece.payload.rows()
    assert came == list(range(numbers.last))
    before = 0
    for limit, whole in zip(numbers.asked, sizes, strict=True):
        assert limit <= max(-(-(count - before) // CALLS), -(-whole // 4), 1)
        before += limit


@given(st.floats(1e-7, 10), st.integers(0, 1 << 24), st.integers(1, 64), st.booleans())
def test_the_next_run_begins_with_few_elements_of_what_this_one_has_learned(
    element_s: float, nbytes: int, workers: int, elsewhere: bool
) -> None:
    before, paces = TaskPaces(), TaskPaces()
    before.lengthen(0.0, workers, elsewhere=elsewhere)
    for _ in range(8):
        before.making.observe(10, 10 * element_s, 10 * nbytes)
    paces.begin_like(before)
    paces.lengthen(0.0, workers, elsewhere=elsewhere)
    size = paces.making.size
    assert paces.making.element_s == pytest.approx(element_s)
    assert size == 1 or size * element_s <= 0.51 * paces.making.target_s
    assert size == 1 or size * nbytes <= 0.51 * paces.making.bytes_limit
    assert 1 <= size <= 64


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 64)), max_size=60), st.booleans())
def test_a_task_is_a_small_part_of_what_was_done_before_and_within_its_bounds(
    done: list[tuple[float, int]], elsewhere: bool
) -> None:
    paces, before_s = TaskPaces(), 0.0
    of_two_s = paces.making.target_s * (2 if elsewhere else 1)
    for one_s, workers in done:
        before_s += one_s
        paces.lengthen(one_s, workers, elsewhere=elsewhere)
        shortest_s = of_two_s * max(1, min(workers, 16) / 4)
        assert shortest_s <= paces.making.target_s <= max(shortest_s, before_s / 16)
        assert paces.making.target_s <= of_two_s * (2 if elsewhere else 1) * max(1, workers / 2)
        assert paces.making.target_s <= 0.26


@pytest.mark.parametrize(("workers", "longer"), [(1, 1), (2, 1), (4, 2), (16, 8), (64, 8)])
def test_tasks_of_a_run_that_lasts_take_the_longer_the_more_workers_there_are(workers: int, longer: int) -> None:
    of_threads, of_processes = TaskPaces(), TaskPaces()
    at_first_s = of_threads.making.target_s
    of_threads.lengthen(60.0, workers, elsewhere=False)
    of_processes.lengthen(60.0, workers, elsewhere=True)
    assert (of_threads.making.target_s, of_processes.making.target_s) == (longer * at_first_s, 4 * longer * at_first_s)
