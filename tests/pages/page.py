"""What a page shows: files, programs, commands, and what they print.

    ```python title="train.py"      a file of that name in the reader's folder
    ```python                       a part of the page's own program; the parts are run one after the other
    ```text                         what the part before it prints; or it says so itself: print(1 + 1)  # 2
    ```console                      commands behind "$ ", each with what it prints (not what it writes to stderr)
    <!-- given … -->                a part that the reader does not see: the files and names that the page takes for granted

Every other block is not run. What a part prints is compared as it stands; of what a command prints, the figures that no two
runs share (those with a decimal point or a unit) are compared as figures only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Command", "File", "Part", "Step", "same_output", "steps_of"]

_BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?[^\n]*\n(?P<text>.*?)^```$|^<!-- given\n(?P<given>.*?)^-->$',
    re.DOTALL | re.MULTILINE,
)
_COMMAND = re.compile(r"^\$ (?P<words>.*)\n(?P<prints>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_SAID = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
_FIGURE = re.compile(
    r"\d[\d,]*(?:\.\d+)? (?:ns|µs|ms|s|bytes?|[kMGT]B)\b|0x[\da-f]+\.[\da-f]+p[+-]\d+|\d[\d,]*\.\d+(?:e-?\d+)?"
    r"|\d[\d,]*(?= ?(?:%|×|ns\b|µs\b|ms\b|s\b|workers\b|KiB\b|MiB\b|GiB\b|MB\b))"
    r"|\d[\d,]*(?=\s+(?:[\d.,]+ (?:ns|µs|ms|s)\b|\d+\.\d+ of \d))"  # a rate, before a time or a number of threads
)


@dataclass(frozen=True, slots=True)
class File:
    """A file that the reader has in the folder."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page's own program."""

    code: str
    line: int
    prints: str | None  # None where the page does not show it
    start: int  # where in the page stands what it prints

    def prints_what_is_said(self, printed: str) -> bool:
        """Whether the page is right about what the part prints."""
        if self.prints is not None:
            return printed.rstrip() == self.prints.rstrip()
        return printed.splitlines() == _SAID.findall(self.code)


@dataclass(frozen=True, slots=True)
class Command:
    """A command in the reader's terminal."""

    words: str
    prints: str
    start: int  # where in the page stands what it prints


Step = File | Part | Command


def steps_of(text: str) -> list[Step]:
    """What a reader of the page does, in order."""
    steps: list[Step] = []
    blocks = list(_BLOCK.finditer(text))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        kind, title, content = block["kind"], block["title"], block["text"]
        if block["given"]:
            steps.append(Part(block["given"], text.count("\n", 0, block.start()) + 1, None, -1))
        elif kind == "console":
            steps += [
                Command(found["words"], found["prints"], block.start("text") + found.start("prints"))
                for found in _COMMAND.finditer(content)
            ]
        elif title:
            steps.append(File(title, content))
        elif kind == "python":
            shown = following if following and following["kind"] == "text" else None
            line = text.count("\n", 0, block.start()) + 1
            steps.append(Part(content, line, shown and shown["text"], shown.start("text") if shown else -1))
    return steps


def same_output(shown: str, printed: str) -> bool:
    """Whether a command prints what the page shows, whatever its figures."""
    return _without_figures(shown) == _without_figures(printed)


def _without_figures(text: str) -> list[str]:
    return [" ".join(_FIGURE.sub("#", line).split()) for line in text.strip().splitlines()]
