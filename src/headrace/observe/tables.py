"""Figures as a table: in a terminal as wide as it is, and in a notebook.

The first column is a name and the others are figures, which are never cut. A name that has too little room is cut at its end;
where that would leave it less than ``_LEAST_NAME`` columns, it stands on a line of its own above its figures.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any, Final

from headrace.frozen import frozen

__all__ = [
    "Table",
    "counted",
    "cut",
    "data_size",
    "duration",
    "plain",
    "printable",
    "quantity",
    "screen_width",
    "seconds",
    "share",
]

# As wide as code is here; a file, a log and a notebook's text may be scrolled.
_UNKNOWN_WIDTH: Final = 120
_LEAST_NAME: Final = 24  # enough for an operation, its function and a part of its place
_GAP: Final = "  "


def screen_width() -> int:
    """Returns how many columns the terminal has that a text is printed to; 120 where it goes elsewhere."""
    output = sys.stdout
    if output is None or not output.isatty():  # None: a program without a console, as Windows' pythonw
        return _UNKNOWN_WIDTH
    import shutil

    return shutil.get_terminal_size((_UNKNOWN_WIDTH, 0)).columns


def cut(text: str, width: int) -> str:
    """Returns the text in at most ``width`` columns, with an ellipsis for the end that was left out."""
    if _columns(text) <= width:
        return text
    while _columns(text) >= width:
        text = text[:-1]
    return f"{text}…"


def printable(text: str) -> str:
    """Returns a text in which whatever a terminal would take for a command is written as Python writes it.

    Names of files come from others, and may hold such characters.
    """
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def seconds(value: float) -> str:
    """Returns a time in seconds, to the millisecond."""
    return f"{value:,.3f}"


def duration(value_s: float) -> str:
    """Returns a time with its unit, in three digits: ``1.25 ms``."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value_s >= unit * (1 - 5e-4):
            return f"{value_s / unit:#.3g} {name}".replace(". ", " ") if value_s < 999.5 else f"{value_s:,.0f} s"
    return f"{value_s / 1e-9:.0f} ns"


def data_size(nbytes: float) -> str:
    """Returns a number of bytes with its unit, in up to three digits: ``1.25 MB``."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if nbytes >= unit * (1 - 5e-4):
            return f"{nbytes / unit:.3g} {name}" if nbytes < 999.5 * unit else f"{nbytes / unit:,.0f} {name}"
    return "1 byte" if nbytes == 1 else f"{nbytes:.0f} bytes"


def counted(number: int, thing: str) -> str:
    """Returns a number of things, in the singular where there is one.

    Example:
        >>> counted(1, "row"), counted(2000, "row")
        ('1 row', '2,000 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def quantity(value: float) -> str:
    """Returns a number in at least three digits: ``1.25``, ``12.5``, ``1,250``."""
    return f"{value:,.0f}" if value >= 99.95 or not value else f"{value:#.3g}"


def share(value: float) -> str:
    """Returns a part of a whole in per cent."""
    return f"{value:.0%}"


def plain(value: Any) -> Any:
    """Returns a snapshot as dicts, lists, numbers and texts, which JSON can hold; with the share that waiting took, where it has one."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if not dataclasses.is_dataclass(value):
        return value
    fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return fields | ({"wait_share": value.wait_share} if hasattr(value, "wait_share") else {})


@frozen
class Table:
    """Rows of a name and figures.

    Attributes:
        titles: what stands above each column.
        rows: as many texts each as there are titles.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self, width: int) -> list[str]:
        """Returns the table in ``width`` columns."""
        rows = [self.titles, *((printable(row[0]), *row[1:]) for row in self.rows)]
        widths = [max(_columns(row[column]) for row in rows) for column in range(len(self.titles))]
        room = width - sum(widths[1:]) - len(_GAP) * (len(widths) - 1)
        if room < min(widths[0], _LEAST_NAME):
            return [line for row in rows for line in (cut(row[0], width), _GAP + _figures(row[1:], widths[1:]))]
        widths[0] = min(widths[0], room)
        return [_padded(cut(row[0], room), widths[0]) + _GAP + _figures(row[1:], widths[1:]) for row in rows]

    def html(self) -> str:
        """Returns the table for a notebook."""
        rows = "".join(f"<tr>{_cells('td', row)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{_cells('th', self.titles)}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(kind: str, texts: Sequence[str]) -> str:
    import html

    aligned = ["left"] + ["right"] * (len(texts) - 1)
    return "".join(
        f'<{kind} style="text-align: {side}">{html.escape(text)}</{kind}>'
        for text, side in zip(texts, aligned, strict=True)
    )


def _figures(texts: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(text.rjust(width) for text, width in zip(texts, widths, strict=True)).rstrip()


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _columns(text))


def _columns(text: str) -> int:
    """Returns how many columns a terminal gives a text: two for each character of Chinese or Japanese, none for an accent."""
    import unicodedata

    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )
