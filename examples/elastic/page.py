"""The page: one HTML file that needs nothing beside itself, in the look of the report of ``headrace demo``."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from examples.elastic import picture
from examples.elastic.peers import Answer
from examples.elastic.story import Outcome
from headrace.page import parts
from headrace.page.document import document
from headrace.page.machine import Machine
from headrace.page.writing import write_page as write

# What the report's own style does not have.
_STYLE: Final = """
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: 1rem; margin: 0; }
.figures div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.figures dt { color: var(--soft); font-size: .92rem; }
.figures dd { font-size: 1.6rem; font-weight: 650; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
figure svg { min-width: 44rem; }
.hashes td { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .84rem; }
.peers td, .peers th { text-align: left; white-space: normal; vertical-align: top; }
.peers td { width: 40%; min-width: 10rem; }
.peers .note { font-weight: 400; }
.tall { max-height: 22rem; overflow: auto; }
"""


def write_page(path: Path, outcome: Outcome, plan: str, answers: Sequence[Answer], machine: Machine) -> None:
    """Writes the page; it appears when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, page(outcome, plan, answers, machine))


def page(outcome: Outcome, plan: str, answers: Sequence[Answer], machine: Machine) -> str:
    """The page as HTML."""
    sections = (
        parts.section("What came of it", _figures(outcome)),
        parts.section("Who read what, when", _reading(outcome)),
        parts.section("Which rank had which stream", _streams(outcome)),
        parts.section("Every global batch", _hashes(outcome)),
        parts.section("The same, asked of others", _peers(answers)) if answers else "",
        parts.section("The input", f"<pre>{escape(plan)}</pre>"),
        parts.section("The machine", parts.entries(parts.machine_entries(machine))),
    )
    headline = _headline(outcome)
    header = parts.header("headrace elastic", headline, _lead(outcome))
    return document(f"headrace elastic: {headline}", header, sections, machine, style=_STYLE)


def _headline(outcome: Outcome) -> str:
    numbers = ", ".join(map(str, outcome.plan.ranks[:-1])) + f" and {outcome.plan.ranks[-1]} processes"
    return f"{numbers}: {'the same' if outcome.equal == outcome.plan.steps else 'not the same'} batches"


def _lead(outcome: Outcome) -> str:
    plan = outcome.plan
    later = ", then ".join(map(str, plan.ranks[1:]))
    return (
        f"Three sources mixed 5:3:2, filtered, shuffled in a window and packed, train a model on {plan.ranks[0]} processes. One is killed in the "
        f"middle of step {plan.killed_in + 1}. The job goes on with {later}, from what the ranks had saved; {outcome.equal} of "
        f"{plan.steps} global batches are those of a job that nobody disturbed."
    )


def _figures(outcome: Outcome) -> str:
    merged = [part.merged for part in outcome.parts if part.merged]
    state_bytes = max(each.state_bytes for each in merged)
    entries = {
        "global batches equal to the undisturbed job's": f"{outcome.equal} of {outcome.plan.steps}",
        f"state of the whole job, {outcome.plan.streams} streams": f"{state_bytes / 1e3:.1f} kB",
        "to make one state of those of all ranks": f"{max(each.merge_s for each in merged) * 1e3:.1f} ms",
        "for a rank to load it, at most": f"{max(part.load_s for part in outcome.parts) * 1e3:.1f} ms",
        "from the kill to the next trained step, new processes included": f"{outcome.parts[1].resumed_s:.1f} s",
    }
    body = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in entries.items())
    return (
        f'<dl class="figures">{body}</dl><p class="note" style="margin:1rem 0 0">A batch is compared by a hash of every byte of its rows, in their order. '
        "Losses agree only up to the order in which their floats are summed, which the number of processes changes.</p>"
    )


def _reading(outcome: Outcome) -> str:
    killed = outcome.parts[0]
    ahead = f"Rank {killed.killed} had saved one step less than the others: the next job begins with the step that it could not save."
    caption = (
        "A cell is what a rank read for one step, coloured by how much of it came from which source; below, the number of the step. "
        f"{ahead}"
    )
    return picture.key() + parts.figure(picture.reading_picture(outcome), caption)


def _streams(outcome: Outcome) -> str:
    caption = (
        f"The input is dealt to {outcome.plan.streams} streams, whatever the number of ranks. A state says where each stream is, and whoever has "
        "the stream next reads on from there; the number is the rank's."
    )
    return parts.figure(picture.stream_picture(outcome), caption)


def _hashes(outcome: Outcome) -> str:
    rows = "".join(
        f"<tr><th scope='row'>{step}</th><td>{expected}</td><td>{found}</td><td>{ranks}</td><td>{'equal' if expected == found else 'DIFFERS'}</td></tr>"
        for step, (expected, found, ranks) in enumerate(outcome.batches, start=1)
    )
    heads = "".join(f"<th scope='col'>{head}</th>" for head in ("step", "undisturbed", "this job", "ranks", ""))
    return f'<div class="scroll tall"><table class="hashes"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _peers(answers: Sequence[Answer]) -> str:
    heads = "".join(
        f"<th scope='col'>{head}</th>" for head in ("", "numbers, shuffled", "mixed, filtered, shuffled in a window")
    )
    rows = "".join(
        f"<tr><th scope='row'>{escape(answer.name)}<br><span class='note'>{escape(answer.version)}</span></th>"
        f"<td>{_lines(answer.numbers)}</td><td>{_lines(answer.mixture)}</td></tr>"
        for answer in answers
    )
    note = (
        "8 ranks save after step 4 of an epoch, and 6 go on to its end; or 6 save, and 12 go on. Where a library does not merge states, each has the state of "
        "the rank of its number. Lost and doubled is told of that library's own epoch that nobody stops; equal are the global batches after step 4."
    )
    return (
        f'<div class="scroll"><table class="peers"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="note" style="margin:.8rem 0 0">{escape(note)}</p>'
    )


def _lines(said: Sequence[str]) -> str:
    return "<br>".join(map(escape, said))
