"""docs/conformance.md as data: its rows, their programs, and what each is said to print.

    python -m tests.conformance --differences            both sides of each row, compared with the page
    python -m tests.conformance --differences --write    the same, and what is printed goes into the page

How a row is written stands at the head of the page.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.conformance.programs import Side, headrace_side, printed, tensorflow_side

import headrace as hr

__all__ = ["PAGE", "Row", "compare", "disagreement", "names_left_out", "read_rows", "row_links"]

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"

_TOPIC = re.compile(r"^## (.+)$", re.MULTILINE)
_LINK = re.compile(r"^\| \[(?P<what>.+?)\]\(#(?P<id>[a-z0-9-]+)\) \|(?P<rest>.*)$", re.MULTILINE)
_DETAILS = re.compile(
    r'^<details id="(?P<id>[a-z0-9-]+)" markdown>\n<summary markdown>(?P<what>[^\n]+)</summary>\n(?P<body>.*?)\n</details>$',
    re.MULTILINE | re.DOTALL,
)
_PROGRAM = re.compile(r'^```python(?: title="(?P<side>[\w.]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
_PRINTED = re.compile(r"^```text\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_WIDTH = len("headrace")
_HANGS = "never ends"


@dataclasses.dataclass(frozen=True)
class Row:
    """One difference.

    Attributes:
        id: the anchor of its programs.
        topic: the heading that it stands under.
        what: in words.
        programs: by side; the same program twice where one serves both.
        prints: by side, the lines that the page says are printed.
    """

    id: str
    topic: str
    what: str
    programs: dict[str, str]
    prints: dict[str, list[str]]


def row_links(page: str) -> list[tuple[str, str, str, list[str]]]:
    """The rows of the tables: topic, id, what, and the other cells."""
    return [
        (topic, found["id"], found["what"], [cell.strip() for cell in found["rest"].strip().strip("|").split(" | ")])
        for topic, text in _topics(page)
        for found in _LINK.finditer(text)
    ]


def read_rows(page: str) -> list[Row]:
    """The programs of the page.

    Raises:
        ValueError: if one is not as the head of the page says.
    """
    return [_row(topic, found) for topic, text in _topics(page) for found in _DETAILS.finditer(text)]


def _topics(page: str) -> Iterable[tuple[str, str]]:
    parts = _TOPIC.split(page)
    return zip(parts[1::2], parts[2::2], strict=True)


def _row(topic: str, found: re.Match[str]) -> Row:
    programs = {match["side"] or "both": match["text"] for match in _PROGRAM.finditer(found["body"])}
    if set(programs) == {"both"}:
        programs = dict.fromkeys(("tf.data", "headrace"), programs["both"])
    said = _PRINTED.search(found["body"])
    if set(programs) != {"tf.data", "headrace"} or said is None:
        raise ValueError(
            f'{found["id"]}: expected one program, or one with title="tf.data" and one with title="headrace", '
            "and a ```text block behind them"
        )
    lines = [(line[:_WIDTH].rstrip(), line[_WIDTH + 2 :]) for line in said["text"].splitlines()]
    prints = {side: [text for name, text in lines if name == side] for side in programs}
    return Row(found["id"], topic, found["what"], programs, prints)


def disagreement(row: Row, side: Side) -> str:
    """How a side differs from what the page says of it, in words; empty where it does not."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        found = printed(side, row.programs[side.name], Path(folder), hangs=_HANGS in row.prints[side.name])
    if found == row.prints[side.name]:
        return ""
    said = "\n    ".join(row.prints[side.name]) or "nothing"
    given = "\n    ".join(found) or "nothing"
    return f"{row.id}: {side.name} prints\n    {given}\n  and the page says\n    {said}"


def compare(*, write: bool) -> int:
    """Runs every row on both sides; how many are not as the page says."""
    page = PAGE.read_text(encoding="utf-8")
    rows, sides = read_rows(page), [tensorflow_side(), headrace_side()]
    if write:
        for row in rows:
            page = _with_prints(page, row, sides)
        PAGE.write_text(page, encoding="utf-8")
        return 0
    wrong = [words for row in rows for side in sides if (words := disagreement(row, side))]
    wrong += [f"{name}: headrace does not have it, and the page does not say so" for name in names_left_out(page)]
    print("\n".join(wrong))
    print(f"{len(rows)} differences, each with its programs: {len(wrong)} are not as {PAGE.name} says", file=sys.stderr)
    return len(wrong)


def names_left_out(page: str) -> list[str]:
    """Public names of TensorFlow's that headrace lacks and the page does not mention."""
    import tensorflow as tf

    homes = {
        "Dataset": (tf.data.Dataset, (hr.Dataset,)),
        "data": (tf.data, (hr,)),
        "experimental": (tf.data.experimental, (hr, hr.Dataset)),
        "queue": (tf.queue, (hr.queue,)),
        "io": (tf.io, (hr.io,)),
        "errors": (tf.errors, (hr.errors,)),
    }
    # A code, such as `errors.NOT_FOUND`, is told by its error's name; a module within a module is no name of its own.
    return [
        f"{home}.{name}"
        for home, (theirs, ours) in homes.items()
        for name in dir(theirs)
        if not name.startswith("_") and not name.isupper() and name != "experimental"
        if not any(hasattr(place, name) for place in ours) and f"`{home}.{name}`" not in page
    ]


def _with_prints(page: str, row: Row, sides: list[Side]) -> str:
    lines = []
    for side in sides:
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            lines += [
                f"{side.name:{_WIDTH}}  {line}".rstrip()
                for line in printed(side, row.programs[side.name], Path(folder), hangs=True)
            ]
    start = page.index(f'<details id="{row.id}" markdown>')
    found = _PRINTED.search(page, start)
    assert found is not None  # read_rows has seen it
    return page[: found.start("text")] + "".join(line + "\n" for line in lines) + page[found.end("text") :]
