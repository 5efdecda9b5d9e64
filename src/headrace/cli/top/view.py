"""What ``headrace top`` shows of what processes tell: a block a process, and in it a table a pipeline.

Figures of stages are those of the last ten seconds. A narrow screen has fewer of them: what tells where the time goes comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from headrace.observe.decisions import Decision
from headrace.observe.tables import duration, printable, quantity, share

__all__ = ["view"]

_BAR: Final = 8
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
# What is held for so long is worth a line.
_LONG_S: Final = 1.0
_MOST_TOLD: Final = 4
_LIT: Final = "bold black on yellow"


def view(processes: Sequence[dict[str, Any]]) -> RenderableType:
    """Returns what is shown of processes, as ``live.answering`` says what they tell."""
    return Group(*(part for process in processes for part in _process(process)))


def _process(process: dict[str, Any]) -> Iterator[RenderableType]:
    head = Text(no_wrap=True, overflow="ellipsis")
    head.append(f" {printable(process['program']) or 'a process'} ", style="reverse bold")
    head.append(f"  pid {process['pid']}")
    if process.get("world_size", 1) > 1:
        head.append(f"  rank {process['rank']} of {process['world_size']}")
    yield head
    if process.get("error"):
        yield Text(f"  {process['error']}", style="red")
    elif not process["runs"]:
        yield Text("  between two runs", style="dim")
    for run in process["runs"]:
        yield from _run(run)
    yield Text()


def _run(run: dict[str, Any]) -> Iterator[RenderableType]:
    if "error" in run:
        yield Text(f"  {run['error']}", style="red")
        return
    stats, step = run["stats"], run["stats"]["step"]
    told = Text(f"{stats['elements']:,} elements in {duration(stats['elapsed_s'])}, ")
    told.append(f"{quantity(step['steps_per_s'])}/s now")
    waits = run["waits"]
    told.append("  waits ")
    told.append(
        f"{share(waits):>4} ", style="bold " + ("red" if waits >= 0.2 else "yellow" if waits >= 0.05 else "green")
    )
    told.append_text(_bar(waits, "red" if waits >= 0.2 else "yellow"))
    told.append(f"  computes {duration(step['computed']['p50_s'])}")
    yield told
    yield _Stages(run)
    if run["verdict"]:
        yield Text(f"→ {printable(run['verdict'])}", style="yellow" if run["bottleneck"] is not None else "green")
    yield from _told(run)


def _told(run: dict[str, Any]) -> Iterator[RenderableType]:
    """Yields what failed, what is held for long, and what was decided."""
    for failures in run["stats"]["failures"][:_MOST_TOLD]:
        counts = ", ".join(f"{failures[kind]:,} {kind}" for kind in ("raised", "skipped", "replaced") if failures[kind])
        first = failures["first"][0] if failures["first"] else None
        shown = f"; the first: {first['origin'] or ''} {first['message']}" if first else ""
        yield Text(f"✗ {printable(failures['stage'])} failed: {counts}{printable(shown)}", style="red")
    long = [stall for stall in run["stalls"] if stall["held_s"] >= _LONG_S]
    for stall in long[:_MOST_TOLD]:
        what = f" has held {stall['origin']}" if stall["origin"] else " has worked"
        yield Text(
            f"! {printable(stall['stage'])}{printable(what)} for {duration(stall['held_s'])}, in {printable(stall['thread'])}",
            style="magenta",
        )
    for decision in run["stats"]["decisions"][-_MOST_TOLD:]:
        yield Text(f"· {printable(str(Decision(**decision)))}", style="dim")


class _Column(NamedTuple):
    """A column of the table.

    Attributes:
        title: its head.
        text: what stands in it.
        width: how many columns of the screen it takes.
        told: whether it tells anything of a stage.
    """

    title: str
    text: Callable[[dict[str, Any]], Text | str]
    width: int
    told: Callable[[dict[str, Any]], object] = lambda _: True


def _buffer(stage: dict[str, Any]) -> Text | str:
    held, room = stage["buffered"], stage["room"]
    if not (held or stage["buffered_high"]):
        return ""
    text = _bar(held / max(room, 1), "cyan")
    text.append(f" {held:,}")
    return text


def _service(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda stage: duration(stage["service"][name]) if stage["service"]["count"] else ""


def _part(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda stage: "" if stage[name] is None else share(stage[name])


# In the order in which they are left out on a narrow screen, the last first.
_COLUMNS: Final = (
    _Column("per s", lambda stage: quantity(stage["elements_per_s"]), 7),
    _Column("at work", lambda stage: f"{stage['parallelism']:.1f}/{stage['max_parallelism']}", 7),
    _Column("held", _buffer, _BAR + 7, lambda stage: stage["buffered_high"] or stage["buffered"]),
    _Column("p50", _service("p50_s"), 7),
    _Column("input", _part("input_wait_share"), 5),
    _Column("failed", lambda stage: f"{stage['failed']:,}", 6, lambda stage: stage["failed"]),
    _Column("wait", _part("wait_share"), 4),
    _Column("room", _part("room_wait_share"), 4),
    _Column("p99", _service("p99_s"), 7),
    _Column("gil", _part("gil_share"), 4, lambda stage: stage["gil_share"]),
    _Column("cpu", _part("cpu_share"), 4),
    _Column("elements", lambda stage: f"{stage['elements']:,}", 10),
)
_LEAST_NAME: Final = 26
_GAP: Final = 2


class _Stages:
    """The stages of a pipeline, sources first, in a table as wide as there is room."""

    def __init__(self, run: dict[str, Any]) -> None:
        shapes = [*run["stages"], *({},) * len(run["stats"]["stages"])]
        self._stages = [
            {**stage, "room": shape.get("room") or stage["buffered_high"]}
            for stage, shape in zip(run["stats"]["stages"], shapes, strict=False)
        ]
        self._lit = run["bottleneck"]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        left = options.max_width - _LEAST_NAME - 2
        shown: list[_Column] = []
        for column in _COLUMNS:
            if any(column.told(stage) for stage in self._stages):
                left -= column.width + _GAP
                if left < 0:
                    break
                shown.append(column)
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, expand=True, header_style="dim")
        table.add_column("stage", ratio=1, no_wrap=True, overflow="ellipsis")
        for column in shown:
            table.add_column(
                column.title,
                justify="left" if column.text is _buffer else "right",
                no_wrap=True,
                min_width=column.width,
            )
        for number, stage in enumerate(self._stages):
            is_lit = number == self._lit
            mark = ("▶ " if is_lit else "  ") + "· " * bool(stage.get("within"))
            name = Text(mark + printable(stage["name"]), style=_LIT if is_lit else "")
            table.add_row(name, *(column.text(stage) for column in shown), style="bold" if is_lit else "")
        yield table


def _bar(part: float, style: str) -> Text:
    """Returns a part of a whole as a bar."""
    eighths = round(8 * _BAR * min(1.0, max(0.0, part)))
    full, rest = divmod(eighths, 8)
    blocks = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text(blocks.ljust(_BAR), style=f"{style} on grey23")
