"""What the invocations waited for: a table for the terminal, and a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from examples.wav_classifier.job import Invocation

WAITING: Final = "#d97706"
COMPUTING: Final = "#0f766e"
FORMS: Final = ("#64748b", "#2563eb")
INK: Final = "#1e293b"

HEADINGS: Final = ("form", "invocation", "files read", "first batch", "median step", "waiting", "time", "accuracy")


def table_of(forms: Mapping[str, Sequence[Invocation]]) -> Table:
    """A row for each invocation of each form."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if number < 2 else "right", no_wrap=True)
    for form, invocations in forms.items():
        for number, one in enumerate(invocations, 1):
            table.add_row(form, str(number), *_cells(one))
    return table


def _cells(one: Invocation) -> tuple[str, ...]:
    return (
        f"{one.files_read:,}",
        f"{one.waits_s[0] * 1e3:,.0f} ms",
        f"{median(one.steps_s) * 1e3:,.1f} ms",
        f"{one.waited:.0%}",
        f"{sum(one.steps_s):.2f} s",
        f"{one.accuracy:.0%}",
    )


def sentences(forms: Mapping[str, Sequence[Invocation]]) -> list[str]:
    """What the figures say."""
    (slow, before), (fast, after) = forms.items()
    slow_s, fast_s = (sum(sum(one.steps_s) for one in invocations) for invocations in (before, after))
    said = [f"The steps of the {fast} form took {fast_s:.1f} s, those of the {slow} form {slow_s:.1f} s."]
    if before[-1].weights == after[-1].weights:
        said.append("Both ended with the same weights, to the last bit.")
    return said


def draw(forms: Mapping[str, Sequence[Invocation]], path: Path) -> None:
    """Writes the chart: above where the time of all steps went, below what each step took."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.family": "sans-serif", "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(9.0, 6.2), layout="constrained")
        bars, steps = figure.subplots(2, height_ratios=(1, 1.25))
        _draw_bars(bars, forms)
        _draw_steps(steps, forms)
        for axes in (bars, steps):
            axes.tick_params(length=0, colors=INK)
            axes.spines[["top", "right", "left"]].set_visible(False)
        figure.savefig(path, dpi=130)


def _draw_bars(axes: Any, forms: Mapping[str, Sequence[Invocation]]) -> None:
    rows = [
        (f"{form} form, invocation {at}", one) for form, all_of in forms.items() for at, one in enumerate(all_of, 1)
    ]
    for place, (_, one) in enumerate(rows):
        total_s = sum(one.steps_s)
        axes.barh(place, one.waited_s, height=0.62, color=WAITING, label="" if place else "waiting for a batch")
        axes.barh(
            place,
            total_s - one.waited_s,
            left=one.waited_s,
            height=0.62,
            color=COMPUTING,
            label="" if place else "training",
        )
        axes.annotate(
            f"{one.waited:.0%} waiting", (total_s, place), (5, 0), textcoords="offset points", va="center", color=INK
        )
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.invert_yaxis()
    axes.margins(x=0.16)  # room for the words beside the bars
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds of all steps")
    axes.legend(loc="lower right", frameon=False)


def _draw_steps(axes: Any, forms: Mapping[str, Sequence[Invocation]]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    times_ms = {form: [second * 1e3 for one in all_of for second in one.steps_s] for form, all_of in forms.items()}
    for (form, times), colour in zip(times_ms.items(), FORMS, strict=True):
        axes.plot(
            range(1, len(times) + 1), times, drawstyle="steps-mid", linewidth=1.3, color=colour, label=f"{form} form"
        )
    starts = [len(one.steps_s) for one in next(iter(forms.values()))][:-1]
    for number, start in enumerate(starts, 2):
        axes.axvline(start + 0.5, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate(
            f" invocation {number}",
            (start + 0.5, 1.0),
            xycoords=("data", "axes fraction"),
            va="bottom",
            color=INK,
            fontsize="small",
        )
    # Logarithmic: the step in which a buffer fills takes thirty times as long as the others.
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.margins(y=0.12)
    axes.set_xlabel("step")
    axes.set_ylabel("ms a step, logarithmic")
    axes.legend(loc="upper right", frameon=False)
