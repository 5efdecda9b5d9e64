"""Who read what when, as SVG that takes its colours from the page around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from examples.elastic.documents import SOURCES
from examples.elastic.story import Outcome, Part

# The page's colours of the sources, in their order, and of what was killed.
COLOURS: Final = ("--way-3", "--way-1", "--way-2")
KILLED: Final = "--way-0"

_LEFT: Final = 62  # for the names of rows
_TOP: Final = 30  # for the names of jobs
_COLUMN: Final = 14
_ROW: Final = 15
_GAP: Final = 16  # between two jobs
_CELL: Final = (12, 13)


def reading_picture(outcome: Outcome) -> str:
    """Ranks as rows, steps as columns: what each read, by source."""
    rows = max(outcome.plan.ranks)
    starts = _starts(outcome.parts)
    drawn = [_row_names([f"rank {rank}" for rank in range(rows)])]
    for part, left in zip(outcome.parts, starts, strict=True):
        drawn += [_heading(part, left), *_cells(part, left), *_steps(part, left, rows), *_mark(part, left, rows)]
    return _svg("".join(drawn), _end(outcome.parts, starts), _TOP + rows * _ROW + 38)


def stream_picture(outcome: Outcome) -> str:
    """Streams as rows, jobs as columns: which rank read each."""
    streams = outcome.plan.streams
    starts = _starts(outcome.parts)
    drawn = [_row_names([f"stream {stream}" for stream in range(streams)])]
    for part, left in zip(outcome.parts, starts, strict=True):
        drawn.append(_heading(part, left))
        width = _width(part) - (_COLUMN - _CELL[0])
        for stream in range(streams):
            rank, top = stream % part.ranks, _TOP + stream * _ROW
            hue = 360 * rank // part.ranks
            drawn.append(
                f'<rect x="{left}" y="{top}" width="{width}" height="{_CELL[1]}" rx="2" style="fill:hsl({hue} 45% 55% / .45)"/>'
                + _text(left + width / 2, top + 10, str(rank), "middle", "--ink", 9)
            )
    return _svg("".join(drawn), _end(outcome.parts, starts), _TOP + streams * _ROW)


def _read_steps(part: Part) -> list[int]:
    return sorted({step for step, _ in part.reads})


def _width(part: Part) -> int:
    return len(_read_steps(part)) * _COLUMN


def _starts(parts: Sequence[Part]) -> list[int]:
    """Where each job begins."""
    starts = [_LEFT]
    for part in parts[:-1]:
        starts.append(starts[-1] + _width(part) + _GAP)
    return starts


def _end(parts: Sequence[Part], starts: Sequence[int]) -> int:
    return starts[-1] + _width(parts[-1])


def _cells(part: Part, left: int) -> Iterator[str]:
    width, height = _CELL
    for (step, rank), read in sorted(part.reads.items()):
        # What the next job read again is pale.
        pale = ' opacity=".3"' if step >= part.done() else ""
        x, y = left + (step - part.first) * _COLUMN, float(_TOP + rank * _ROW)
        rects = []
        for colour, share in zip(COLOURS, read.mix, strict=True):
            part_of = height * share / sum(read.mix)
            rects.append(
                f'<rect x="{x}" y="{y:.1f}" width="{width}" height="{part_of:.1f}" style="fill:var({colour})"/>'
            )
            y += part_of
        yield f"<g{pale}>{''.join(rects)}</g>"


def _mark(part: Part, left: int, rows: int) -> Iterator[str]:
    """A cross where a process was killed, and below the columns what it was."""
    if part.killed is None:
        return
    step = max(step for step, rank in part.reads if rank == part.killed)
    x, y = left + (step - part.first) * _COLUMN, _TOP + part.killed * _ROW
    middle, bottom = x + _CELL[0] / 2, _TOP + rows * _ROW + 20
    line = f"stroke:var({KILLED});stroke-linecap:round;fill:none"
    yield (
        f'<path d="M{middle},{y + 16} V{bottom}" style="{line};stroke-width:1.5;stroke-dasharray:2 4"/>'
        f'<path d="M{x - 1},{y - 1} l14,15 m0,-15 l-14,15" style="{line};stroke-width:3"/>'
        + _text(middle, bottom + 13, f"kill -9 rank {part.killed}", "middle", KILLED, 11, bold=True)
    )


def _heading(part: Part, left: int) -> str:
    name = f"{part.ranks} ranks" if part.ranks > 1 else "1 rank"
    return _text(left, _TOP - 10, name, "start", "--ink", 12, bold=True)


def _steps(part: Part, left: int, rows: int) -> Iterator[str]:
    """Every fifth step's number, counted from 1."""
    for step in _read_steps(part):
        if (step + 1) % 5 == 0:
            x = left + (step - part.first) * _COLUMN + _CELL[0] / 2
            yield _text(x, _TOP + rows * _ROW + 14, str(step + 1), "middle", "--soft", 10)


def _row_names(names: Sequence[str]) -> str:
    return "".join(
        _text(_LEFT - 8, _TOP + row * _ROW + 11, name, "end", "--soft", 10) for row, name in enumerate(names)
    )


def _text(x: float, y: float, text: str, anchor: str, colour: str, size: int, *, bold: bool = False) -> str:
    weight = ";font-weight:650" if bold else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" style="fill:var({colour});font-size:{size}px{weight}">{text}</text>'


def _svg(content: str, width: int, height: int) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{content}</svg>'


def key() -> str:
    """What the colours of the sources mean, as a list of the page."""
    entries = "".join(
        f'<li><i style="--way:var({colour})"></i>{source}</li>' for source, colour in zip(SOURCES, COLOURS, strict=True)
    )
    return f'<ul class="key">{entries}<li><i style="--way:var(--way-3);opacity:.3"></i>read, and read again by the next job</li></ul>'
