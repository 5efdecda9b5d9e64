"""How a demo is watched: a live display on a terminal, plain lines elsewhere.

Neither has a thread: they draw between two steps, when the last drawing is old enough, so they cost a training next to
nothing and leave nothing behind.
"""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from headrace.cli.demo.summary import RECENT, share_waiting
from headrace.cli.demo.training import Run, Step
from headrace.clock import MONOTONIC, Clock

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["LiveProgress", "PlainProgress", "Progress", "SilentProgress", "progress_on"]

REDRAW_S = 0.1  # ten times a second looks continuous
LINES_A_WAY = 6  # of plain output: enough to see it go on

# Widths of what stands in a line of the live display, which has one column between two of them.
_NAME: Final = 11
_BAR: Final = 18
_SHORTEST_BAR: Final = 6
_FIGURES: Final = 39
_SHORT_FIGURES: Final = 20


class Progress(Protocol):
    """Something that a demo tells how far it is."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def note(self, line: str) -> None:
        """Shows something worth a line of its own."""
        ...

    def file_made(self, done: int, total: int) -> None:
        """Notes that one more CSV file is there."""
        ...

    def way_starts(self, way: str, steps: int) -> None:
        """Notes that a way begins, which will take that many steps."""
        ...

    def step_ends(self, step: Step) -> None:
        """Notes that one more step is done."""
        ...

    def way_ends(self, run: Run) -> None:
        """Notes that the way is through."""
        ...


def progress_on(console: Console, *, quiet: bool = False) -> Progress:
    """Returns the progress that fits where the output goes; with ``quiet`` only a terminal gets any."""
    if console.is_terminal:
        return LiveProgress(console)
    return SilentProgress() if quiet else PlainProgress(console)


class SilentProgress:
    """Says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Does nothing: there is nothing to end."""

    def note(self, line: str) -> None:
        """Shows nothing."""

    def file_made(self, done: int, total: int) -> None:
        """Shows nothing."""

    def way_starts(self, way: str, steps: int) -> None:
        """Shows nothing."""

    def step_ends(self, step: Step) -> None:
        """Shows nothing."""

    def way_ends(self, run: Run) -> None:
        """Shows nothing."""


class PlainProgress(SilentProgress):
    """A few lines for each way, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._way, self._steps, self._done = "", 0, 0
        self._recent: deque[Step] = deque(maxlen=RECENT)

    def note(self, line: str) -> None:
        """Prints it."""
        self._console.print(line, highlight=False, soft_wrap=True)

    def file_made(self, done: int, total: int) -> None:
        """Prints one line when the last file is there."""
        if done == total:
            self.note(f"made {total:,} CSV files")

    def way_starts(self, way: str, steps: int) -> None:
        """Remembers which way it is."""
        self._way, self._steps, self._done = way, steps, 0
        self._recent.clear()

    def step_ends(self, step: Step) -> None:
        """Prints a line every now and then, and always for the last step."""
        self._done += 1
        self._recent.append(step)
        every = -(-self._steps // LINES_A_WAY)
        if self._done % every == 0 or self._done == self._steps:
            width = len(str(self._steps))
            self.note(f"{self._way:<11} step {self._done:>{width}}/{self._steps}  {recent_figures(self._recent)}")


class LiveProgress(SilentProgress):
    """A bar for each way, with loss, accuracy and waiting beside it; on a narrow terminal as much of that as fits."""

    def __init__(self, console: Console, clock: Clock = MONOTONIC) -> None:
        self._clock = clock
        self._drawn_s = float("-inf")
        self._task: TaskID | None = None
        self._recent: deque[Step] = deque(maxlen=RECENT)
        self._figures = _FIGURES
        self._steps = 0
        self._bars = Bars(console=console, auto_refresh=False)
        self._fit(0)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def note(self, line: str) -> None:
        """Prints it above the bars."""
        self._bars.console.print(line, highlight=False)

    def file_made(self, done: int, total: int) -> None:
        """Moves the bar of the files."""
        if self._task is None:
            self._fit(total)
            self._task = self._bars.add_task("CSV files", total=total, figures="are being made")
        self._bars.update(self._task, completed=done)
        if done == total:
            self._bars.update(self._task, figures="made")
        self._redraw(at_once=done == total)

    def way_starts(self, way: str, steps: int) -> None:
        """Adds a bar."""
        self._fit(steps)
        self._task = self._bars.add_task(way, total=steps, figures="")
        self._recent.clear()
        self._redraw(at_once=True)

    def step_ends(self, step: Step) -> None:
        """Moves the bar of the way."""
        assert self._task is not None  # a way starts before its first step ends
        self._recent.append(step)
        self._bars.advance(self._task)
        self._redraw(at_once=False)

    def way_ends(self, run: Run) -> None:
        """Leaves the last figures standing."""
        self._redraw(at_once=True)

    def _redraw(self, *, at_once: bool) -> None:
        now_s = self._clock.now_s()
        if not at_once and now_s - self._drawn_s < REDRAW_S:
            return
        self._drawn_s = now_s
        if self._task is not None and self._recent:
            figures = recent_figures if self._figures == _FIGURES else short_figures
            self._bars.update(self._task, figures=figures(self._recent))
        self._bars.refresh()

    def _fit(self, steps: int) -> None:
        """Chooses what a line of that many steps has room for: all, or shorter figures, or none, and a bar where one is left."""
        self._steps = max(self._steps, steps)
        counts = 2 * len(str(self._steps)) + 1
        room = self._bars.console.width - _NAME - 1 - counts
        self._figures = next((width for width in (_FIGURES, _SHORT_FIGURES) if width + 1 <= room), 0)
        room -= self._figures + 1 if self._figures else 0
        columns: list[ProgressColumn] = [TextColumn(f"{{task.description:<{_NAME}}}"), MofNCompleteColumn()]
        if room - 1 >= _SHORTEST_BAR:
            columns.insert(1, BarColumn(bar_width=min(_BAR, room - 1)))
        if self._figures:
            columns.append(TextColumn("{task.fields[figures]}"))
        self._bars.columns = tuple(columns)


def recent_figures(steps: deque[Step]) -> str:
    """Loss, accuracy and share of waiting over the last steps, as one line; there is at least one step."""
    loss = sum(step.loss for step in steps) / len(steps)
    accuracy = sum(step.accuracy for step in steps) / len(steps)
    return f"loss {loss:.3f}  accuracy {accuracy:4.0%}  waiting {share_waiting(steps):4.0%}"


def short_figures(steps: deque[Step]) -> str:
    """Loss and share of waiting over the last steps, for a line with little room."""
    loss = sum(step.loss for step in steps) / len(steps)
    return f"loss {loss:.3f} wait {share_waiting(steps):4.0%}"
