"""The report of a demo: what was timed, as a page.

It names no host, no user and no folder of the machine that it was made on.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from headrace.cli.demo import table
from headrace.cli.demo.charts import FIRST_STEPS, box_plot, colour_of
from headrace.cli.demo.models import HIDDEN, LEARNING_RATE
from headrace.cli.demo.stages import StageFigures
from headrace.cli.demo.summary import Comparison
from headrace.cli.demo.training import Run
from headrace.cli.demo.ways import Job
from headrace.observe.tables import counted
from headrace.page import parts
from headrace.page.document import document
from headrace.page.machine import Machine
from headrace.page.stairs import Line, Window, stairs, windowed
from headrace.page.writing import write_page

__all__ = ["report_page", "write_report"]


def write_report(path: Path, comparison: Comparison, job: Job, machine: Machine) -> None:
    """Writes the report; the file appears when it is complete.

    Raises:
        FailedPreconditionError: it cannot be written there.
    """
    write_page(path, report_page(comparison, job, machine))


def report_page(comparison: Comparison, job: Job, machine: Machine) -> str:
    """Returns the report as HTML."""
    sections = (
        _race(comparison),
        _verdicts(comparison, job),
        _boxes(comparison),
        _waiting(comparison),
        _pipelines(comparison.runs, job),
        _setting(job, machine),
    )
    headline = _headline(comparison)
    header = parts.header("headrace demo", headline, _lead(comparison, job))
    return document(f"headrace demo: {headline}", header, sections, machine)


def _headline(comparison: Comparison) -> str:
    best = max(summary.speed_up for summary in comparison.summaries)
    return f"The same training, {best:.1f} times as fast" if best > 1 else "The same training, fed in several ways"


def _lead(comparison: Comparison, job: Job) -> str:
    folder, steps = job.folder, comparison.summaries[0].steps
    return (
        f"{folder.rows:,} rows of {folder.features + 1:,} numbers in {counted(len(folder.paths), 'CSV file')}, "
        f"{counted(job.epochs, 'epoch')} in batches of {job.batch_size:,}: {counted(steps, 'step')}, each way the same. "
        f"{table.conclusion(comparison)}"
    )


def _race(comparison: Comparison) -> str:
    rows = (
        "<tr><th scope='row'>{}</th>{}</tr>".format(escape(first), "".join(f"<td>{escape(cell)}</td>" for cell in rest))
        for first, *rest in map(table.cells, comparison.summaries)
    )
    same = table.same_losses_line(comparison)
    return parts.section(
        "Where the time went",
        parts.lanes([_lane(number, comparison) for number in range(len(comparison.runs))])
        + parts.key([('class="wait"', "waiting for data"), ("", "training")])
        + parts.table(table.headings(), rows)
        + (parts.note(same[0].upper() + same[1:]) if same else ""),
    )


def _lane(number: int, comparison: Comparison) -> parts.Lane:
    run, summary = comparison.runs[number], comparison.summaries[number]
    wait_s = sum(step.wait_s for step in run.steps)
    rest_s = max(run.whole_s - wait_s, 0)
    return parts.Lane(run.way, wait_s, rest_s, f"{summary.whole_s:.2f} s", _way_style(number, comparison))


def _verdicts(comparison: Comparison, job: Job) -> str:
    told = {run.way: _without_folder(run.verdict, job) for run in comparison.runs if run.verdict}
    if not told:
        return ""
    note = "Each pipeline was run once more: with its training, alone, and its training alone on batches that were there already."
    return parts.section("Why steps wait", parts.entries(told) + parts.note(note))


def _boxes(comparison: Comparison) -> str:
    shown = min(FIRST_STEPS, max(len(run.steps) for run in comparison.runs))
    caption = (
        f"The first {counted(shown, 'step')} of each way. A box holds the middle half of the steps, its line is the median; "
        "circles are steps beyond one and a half times the box, a triangle those beyond the edge. "
        "The first step also starts the pipeline and fills its buffers."
    )
    return parts.section("Time per batch", parts.figure(box_plot(comparison.runs), caption))


def _waiting(comparison: Comparison) -> str:
    styles = [_way_style(number, comparison) for number in range(len(comparison.runs))]
    key = parts.key((style, run.way) for style, run in zip(styles, comparison.runs, strict=True))
    lines = (Line(_windows(run), style) for style, run in zip(styles, comparison.runs, strict=True))
    caption = "How much of each step was spent waiting for its batch. A line ends where its training ended."
    picture = stairs(lines, "seconds since the start of the way")
    return parts.section("Waiting for data", key + parts.figure(picture, caption))


def _windows(run: Run) -> tuple[Window, ...]:
    return windowed(
        [step.wait_s for step in run.steps], [step.total_s for step in run.steps], [step.ended_s for step in run.steps]
    )


def _pipelines(runs: tuple[Run, ...], job: Job) -> str:
    shown = [
        _pipeline(run, f"style='--way:var(--way-{colour_of(number, len(runs))})'", job)
        for number, run in enumerate(runs)
        if run.stages or run.plan
    ]
    if not shown:
        return ""
    note = parts.note(
        "Each stage takes from the one above it; what a stage opens for itself, such as a file, stands "
        "last. The work is a stage's own, summed over its threads, so it may exceed the whole time; a stage waits for its "
        "own threads or its own buffer."
    )
    return parts.section("The pipeline", note + "".join(shown))


def _pipeline(run: Run, style: str, job: Job) -> str:
    longest_s = max((max(stage.busy_s, stage.wait_s) for stage in run.stages), default=0) or 1
    rows = [_stage_row(stage, longest_s, job) for stage in run.stages]
    stages = parts.table(("stage", "delivered", "worked", "waited", "held"), rows, style)
    plan = f"<details><summary>The plan</summary><pre>{_anonymous(run.plan, job)}</pre></details>" if run.plan else ""
    return f"<h3>{escape(run.way)}: {escape(run.meaning)}</h3>{stages if rows else ''}{plan}"


def _stage_row(stage: StageFigures, longest_s: float, job: Job) -> str:
    return (
        f"<tr><td class='stage'>{_anonymous(stage.name, job)}</td><td>{stage.elements:,}</td>"
        f"<td>{_bar(stage.busy_s, longest_s)}</td><td>{_bar(stage.wait_s, longest_s, 'wait')}</td>"
        f"<td>{stage.buffered:,}</td></tr>"
    )


def _bar(time_s: float, longest_s: float, kind: str = "") -> str:
    return parts.bar(time_s, longest_s, f"{time_s * 1e3:,.0f} ms", kind)


def _anonymous(text: str, job: Job) -> str:
    return escape(_without_folder(text, job))


def _without_folder(text: str, job: Job) -> str:
    """Returns a plan's text without the way to the folder on this machine."""
    folder = job.folder.paths[0].parent
    return text.replace(str(folder), folder.name or ".")


def _setting(job: Job, machine: Machine) -> str:
    model = f"{job.folder.features:,} → {HIDDEN:,} ReLU → 1, sigmoid cross-entropy, gradient descent at {LEARNING_RATE}"
    told = {"Model": model, "Computed on": machine.device} | parts.machine_entries(machine)
    return parts.section("The machine", parts.entries(told))


def _way_style(number: int, comparison: Comparison) -> str:
    return f'style="--way:var(--way-{colour_of(number, len(comparison.runs))})"'
