"""How the run is watched: a bar for each job on a terminal, plain lines elsewhere.

Nothing of it has a thread: it draws when a step ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

if TYPE_CHECKING:
    from rich.console import Console

LINES: Final = 3  # of a job, where the output is no terminal


def progress_on(console: Console) -> Progress:
    """Returns the progress that fits where the output goes."""
    return LiveProgress(console) if console.is_terminal else Progress(console)


class Progress:
    """A few lines for each job, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._name, self._first, self._until = "", 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        """Ends what is drawn."""

    def note(self, line: str) -> None:
        """Shows something worth a line of its own; on a terminal above the bars."""
        self._console.print(line, highlight=False, soft_wrap=not self._console.is_terminal)

    def job_starts(self, name: str, first: int, until: int) -> None:
        """Notes that a job begins with step ``first`` and ends before step ``until``."""
        self._name, self._first, self._until = name, first, until

    def step_ends(self, step: int, loss: float) -> None:
        """Notes that all ranks have saved a step: a line for the first and the last, and every now and then."""
        every, done = -(-(self._until - self._first) // LINES), step + 1 - self._first
        if done == 1 or done % every == 0 or step + 1 == self._until:
            self.note(f"{self._name:<12} step {step + 1:>3}/{self._until}  loss {loss:.3f}")

    def job_ends(self) -> None:
        """Notes that its processes are gone."""


class LiveProgress(Progress):
    """A bar for each job, with the loss beside it."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bars = Bars(
            TextColumn("{task.description:<12}"),
            BarColumn(bar_width=18),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            console=console,
            auto_refresh=False,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *reason: object) -> None:
        """Leaves the bars standing."""
        self._bars.stop()

    def job_starts(self, name: str, first: int, until: int) -> None:
        """Adds a bar."""
        self._task = self._bars.add_task(name, total=until, completed=first, figures="starts")
        self._bars.refresh()

    def step_ends(self, step: int, loss: float) -> None:
        """Moves the bar."""
        assert self._task is not None  # a job starts before its first step ends
        self._bars.update(self._task, completed=step + 1, figures=f"loss {loss:.3f}")
        self._bars.refresh()

    def job_ends(self) -> None:
        """Leaves the last figures standing."""
        self._bars.refresh()
