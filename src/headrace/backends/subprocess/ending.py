"""What a process tells of a run that ends: nobody waits for that before somebody asks, as it would be a good part of a short epoch."""

from __future__ import annotations

from typing import Any, Final

from headrace.blocks.cursor import State
from headrace.processes.host import Answer
from headrace.processes.positions import position_told

__all__ = ["Ending"]

# How long it may take; a process that works for another run meanwhile has this to do first.
_PATIENCE_S: Final = 2.0


class Ending:
    """What it tells.

    Args:
        answer: in which it does: figures, positions and what the caches give.
        pid: of the process.

    Every method raises ``Gone`` where the process died before it answered, or does not answer.
    """

    def __init__(self, answer: Answer, pid: int) -> None:
        self._answer = answer
        self._pid = pid

    def figures(self) -> tuple[Any, ...]:
        """Returns what the stages did, and what else is told with that."""
        figures: tuple[Any, ...] = self._answer.wait(_PATIENCE_S)[0]
        return figures

    def position(self, index: int) -> State:
        """Returns one of the positions that were asked for."""
        return position_told(self._answer.wait(_PATIENCE_S)[1][index], self._pid)

    def caches(self) -> State | None:
        """Returns what the caches give."""
        caches: State | None = self._answer.wait(_PATIENCE_S)[2]
        return caches
