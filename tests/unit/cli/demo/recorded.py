"""Runs with round figures, for the tests of whatever shows them."""

from __future__ import annotations

from pathlib import Path

from headrace.cli.demo.csv_folder import CsvFolder
from headrace.cli.demo.stages import StageFigures
from headrace.cli.demo.training import Run, Step
from headrace.cli.demo.ways import Job


def recorded_steps(*, total_s: float, wait_s: float, count: int = 10, last_batch: int = 3) -> tuple[Step, ...]:
    return tuple(
        Step(
            ended_s=number * total_s,
            wait_s=wait_s,
            total_s=total_s,
            loss=1 / number,
            accuracy=0.5,
            batch_size=8 if number < count else last_batch,
        )
        for number in range(1, count + 1)
    )


STAGES = (
    StageFigures(name="list_files '/home/ada/rows/*.csv'", elements=4, busy_s=0.0, wait_s=0.0, buffered=0),
    StageFigures(name="map 'f<g>' (train.py:4)", elements=10, busy_s=0.2, wait_s=0.1, buffered=2),
)

NAIVE = Run(way="naive", meaning="by hand", steps=recorded_steps(total_s=0.04, wait_s=0.03), whole_s=0.4)
SEQUENTIAL = Run(
    way="sequential",
    meaning="a pipeline",
    steps=recorded_steps(total_s=0.02, wait_s=0.01),
    whole_s=0.2,
    stages=STAGES,
    plan="list_files('/home/ada/rows/*.csv')",
    verdict="Steps wait 50% of the time: list_files '/home/ada/rows/*.csv' takes 10 ms.",
)
PARALLEL = Run(
    way="parallel",
    meaning="with threads",
    steps=recorded_steps(total_s=0.01, wait_s=0.0),
    whole_s=0.1,
    stages=STAGES,
)
RUNS = (NAIVE, SEQUENTIAL, PARALLEL)

FOLDER = CsvFolder(
    pattern="/home/ada/rows/*.csv",
    paths=(Path("/home/ada/rows/a.csv"), Path("/home/ada/rows/b.csv")),
    rows=75,
    features=16,
    made_by=None,
)
JOB = Job(folder=FOLDER, epochs=1, batch_size=8)
