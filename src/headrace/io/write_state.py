"""The life of what is written whole or not at all, such as a file, a folder of shards, or a cache.

    WRITING ---complete---> COMPLETE      it has its name, and others find it
       |
       +------abandon-----> ABANDONED     nothing of it is left

Both ends are final: a writer that is asked for another one does nothing. A writer notes an end when all of it is done: what
is interrupted within ``complete`` is still to be abandoned, and what is interrupted within ``abandon`` may be abandoned again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Final, Self

__all__ = ["NEXT", "WholeOrNothing", "WritePhase", "WriteState"]


class WritePhase(Enum):
    """Where a writing stands."""

    WRITING = "writing"
    COMPLETE = "complete"
    ABANDONED = "abandoned"


# What may follow each phase.
NEXT: Final = {
    WritePhase.WRITING: frozenset({WritePhase.COMPLETE, WritePhase.ABANDONED}),
    WritePhase.COMPLETE: frozenset[WritePhase](),
    WritePhase.ABANDONED: frozenset[WritePhase](),
}


class WriteState:
    """The phase of one writing, which belongs to one thread at a time.

    Example:
        >>> from headrace.io.write_state import WritePhase, WriteState
        >>> state = WriteState()
        >>> state.end(WritePhase.COMPLETE)
        >>> state.is_open, state.phase
        (False, <WritePhase.COMPLETE: 'complete'>)
    """

    __slots__ = ("phase",)

    def __init__(self) -> None:
        self.phase = WritePhase.WRITING

    @property
    def is_open(self) -> bool:
        """Whether it is neither complete nor abandoned."""
        return self.phase is WritePhase.WRITING

    def end(self, phase: WritePhase) -> None:
        """Notes that the writing has come to that end."""
        assert phase in NEXT[self.phase], f"{self.phase} is not followed by {phase}"
        self.phase = phase


class WholeOrNothing(ABC):
    """A writer whose ``with`` block leaves all of what was written, or nothing where an exception left it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abandon()
            return
        try:
            self.complete()
        except BaseException:
            self.abandon()
            raise

    @abstractmethod
    def complete(self) -> None:
        """Gives what was written its name."""

    @abstractmethod
    def abandon(self) -> None:
        """Leaves nothing behind, unless it is complete."""
