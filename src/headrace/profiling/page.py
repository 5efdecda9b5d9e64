"""What a profile found, as a page: the verdict first, where steps wait, what to change, and what each stage did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, Protocol

from headrace.observe.stats import StageStats, stage_columns, with_depth
from headrace.observe.tables import data_size, duration, quantity, share
from headrace.page import parts
from headrace.page.document import document
from headrace.page.machine import Machine, this_machine
from headrace.page.stairs import Line, Window, stairs

if TYPE_CHECKING:
    from headrace.profiling.foreign import ForeignProfile
    from headrace.profiling.profile import Profile, Verdict

__all__ = ["advice_list", "foreign_page", "profile_page"]

_STEPS: Final = 'style="--way:var(--way-0)"'
_ALONE: Final = 'style="--way:var(--way-3)"'
# What the page says elsewhere, or as a bar.
_NOT_SHOWN: Final = ("elements",)


class _Measured(Protocol):
    """What profiles have in common."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def steps_per_s(self) -> float: ...
    @property
    def pipeline_per_s(self) -> float: ...
    @property
    def step_s(self) -> float | None: ...
    @property
    def step_beside_s(self) -> float | None: ...
    @property
    def waited_s(self) -> float | None: ...
    @property
    def windows(self) -> tuple[Window, ...]: ...


def profile_page(profile: Profile, machine: Machine | None = None) -> str:
    """Returns the page of a dataset's profile.

    Args:
        profile: what was found.
        machine: what it was found on; None for this one.
    """
    change = advice_list(profile) or parts.note("Nothing that headrace could change would make them faster.")
    return _page(profile, [parts.section("What to change", change), _stages(profile)], machine or this_machine())


def foreign_page(profile: ForeignProfile, machine: Machine | None = None) -> str:
    """Returns the page of the profile of an iterable that is not headrace's."""
    told = {
        f"{profile.kind} alone": f"{quantity(profile.pipeline_per_s)} elements/s",
        "Cores busy meanwhile": f"{profile.cores_used:.1f} of {profile.cores}",
        "With all cores at that work": f"{quantity(profile.reachable_per_s)} elements/s",
    }
    if profile.read_bytes_per_s is not None:
        told["Read from disks"] = f"{data_size(profile.read_bytes_per_s)}/s"
    return _page(profile, [parts.section("Seen from outside", parts.entries(told))], machine or this_machine())


def advice_list(profile: Profile) -> str:
    """Returns what was tried, with what it brought, or else what is advised; nothing where nothing is."""
    shown = profile.tried or profile.advice
    told = "".join(f"<li>{escape(str(one))}</li>" for one in shown)
    return (f'<ol class="advice">{told}</ol>' if shown else "") + (
        parts.note(profile.together) if profile.tried else ""
    )


def _page(profile: _Measured, sections: Sequence[str], machine: Machine) -> str:
    verdict = profile.verdict
    header = parts.header("headrace profile", verdict.text, _lead(profile), "sentence")
    shown = [*_time_of_a_step(profile), *_waiting(profile), *sections]
    setting = parts.section("The machine", parts.entries(parts.machine_entries(machine)))
    return document(f"headrace profile: {verdict.cause}", header, [*shown, setting], machine)


def _lead(profile: _Measured) -> str:
    if profile.step_s is None:
        return "The pipeline was run alone, as fast as it gives elements."
    return (
        f"{quantity(profile.steps_per_s)} steps/s with the pipeline, which alone gives {quantity(profile.pipeline_per_s)} elements/s; "
        "the step alone was run on elements that were there already."
    )


def _time_of_a_step(profile: _Measured) -> Iterator[str]:
    if profile.step_s is None or profile.step_beside_s is None or profile.waited_s is None:
        return
    whole_s, made_s = profile.waited_s + profile.step_beside_s, 1 / profile.pipeline_per_s
    waits = f"{duration(whole_s)}, {share(profile.waited_s / whole_s if whole_s > 0 else 0.0)} waiting"
    shown = [
        parts.Lane("together", profile.waited_s, profile.step_beside_s, waits, _STEPS),
        parts.Lane("step alone", 0.0, profile.step_s, duration(profile.step_s), _STEPS),
        parts.Lane("pipeline alone", 0.0, made_s, duration(made_s), _ALONE),
    ]
    named = [('class="wait"', "waits for its element"), (_STEPS, "the step itself"), (_ALONE, "to make an element")]
    yield parts.section("The time of a step", parts.lanes(shown) + parts.key(named))


def _waiting(profile: _Measured) -> Iterator[str]:
    if not profile.windows:
        return
    caption = "How much of each step was spent waiting for its element, step and pipeline together; its beginning, in which files are opened and buffers filled, is left out."
    picture = stairs([Line(profile.windows, _STEPS)], "seconds")
    yield parts.section("When steps wait", parts.figure(picture, caption))


def _stages(profile: Profile) -> str:
    shown = with_depth(profile.stats.stages)
    stages = [stage for stage, _ in shown]
    works_s = [stage.busy_s / max(1, profile.stats.elements) for stage in stages]
    longest_s = max(works_s, default=0.0)
    columns = [column for column in stage_columns(stages) if column.title not in _NOT_SHOWN]
    marked = next((number for number, stage in enumerate(stages) if stage.name == profile.verdict.stage), None)
    rows = [
        _stage_row(
            stage,
            parts.bar(work_s, longest_s, duration(work_s)),
            [column.text(stage) for column in columns],
            is_marked=number == marked,
            depth=depth,
        )
        for number, ((stage, depth), work_s) in enumerate(zip(shown, works_s, strict=True))
    ]
    explained = parts.note(
        "Sources first, · in the datasets that a function makes; the pipeline alone. The work is what a stage does for one element at the end of the pipeline, without what it "
        "reads from, over all its threads. input: the part of the time that it waited for the stages above; wait: for its own "
        "workers or buffer; room: that its workers waited, as nobody took what was ready."
    )
    headings = ["stage", "work", *(column.title.replace("_", " ") for column in columns)]
    return parts.section(
        "The stages", explained + parts.table(headings, rows, 'style="--way:var(--way-3); --bar:2.5rem"')
    )


def _stage_row(stage: StageStats, work: str, texts: Sequence[str], *, is_marked: bool, depth: int) -> str:
    mark = '<span class="mark">the cause</span>' if is_marked else ""
    cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
    row = '<tr class="marked">' if is_marked else "<tr>"
    return f"{row}<td class='stage'>{escape('· ' * depth + stage.name)}{mark}</td><td>{work}</td>{cells}</tr>"
