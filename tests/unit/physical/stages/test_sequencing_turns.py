"""When the next turn of a repeat is begun: once nothing is left to be read of this one, and never if that changes what comes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

import headrace as hr
from headrace.blocks.block import Block
from headrace.blocks.cursor import IndexCursor, State
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.errors import NotFoundError
from headrace.iterator import DatasetIterator
from headrace.observe.meter import Meter
from headrace.physical.budget import Budget
from headrace.physical.context import StageContext
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.run_policy import RunPolicy
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.sequencing_turns import RepeatStage, Turns
from headrace.physical.workers.gates import Gates
from headrace.semantics.meters import Meters
from headrace.semantics.run_context import Seeds


class _Slow:
    """A clock by which all takes long."""

    def __init__(self) -> None:
        self._times_s = itertools.count()

    def now_s(self) -> float:
        return float(next(self._times_s))


class _Turn(Stage):
    """Four elements, of which workers have read the last two when the first two were taken; what happens to it is noted."""

    def __init__(self, turn: int, happened: list[str]) -> None:
        super().__init__(Meter("turn"), (), IndexCursor(0))
        self.turn = turn
        self._happened = happened
        self._given = 0

    @property
    def reads_no_more(self) -> bool:
        return self._given >= 2

    def read_ahead(self) -> bool:
        self._happened.append(f"{self.turn} reads ahead")
        return True

    def _pull(self, limit: int) -> Item:
        if self._given == 4:
            return None
        self._given += 1
        self._happened.append(f"{self.turn} gives")
        return Block(Rows([self.turn]), IndexCursor(self._given - 1), IndexOrigin(range(1)))

    def stop(self) -> None:
        self._happened.append(f"{self.turn} stops")

    def close(self) -> None:
        self._happened.append(f"{self.turn} closes")


def repeated(build: Callable[[int, State | None], Stage], *, has_workers: bool = True) -> RepeatStage:
    context = StageContext(
        seeds=Seeds({}, 0),
        meters=Meters(),
        budget=Budget(1 << 30),
        gates=Gates() if has_workers else None,
        policy=RunPolicy(clock=_Slow()),
    )
    turns = Turns(2, build, build(0, None))
    return RepeatStage(turns, Meter("repeat"), None, hr.Dataset.range(4).__headrace_plan__(), context)


@pytest.mark.parametrize("has_workers", [True, False])
def test_workers_begin_with_the_next_turn_when_this_one_leaves_them_nothing_to_read(has_workers: bool) -> None:
    happened: list[str] = []
    stage = repeated(lambda turn, _: _Turn(turn, happened), has_workers=has_workers)
    given = [item.payload.rows()[0] for item in iter(lambda: stage.pull(1), None) if isinstance(item, Block)]
    assert given == [0, 0, 0, 0, 1, 1, 1, 1]
    begun = ["1 reads ahead"] if has_workers else []
    first = ["0 gives", "0 gives", *begun, "0 gives", *begun, "0 gives", *begun, "0 closes"]
    assert happened == [*first, *["1 gives"] * 4]


def test_a_turn_that_was_begun_early_is_stopped_and_closed_with_the_others() -> None:
    happened: list[str] = []
    stage = repeated(lambda turn, _: _Turn(turn, happened))
    for _ in range(2):
        stage.pull(1)
    happened.clear()
    stage.stop()
    stage.close()
    assert sorted(happened) == ["0 closes", "0 stops", "1 closes", "1 stops"]


def test_a_turn_that_cannot_be_begun_is_told_of_in_its_own_place() -> None:
    happened: list[str] = []

    def build(turn: int, _: State | None) -> Stage:
        if turn:
            raise NotFoundError("gone")
        return _Turn(turn, happened)

    stage = repeated(build)
    for _ in range(4):
        assert isinstance(stage.pull(1), Block)
    with pytest.raises(NotFoundError, match="gone"):
        stage.pull(1)


@pytest.mark.parametrize("cached_first", [True, False])
def test_a_cache_that_is_repeated_is_whole_when_its_next_turn_begins(cached_first: bool) -> None:
    opened: list[int] = []

    def numbers(x: int) -> hr.Dataset:
        opened.append(x)
        return hr.Dataset.range(50)

    ds = hr.Dataset.range(4).interleave(numbers, cycle_length=2, num_parallel_calls=2)
    ds = ds.cache().shuffle(20, seed=1) if cached_first else ds.shuffle(20, seed=1).cache()
    assert len(list(ds.repeat(3))) == 600
    assert len(opened) == 4


TURNS: dict[str, Callable[[], hr.Dataset]] = {
    "batches of batches": lambda: hr.Dataset.from_generator(lambda: iter(range(12))).batch(2).batch(3),
    "numbered": lambda: hr.Dataset.from_generator(lambda: iter(range(12))).skip(2).enumerate().batch(2),
    "mapped": lambda: hr.Dataset.range(12).map(lambda x: x + 1).batch(2).batch(3),
}


@pytest.mark.parametrize("patience_s", [0.0, 1e9])
@pytest.mark.parametrize("turn", sorted(TURNS))
def test_what_a_turn_does_is_counted_by_its_operations_also_where_it_takes_long(turn: str, patience_s: float) -> None:
    once, dataset = TURNS[turn](), TURNS[turn]().repeat(3)
    policy = RunPolicy(loops=LoopPolicy(patience_s=patience_s, rows_a_look=1))
    with iter(once) as iterator:
        assert list(iterator)
        expected = [(stage.name, 3 * stage.elements) for stage in iterator.stats().stages]
    with DatasetIterator(dataset.__headrace_plan__(), policy=policy) as repeated_iterator:
        count = len(list(repeated_iterator))
        found = [(stage.name, stage.elements) for stage in repeated_iterator.stats().stages]
    assert found == [*expected, ("repeat", count)]
