"""The report of a demo: one HTML page that needs nothing beside itself.

It holds no script, loads nothing, and follows the reader's choice of light or dark. It names no host, no user and no
folder of the machine that it was made on.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path

from headrace.cli.demo import table
from headrace.cli.demo.charts import FIRST_STEPS, box_plot, colour_of, waiting_plot
from headrace.cli.demo.machine import Machine
from headrace.cli.demo.models import HIDDEN, LEARNING_RATE
from headrace.cli.demo.stages import StageFigures
from headrace.cli.demo.summary import Comparison
from headrace.cli.demo.training import Run
from headrace.cli.demo.ways import Job
from headrace.cli.demo.wording import counted
from headrace.io.atomic_file import AtomicFile

__all__ = ["report_page", "write_report"]


def write_report(path: Path, comparison: Comparison, job: Job, machine: Machine) -> None:
    """Writes the report; the file appears when it is complete.

    Raises:
        FailedPreconditionError: it cannot be written there.
    """
    page = report_page(comparison, job, machine)
    with AtomicFile(path) as file:
        file.write(page.encode())


def report_page(comparison: Comparison, job: Job, machine: Machine) -> str:
    """Returns the report as HTML."""
    style = files("headrace.cli.demo").joinpath("report.css").read_text(encoding="utf-8")
    sections = (
        _race(comparison),
        _boxes(comparison),
        _waiting(comparison),
        _pipelines(comparison.runs, job),
        _setting(job, machine),
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>headrace demo: {escape(_headline(comparison))}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{_header(comparison, job)}\n<main>\n{''.join(sections)}</main>\n"
        f"<footer>Made by headrace {escape(machine.versions.get('headrace', ''))}.</footer>\n</body>\n</html>\n"
    )


def _headline(comparison: Comparison) -> str:
    best = max(summary.speed_up for summary in comparison.summaries)
    return f"The same training, {best:.1f} times as fast" if best > 1 else "The same training, fed in several ways"


def _header(comparison: Comparison, job: Job) -> str:
    folder, steps = job.folder, comparison.summaries[0].steps
    what = (
        f"{folder.rows:,} rows of {folder.features + 1:,} numbers in {counted(len(folder.paths), 'CSV file')}, "
        f"{counted(job.epochs, 'epoch')} in batches of {job.batch_size:,}: {counted(steps, 'step')}, each way the same."
    )
    return (
        f'<header><p class="eyebrow">headrace demo</p><h1>{escape(_headline(comparison))}</h1>'
        f'<p class="lead">{escape(what)} {escape(table.conclusion(comparison))}</p></header>'
    )


def _race(comparison: Comparison) -> str:
    longest_s = max(summary.whole_s for summary in comparison.summaries)
    lanes = []
    for number, (run, summary) in enumerate(zip(comparison.runs, comparison.summaries, strict=True)):
        wait_s = sum(step.wait_s for step in run.steps)
        rest_s = max(run.whole_s - wait_s, 0)
        lanes.append(
            f'<span class="name">{escape(run.way)}</span><span class="track" {_way_style(number, comparison)}>'
            f'<span class="wait" style="width:{wait_s / longest_s:.2%}"></span>'
            f'<span style="width:{rest_s / longest_s:.2%}"></span></span>'
            f'<span class="whole">{summary.whole_s:.2f} s</span>'
        )
    heads = "".join(f"<th scope='col'>{escape(heading)}</th>" for heading in table.headings())
    rows = "".join(
        "<tr><th scope='row'>{}</th>{}</tr>".format(escape(first), "".join(f"<td>{escape(cell)}</td>" for cell in rest))
        for first, *rest in map(table.cells, comparison.summaries)
    )
    same = table.same_losses_line(comparison)
    return _section(
        "Where the time went",
        f'<div class="race">{"".join(lanes)}</div>'
        '<ul class="key"><li><i class="wait"></i>waiting for data</li><li><i></i>training</li></ul>'
        f'<div class="scroll"><table style="margin-top:1.2rem"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        + (f'<p class="note" style="margin:.8rem 0 0">{escape(same[0].upper() + same[1:])}</p>' if same else ""),
    )


def _boxes(comparison: Comparison) -> str:
    shown = min(FIRST_STEPS, max(len(run.steps) for run in comparison.runs))
    caption = (
        f"The first {counted(shown, 'step')} of each way. A box holds the middle half of the steps, its line is the median; "
        "circles are steps beyond one and a half times the box, a triangle those beyond the edge. "
        "The first step also starts the pipeline and fills its buffers."
    )
    return _section("Time per batch", _figure(box_plot(comparison.runs), caption))


def _waiting(comparison: Comparison) -> str:
    key = "".join(
        f"<li><i {_way_style(number, comparison)}></i>{escape(run.way)}</li>"
        for number, run in enumerate(comparison.runs)
    )
    caption = "How much of each step was spent waiting for its batch. A line ends where its training ended."
    return _section("Waiting for data", f'<ul class="key">{key}</ul>' + _figure(waiting_plot(comparison.runs), caption))


def _pipelines(runs: tuple[Run, ...], job: Job) -> str:
    parts = [
        _pipeline(run, f"style='--way:var(--way-{colour_of(number, len(runs))})'", job)
        for number, run in enumerate(runs)
        if run.stages or run.plan
    ]
    if not parts:
        return ""
    note = (
        '<p class="note">Each stage takes from the one above it; what a stage opens for itself, such as a file, stands '
        "last. The work is a stage's own, summed over its threads, so it may exceed the whole time; a stage waits for its "
        "own threads or its own buffer.</p>"
    )
    return _section("The pipeline", note + "".join(parts))


def _pipeline(run: Run, style: str, job: Job) -> str:
    longest_s = max((max(stage.busy_s, stage.wait_s) for stage in run.stages), default=0) or 1
    rows = "".join(_stage_row(stage, longest_s, job) for stage in run.stages)
    heads = "".join(f"<th scope='col'>{head}</th>" for head in ("stage", "delivered", "worked", "waited", "held"))
    stages = f'<div class="scroll"><table {style}><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    plan = f"<details><summary>The plan</summary><pre>{_anonymous(run.plan, job)}</pre></details>" if run.plan else ""
    return f"<h3>{escape(run.way)}: {escape(run.meaning)}</h3>{stages if rows else ''}{plan}"


def _stage_row(stage: StageFigures, longest_s: float, job: Job) -> str:
    return (
        f"<tr><td class='stage'>{_anonymous(stage.name, job)}</td><td>{stage.elements:,}</td>"
        f"<td>{_bar(stage.busy_s, longest_s, '')}</td><td>{_bar(stage.wait_s, longest_s, ' wait')}</td>"
        f"<td>{stage.buffered:,}</td></tr>"
    )


def _bar(time_s: float, longest_s: float, kind: str) -> str:
    width = f"{time_s / longest_s:.1%}"
    return f'<span class="bar{kind}"><i style="width:{width}"></i><span>{time_s * 1e3:,.0f} ms</span></span>'


def _anonymous(text: str, job: Job) -> str:
    """Returns a plan's text without the way to the folder on this machine."""
    folder = job.folder.paths[0].parent
    return escape(text.replace(str(folder), folder.name or "."))


