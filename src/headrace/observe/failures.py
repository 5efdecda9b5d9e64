"""Which elements failed in a run, and what became of them: all are counted, and the first few of each operation kept in words.

It costs nothing while nothing fails, and of what fails again and again a count.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final, Literal

from headrace.errors import HeadraceError, said
from headrace.frozen import frozen
from headrace.observe.frames_held import let_go_of_frames

__all__ = ["FailedElement", "Failures", "Outcome", "StageFailures"]

# What became of a failed element: its error was given in its place, it was left out, or on_error gave another one.
Outcome = Literal["raised", "skipped", "replaced"]
# Kept of each operation; they mostly fail for a few reasons.
_MOST_KEPT: Final = 10


@frozen
class FailedElement:
    """An element that failed.

    Attributes:
        origin: where it came from, such as ``"element 1203"`` or ``"data/a.csv:18"``; None where that is not known.
        kind: the class of the exception, such as ``"ValueError"``.
        message: what the error says.
        outcome: ``"raised"``, ``"skipped"`` or ``"replaced"``.
        traceback: of the exception, as Python prints it; of a function that did not return, its stack at the deadline.
    """

    origin: str | None
    kind: str
    message: str
    outcome: Outcome
    traceback: str

    @classmethod
    def of(cls, error: HeadraceError, outcome: Outcome) -> FailedElement:
        """Returns an error in words."""
        cause = error.__cause__ or error
        return cls(error.origin, type(cause).__name__, error.reason or said(error), outcome, _traceback(cause))


@frozen
class StageFailures:
    """Elements that failed in one operation.

    Attributes:
        stage: the operation, its function and its place.
        raised: of how many the error was given in their place.
        skipped: how many were left out.
        replaced: for how many ``on_error`` gave another one.
        first: the first of them, at most ten.
    """

    stage: str
    raised: int = 0
    skipped: int = 0
    replaced: int = 0
    first: tuple[FailedElement, ...] = ()

    @property
    def count(self) -> int:
        """How many failed."""
        return self.raised + self.skipped + self.replaced

    def __str__(self) -> str:
        named = [("raised", self.raised), ("skipped", self.skipped), ("replaced", self.replaced)]
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in named if count)
        first = self.first[0] if self.first else None
        shown = "" if first is None else f"; the first: {f'{first.origin}: ' if first.origin else ''}{first.message}"
        return f"{self.stage} failed: {counts}{shown}"

    def with_more(self, other: StageFailures) -> StageFailures:
        """Returns these and later ones of the same operation."""
        return StageFailures(
            self.stage,
            self.raised + other.raised,
            self.skipped + other.skipped,
            self.replaced + other.replaced,
            (*self.first, *other.first)[:_MOST_KEPT],
        )


class Failures:
    """Notes what fails in one run; any thread may."""

    def __init__(self) -> None:
        self._stages: dict[str, StageFailures] = {}
        self._lock = threading.Lock()

    def note(self, error: HeadraceError, outcome: Outcome) -> None:
        """Notes the error of an element."""
        let_go_of_frames(error)
        stage = error.stage or "the run"
        known = self._stages.get(stage)
        is_kept = known is None or len(known.first) < _MOST_KEPT
        first = (FailedElement.of(error, outcome),) if is_kept else ()
        self.add([StageFailures(stage, first=first, **{outcome: 1})])

    def add(self, stages: Sequence[StageFailures]) -> None:
        """Adds what was noted elsewhere."""
        with self._lock:
            for one in stages:
                known = self._stages.get(one.stage)
                self._stages[one.stage] = one if known is None else known.with_more(one)

    def taken(self) -> tuple[StageFailures, ...]:
        """Returns what was noted since it was taken last."""
        with self._lock:
            stages, self._stages = self._stages, {}
        return tuple(stages.values())

    def all(self) -> tuple[StageFailures, ...]:
        """Returns what was noted so far, the operation that failed first before the others."""
        return tuple(self._stages.values())


def _traceback(error: BaseException) -> str:
    try:
        import traceback  # what programs without failures do not wait for
    except OSError as refused:  # no file can be opened, which may be what has failed
        return f"no traceback: {refused}"
    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - a class of the user's may raise anything when it is asked what it says
        return "".join(traceback.format_tb(error.__traceback__))
