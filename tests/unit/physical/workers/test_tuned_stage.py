"""A stage whose number of calls is left to headrace: what it asks its input for, and when it changes its mind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.blocks.block import Block
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.errors import CancelledError, OutOfRangeError
from headrace.observe.decisions import Decisions
from headrace.observe.meter import Meter
from headrace.physical.budget import Budget
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.chain import Chain
from headrace.physical.loops.loop_stage import LoopStage
from headrace.physical.stage import Item, Stage
from headrace.physical.workers.calls_tuner import CallsTuner
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.own_turn import OwnTurn
from headrace.physical.workers.parallel_stage import ParallelStage
from headrace.physical.workers.task_paces import TaskPaces
from headrace.physical.workers.tuned_calls import TunedCalls
from headrace.physical.workers.tuned_stage import TunedStage
from headrace.physical.workers.tuned_workers import TunedWorkers
from headrace.plan.elementwise import Map

LIMIT_S = 60.0


class Numbers(Stage):
    """Numbers, as many as are asked for, up to a length."""

    def __init__(self, length: int) -> None:
        super().__init__(Meter("numbers"), (), IndexCursor(0))
        self.length, self.asked, self.read = length, list[int](), 0

    def _pull(self, limit: int) -> Item:
        self.asked.append(limit)
        first, self.read = self.read, min(self.length, self.read + limit)
        if first == self.read:
            return None
        return Block(Rows([*range(first, self.read)]), IndexCursor(first), IndexOrigin(np.arange(first, self.read)))


class Through(Stage):
    """What it reads, in two blocks."""

    def __init__(self, source: Stage) -> None:
        super().__init__(Meter("through"), (source,), source.cursor)
        self.rest: Block | None = None

    def _pull(self, limit: int) -> Item:
        if self.rest is not None:
            rest, self.rest = self.rest, None
            return rest
        item = self._read(self.inputs[0], limit)
        if isinstance(item, Block) and len(item) > 1:
            self.rest = item.slice(1, len(item))
            return item.slice(0, 1)
        return item

    def _holds_elements(self) -> bool:
        return self.rest is not None


class AtOnce:
    """Runs a task when it comes."""

    workers = 2
    is_free = True

    def submit(self, task: Callable[[], None]) -> None:
        task()

    def resize(self, more: int) -> None:
        """Has as many as there are."""


def tuned(numbers: Numbers, tuner: ConcurrencyTuner, made: list[tuple[str, int]]) -> TunedStage:
    def here(source: Stage) -> Stage:
        made.append(("here", source.cursor.state()["index"]))
        return Through(source)

    def beside(source: Stage, given: int) -> ParallelStage:
        assert source.cursor.state()["index"] == given
        made.append(("beside", given))
        gate = Gate(AtOnce(), 2)
        meter = Meter("map")
        return ParallelStage(lambda block: [block], source, meter, gate=gate, ahead=Budget(1 << 30).ahead())

    calls = TunedCalls(tuner, TunedWorkers(CallsTuner(2), Gate(AtOnce(), 2), "map", Decisions(), cores=2), "map")
    return TunedStage(numbers, Meter("map"), here=here, beside=beside, tuner=calls, paces=TaskPaces())


def settled(way: int) -> ConcurrencyTuner:
    tuner = ConcurrencyTuner(2)
    tuner._settle(way)
    return tuner


def test_where_workers_gain_nothing_its_input_is_asked_for_what_it_is_asked_for() -> None:
    numbers = Numbers(5000)
    stage = tuned(numbers, settled(1), made := list[tuple[str, int]]())
    while stage.pull(1000) is not None:
        pass
    assert numbers.asked == [1000] * 6
    assert made == [("here", 0)]


def test_an_unknown_function_is_called_on_one_element_first_and_on_four_times_as_many_at_most() -> None:
    numbers = Numbers(5000)
    stage = tuned(numbers, ConcurrencyTuner(2), [])
    for _ in range(6):
        stage.pull(1000)
    assert numbers.asked[0] == 1
    assert all(later <= 4 * max(1, sooner) for sooner, later in zip(numbers.asked, numbers.asked[1:], strict=False))


class Told(ConcurrencyTuner):
    """Says what it is told to say, however long anything takes."""

    most_here = None

    def observe(self, *_: float) -> bool:
        return True


@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_who_reads_gives_all_that_it_has_read_before_the_other_takes_over(limit: int) -> None:
    numbers, tuner, came = Numbers(300), Told(2), list[Any]()
    stage = tuned(numbers, tuner, made := list[tuple[str, int]]())
    for turn in range(600):
        tuner.now = 2 if turn % 3 else 1
        item = stage.pull(limit)
        if item is None:
            break
        assert isinstance(item, Block)
        assert item.cursor.state() == {"index": len(came)}
        came += item.payload.rows()
        assert stage.cursor.state() == {"index": len(came)}
    assert came == list(range(300))
    assert {kind for kind, _ in made} == {"here", "beside"}


class Late:
    """Keeps tasks until it is told to run them."""

    workers = 1
    is_free = True

    def __init__(self) -> None:
        self.given: list[Callable[[], None]] = []

    def submit(self, task: Callable[[], None]) -> None:
        self.given.append(task)

    def resize(self, more: int) -> None:
        """Has as many as there are."""


class Heard(Gate):
    """Tells when it was given a task."""

    def __init__(self, pool: Late) -> None:
        super().__init__(pool, 1)
        self.came = threading.Event()

    def submit(self, task: Callable[[], None]) -> None:
        super().submit(task)
        self.came.set()


def test_a_call_for_which_no_turn_is_free_waits_for_one() -> None:
    pool, made = Late(), list[str]()
    gate = Heard(pool)
    gate.submit(lambda: made.append("first"))  # has the only turn from now on
    gate.came.clear()
    thread = threading.Thread(target=lambda: made.append(OwnTurn(gate, "map").call(lambda: f"after the {made[0]}")))
    thread.start()
    assert gate.came.wait(LIMIT_S)
    assert made == []
    pool.given[0]()
    thread.join(LIMIT_S)
    assert made == ["first", "after the first"]


def test_a_loop_that_has_no_turn_of_one_map_goes_link_by_link_and_waits_for_that() -> None:
    pool, made = Late(), list[Item]()
    taken, free = Heard(pool), Gate(Late(), 1)
    taken.submit(lambda: None)  # has the only turn from now on
    taken.came.clear()
    maps = [hr.Dataset.range(1).map(lambda x, by=by: x * by).__headrace_plan__() for by in (2, 3, 5)]
    chain = Chain([node for node in maps if isinstance(node, Map)], LoopPolicy(probed=0))
    turns = [OwnTurn(taken, "first"), None, OwnTurn(free, "last")]
    stage = LoopStage(chain, [Meter("map") for _ in maps], (), Numbers(40), turns)
    thread = threading.Thread(target=lambda: made.append(stage.pull(100)))
    thread.start()
    assert taken.came.wait(LIMIT_S)
    pool.given[0]()
    thread.join(LIMIT_S)
    made.append(stage.pull(100))
    rows = [piece.payload.rows() for piece in made if isinstance(piece, Block)]
    assert [row for block in rows for row in block] == [number * 30 for number in range(40)]
    assert len(rows[0]) < 40 - len(rows[0])  # few, as nobody looks at the clock meanwhile


def test_what_its_call_raises_reaches_the_caller_and_stop_ends_its_wait() -> None:
    gate = Gate(Late(), 1)
    with pytest.raises(ZeroDivisionError):
        OwnTurn(gate, "map").call(lambda: 1 // 0)
    gate.submit(lambda: None)  # has the only turn from now on
    turn = OwnTurn(gate, "map")
    turn.stop()
    with pytest.raises((CancelledError, OutOfRangeError)):
        turn.call(lambda: 1)
