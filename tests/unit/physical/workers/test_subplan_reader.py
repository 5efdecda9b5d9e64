"""A dataset that a worker reads ahead."""

from __future__ import annotations

import pathlib

import headrace as hr
from headrace.observe.meter import Meter
from headrace.physical.budget import Budget
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.pace import Pace
from headrace.physical.workers.gates import Gate, Task
from headrace.physical.workers.reading_place import ReadingPlace
from headrace.physical.workers.subplan_reader import PrefetchingReader
from headrace.semantics.meters import Meters
from headrace.semantics.run_context import Seeds


class Hand:
    """A pool that does one turn when it is told to."""

    workers = 1
    is_free = False

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def submit(self, task: Task) -> None:
        self.tasks.append(task)

    def resize(self, more: int) -> None:
        assert not more


def test_what_a_worker_has_parsed_does_not_wait_behind_what_others_are_to_read(tmp_path: pathlib.Path) -> None:
    hand, meter = Hand(), Meter("interleave")
    gate, budget = Gate(hand, 1), Budget(1 << 30)
    pace = Pace(target_s=0.0)  # so that the time of a turn is always spent

    def reader(number: int) -> PrefetchingReader:
        path = tmp_path / f"{number}.csv"
        path.write_text("1.5\n" * 9)
        plan = hr.CsvDataset(path, [0.0]).__headrace_plan__()
        context = StageContext(seeds=Seeds({}, 0), meters=Meters(), budget=budget, gates=None)
        return PrefetchingReader(
            lambda _: lower(plan, None, context),
            None,
            str,
            gate=gate,
            pace=pace,
            meter=meter,
            block_bytes=lambda: 1 << 20,
            ahead=budget.ahead(meter),
            place=ReadingPlace(),
        )

    first, other = reader(1), reader(2)
    hand.tasks.pop(0)()
    taken = 0
    while taken < 9:
        assert first.is_ready()
        taken += len(first.take(first.fill(1)))
    assert taken == 9
    assert not other.is_ready()
    first.close()
    other.close()
