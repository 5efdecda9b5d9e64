"""One training, timed step by step.

A step begins when a batch is asked for and ends when the model has learned from it. The first step therefore also
carries what starting the pipeline costs. What is shown to the person between two steps is part of no step, but of the
whole time.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.cli.demo.models import Model
from headrace.cli.demo.stages import StageFigures
from headrace.cli.demo.ways import Job, Way
from headrace.clock import MONOTONIC, Clock
from headrace.frozen import frozen

__all__ = ["Run", "Step", "train"]


@frozen(kw_only=True)
class Step:
    """What one step took and gave.

    Attributes:
        ended_s: its end, in seconds after the start of the run.
        wait_s: how long it waited for its batch.
        total_s: how long it took, waiting included.
        loss: mean over the batch.
        accuracy: share of the batch that was predicted, 0 to 1.
        batch_size: rows in the batch.
    """

    ended_s: float
    wait_s: float
    total_s: float
    loss: float
    accuracy: float
    batch_size: int


@frozen(kw_only=True)
class Run:
    """One way, run to its end.

    Attributes:
        way: its name.
        meaning: half a sentence on it.
        steps: in order; there is at least one.
        whole_s: from before the pipeline started until after it was closed.
        stages: the figures of its pipeline's stages; none where it has no pipeline.
        plan: its pipeline as ``explain`` prints it, or nothing.
        verdict: why its steps wait, in a sentence; nothing where it has no pipeline.
    """

    way: str
    meaning: str
    steps: tuple[Step, ...]
    whole_s: float
    stages: tuple[StageFigures, ...] = ()
    plan: str = ""
    verdict: str = ""


def train(way: Way, job: Job, model: Model, *, on_step: Callable[[Step], None], clock: Clock = MONOTONIC) -> Run:
    """Trains a model to the end of the data, fed in one way.

    Args:
        way: how it is fed.
        job: what it is fed.
        model: it learns in place.
        on_step: told each step when it is over.
        clock: tells the time.

    Raises:
        HeadraceError: the data is not what it should be.
    """
    steps: list[Step] = []
    started_s = asked_s = clock.now_s()
    with way.feed(job) as feed:
        for features, labels in feed.batches:
            got_s = clock.now_s()
            learned = model.step(features, labels)
            ended_s = clock.now_s()
            steps.append(
                Step(
                    ended_s=ended_s - started_s,
                    wait_s=got_s - asked_s,
                    total_s=ended_s - asked_s,
                    loss=learned.loss,
                    accuracy=learned.accuracy,
                    batch_size=len(labels),
                )
            )
            on_step(steps[-1])
            asked_s = clock.now_s()
        stages = feed.stages()
    whole_s = clock.now_s() - started_s
    return Run(way=way.name, meaning=way.meaning, steps=tuple(steps), whole_s=whole_s, stages=stages, plan=feed.plan)