def _setting(job: Job, machine: Machine) -> str:
    versions = ", ".join(f"{library} {version}" for library, version in machine.versions.items())
    entries = {
        "Model": f"{job.folder.features:,} → {HIDDEN:,} ReLU → 1, sigmoid cross-entropy, gradient descent at {LEARNING_RATE}",
        "Computed on": machine.device,
        "Processor": f"{machine.cpu}, {counted(machine.cores, 'core')}",
        "Memory": f"{machine.memory_bytes / 2**30:.1f} GiB",
        "System": f"{machine.system}, Python {machine.python}",
        "Libraries": versions,
    }
    return _section("The machine", f"<dl>{''.join(_entries(entries.items()))}</dl>")


def _entries(entries: Iterable[tuple[str, str]]) -> Iterable[str]:
    return (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entries)


def _section(heading: str, body: str) -> str:
    return f"<section>\n<h2>{escape(heading)}</h2>\n{body}\n</section>\n"


def _figure(svg: str, caption: str) -> str:
    return f'<figure role="img" aria-label="{escape(caption)}"><div class="scroll">{svg}</div><figcaption>{escape(caption)}</figcaption></figure>'


def _way_style(number: int, comparison: Comparison) -> str:
    return f'style="--way:var(--way-{colour_of(number, len(comparison.runs))})"'
