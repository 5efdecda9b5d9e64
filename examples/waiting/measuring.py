"""One job, before and after: what its profile says and promises, and what comes of each piece of advice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import headrace as hr
from examples.waiting.gpu import Step
from headrace.profiling import Profile

__all__ = ["Job", "Measured", "Tried", "measured", "tried"]


@dataclass(frozen=True, slots=True)
class Job:
    """A training job.

    Attributes:
        name: a word.
        naive: makes its input as one writes it first.
        step: is called with the components of a batch.
        step_s: how long a GPU takes for it.
    """

    name: str
    naive: Callable[[], hr.Dataset]
    step: Step
    step_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one form of the input did for the steps.

    Attributes:
        words: what was changed.
        steps_per_s: steps a second.
        busy: the part of the time in which a GPU would compute, from 0 to 1: what ``nvidia-smi`` shows of one.
        promised: how many times as many steps a second the profile expected; None of the form that is written first.
    """

    words: str
    steps_per_s: float
    busy: float
    promised: float | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """A job, and what came of the advice.

    Attributes:
        job: the job.
        profile: of its first form.
        before: its first form.
        after: each piece of advice alone, followed, in the order of the profile.
    """

    job: Job
    profile: Profile
    before: Measured
    after: tuple[Measured, ...]

    def speedup(self, one: Measured) -> float:
        """Returns how many times as many steps a second there were."""
        return one.steps_per_s / self.before.steps_per_s


def tried(job: Job, seconds: float) -> Tried:
    """Profiles a job, follows each piece of advice, and measures.

    Args:
        job: the job.
        seconds: how long the profile takes, about; each measurement takes half as long.
    """
    ds = job.naive()
    profile = ds.profile(job.step, seconds=seconds)
    before = measured(job, ds, "as written first", seconds / 2)
    after = [
        measured(job, advice.applied(), advice.text.partition(": about")[0], seconds / 2, advice.expected_speedup)
        for advice in profile.advice
    ]
    return Tried(job, profile, before, tuple(after))


def measured(job: Job, batches: Iterable[Any], words: str, seconds: float, promised: float | None = None) -> Measured:
    """Trains for some epochs, of which the first, when caches fill, is not counted."""
    for batch in batches:
        job.step(*batch)
    steps, began_s = 0, time.perf_counter()
    while not steps or time.perf_counter() < began_s + seconds:
        for batch in batches:
            job.step(*batch)
            steps += 1
    rate = steps / (time.perf_counter() - began_s)
    return Measured(words=words, steps_per_s=rate, busy=rate * job.step_s, promised=promised)
