"""Rounds in which the two ways of batching a job take turns, in one process."""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ranks.jobs import Dataset, Job
from ranks.states import States


@dataclass(frozen=True, slots=True)
class Measured:
    """What one job took in each round, in seconds for a million elements."""

    job: Job
    plain: list[float]
    dealt: list[float]

    @property
    def ratio(self) -> float:
        """The speed of the dealt plan, as a part of that of the plain one."""
        return statistics.median(self.plain) / statistics.median(self.dealt)


def run_rounds(jobs: Sequence[Job], rounds: int, folder: Path, report: Callable[[Measured], None]) -> list[Measured]:
    """Measure all jobs; the first round warms up."""
    found = []
    for job in jobs:
        build = job.make(folder)
        taken = [[_epoch_s(job, way(build())) for way in (job.plain, job.dealt)] for _ in range(rounds + 1)][1:]
        found.append(Measured(job, *map(list, zip(*taken, strict=True))))
        report(found[-1])
        gc.collect()
    return found


def _epoch_s(job: Job, dataset: Dataset) -> float:
    """Seconds for a million elements of an epoch, which a new iterator begins; building the plan is not timed."""
    batches = 0
    begun = time.perf_counter()
    for _ in dataset:
        batches += 1
    return (time.perf_counter() - begun) / (batches * job.batch) * 1e6


def measured_states(folder: Path) -> States:
    """Measure states in a process of their own."""
    script = Path(__file__).with_name("states.py")
    ran = subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True, text=True)
    return States(**json.loads(ran.stdout))
