"""One demo from its request to its report.

Everything that can be found wrong is found before the first step: report, framework, folder. Only what is inside a
file shows when it is read. With JSON asked for, stdout carries the document and nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console

import headrace as hr
from headrace.cli.demo.csv_folder import CsvFolder, prepare_folder
from headrace.cli.demo.data import Recipe
from headrace.cli.demo.frameworks import model_maker
from headrace.cli.demo.models import Device, Framework, Model, initial_weights
from headrace.cli.demo.progress import Progress, progress_on
from headrace.cli.demo.summary import compare
from headrace.cli.demo.training import Run, train
from headrace.cli.demo.ways import SAME_LOSSES, WAYS, Job, judged
from headrace.frozen import frozen
from headrace.observe.tables import counted

__all__ = ["Request", "run_demo"]

# As long as a way is looked at once more to say why its steps wait, or as it took, where that is less.
_LOOK_S: Final = 1.5


@frozen(kw_only=True)
class Request:
    """What was asked for on the command line.

    Attributes:
        folder: where the CSV files are or shall be.
        may_fill: whether an existing folder without CSV files may be filled.
        recipe: what to make where files are to be made.
        features: how many features the user's own rows have; None reads it off the first row.
        epochs: times that each row is seen.
        batch_size: rows in a batch.
        framework: what computes the model.
        device: where; None takes a GPU when there is one.
        workers: threads of the parallel way; None leaves it to headrace.
        report: where the page goes; None writes none.
        json: whether stdout gets the document in place of the table.
    """

    folder: Path
    may_fill: bool
    recipe: Recipe
    features: int | None
    epochs: int
    batch_size: int
    framework: Framework
    device: Device | None
    workers: int | None
    report: Path | None
    json: bool


def run_demo(request: Request) -> None:
    """Does what was asked, and shows it.

    Raises:
        HeadraceError: it cannot be done, or the data is not what it should be.
    """
    if request.report:
        _check_report(request.report)
    make_model = model_maker(request.framework, request.device)
    console = Console(stderr=request.json)
    with progress_on(console, quiet=request.json) as progress:
        job = _job(request, progress)
        weights = initial_weights(job.folder.features, request.recipe.seed)
        device = _warm_up(make_model(weights), job.folder)
        progress.note(_setting(job, f"{request.framework} on {device}"))
        runs = _run_ways(job, lambda: make_model(weights), progress)
        runs = [_judged(run, job, make_model(weights)) for run in runs]
    _show(request, console, job, runs, device)


def _check_report(path: Path) -> None:
    from headrace.cli.demo.charts import check_charts_can_be_drawn
    from headrace.page.writing import check_can_be_written

    check_charts_can_be_drawn()
    check_can_be_written(path)


def _job(request: Request, progress: Progress) -> Job:
    folder = prepare_folder(
        request.folder,
        request.recipe,
        may_fill=request.may_fill,
        features=request.features,
        on_file=progress.file_made,
    )
    return Job(
        folder=folder,
        epochs=request.epochs,
        batch_size=request.batch_size,
        seed=request.recipe.seed,
        workers=request.workers,
    )


def _warm_up(model: Model, folder: CsvFolder) -> str:
    """Does what no way is charged for: modules are imported, libraries start their threads, a GPU its context."""
    import_module("headrace.iterator")
    import_module("headrace.dataset.formats.csv")
    import_module("headrace.io.csv.reader")
    row = ",".join(["0"] * (folder.features + 1))
    hr.io.decode_csv([row], [np.zeros(folder.features, np.float32), np.float32(0)])
    model.step(np.zeros((1, folder.features), np.float32), np.zeros((1, 1), np.float32))
    return model.device


def _run_ways(job: Job, make_model: Callable[[], Model], progress: Progress) -> list[Run]:
    runs = []
    for way in WAYS:
        progress.way_starts(way.name, job.steps)
        runs.append(train(way, job, make_model(), on_step=progress.step_ends))
        progress.way_ends(runs[-1])
    return runs


def _judged(run: Run, job: Job, model: Model) -> Run:
    """Returns a run with the verdict of its pipeline, for which it is run again."""
    told = judged(run.way, job, lambda batch: model.step(*batch), min(_LOOK_S, run.whole_s))
    return dataclasses.replace(run, verdict=told)


def _show(request: Request, console: Console, job: Job, runs: list[Run], device: str) -> None:
    from headrace.cli.demo.document import document
    from headrace.cli.demo.report import write_report
    from headrace.cli.demo.table import print_table
    from headrace.page.machine import this_machine

    comparison = compare(runs, same_losses=SAME_LOSSES)
    machine = this_machine(str(request.framework), device=device)
    if request.report:
        write_report(request.report, comparison, job, machine)
    if request.json:
        print(document(comparison, job, machine, request.framework))
        return
    print_table(comparison, console)
    if request.report:
        # Never folded: a path that a person may click or copy.
        console.print(f"report: {request.report}", highlight=False, soft_wrap=True)


def _setting(job: Job, computed: str) -> str:
    folder = job.folder
    return (
        f"{counted(folder.rows, 'row')} of {folder.features + 1:,} numbers in {counted(len(folder.paths), 'CSV file')}; "
        f"{counted(job.epochs, 'epoch')} in batches of {job.batch_size:,}: {counted(job.steps, 'step')}; {computed}"
    )
