from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from tests.unit.cli.demo.recorded import JOB, STAGES

from headrace.cli.demo.models import Learned
from headrace.cli.demo.training import Step, train
from headrace.cli.demo.ways import Batch, Feed, Job, Way


class ClockByHand:
    def __init__(self) -> None:
        self.time_s = 100.0

    def now_s(self) -> float:
        return self.time_s


class SlowModel:
    device = "a clock"

    def __init__(self, clock: ClockByHand) -> None:
        self._clock = clock

    def step(self, features: NDArray[np.float32], labels: NDArray[np.float32]) -> Learned:
        self._clock.time_s += 2.0
        return Learned(loss=float(features.sum()), accuracy=1.0)


def way_that_takes(clock: ClockByHand, *, open_s: float, batch_s: float, close_s: float) -> Way:
    def batches() -> Iterator[Batch]:
        for size in (4, 4, 1):
            clock.time_s += batch_s
            yield np.ones((size, 2), np.float32), np.ones((size, 1), np.float32)

    @contextmanager
    def feed(job: Job) -> Iterator[Feed]:
        clock.time_s += open_s
        yield Feed(batches(), lambda: STAGES, "the plan")
        clock.time_s += close_s

    return Way(name="slow", meaning="by the clock", feed=feed)


def test_a_step_is_its_waiting_and_its_learning_and_the_first_also_the_start() -> None:
    clock, told = ClockByHand(), list[Step]()
    way = way_that_takes(clock, open_s=5.0, batch_s=1.0, close_s=0.5)
    run = train(way, JOB, SlowModel(clock), on_step=told.append, clock=clock)
    assert [step.wait_s for step in run.steps] == [6.0, 1.0, 1.0]
    assert [step.total_s for step in run.steps] == [8.0, 3.0, 3.0]
    assert [step.ended_s for step in run.steps] == [8.0, 11.0, 14.0]
    assert [step.batch_size for step in run.steps] == [4, 4, 1]
    assert run.whole_s == 14.5
    assert told == list(run.steps)


def test_what_is_shown_between_steps_belongs_to_no_step_but_to_the_whole() -> None:
    clock = ClockByHand()

    def draw(step: Step) -> None:
        clock.time_s += 10.0

    run = train(
        way_that_takes(clock, open_s=0.0, batch_s=1.0, close_s=0.0), JOB, SlowModel(clock), on_step=draw, clock=clock
    )
    assert [step.total_s for step in run.steps] == [3.0, 3.0, 3.0]
    assert run.whole_s == 39.0


def test_a_run_keeps_the_figures_of_its_pipeline() -> None:
    clock = ClockByHand()
    run = train(
        way_that_takes(clock, open_s=0.0, batch_s=1.0, close_s=0.0),
        JOB,
        SlowModel(clock),
        on_step=lambda step: None,
        clock=clock,
    )
    assert (run.way, run.meaning, run.stages, run.plan) == ("slow", "by the clock", STAGES, "the plan")
