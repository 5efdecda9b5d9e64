"""A process that does not come to call functions."""

from __future__ import annotations

from typing import Final

from headrace.errors import DeadlineExceededError
from headrace.processes.progress import Phase
from headrace.semantics.timed_calls import with_stack

__all__ = ["died_at", "not_prepared"]

_NOT_DONE: Final = {
    Phase.STARTING: "its process did not start",
    Phase.LEARNING: "its process did not import what it needs",
    Phase.PREPARING: "it did not return in the process that it was to prepare",
}
_DIED: Final = {
    Phase.STARTING: ", before it had started",
    Phase.LEARNING: ", while it imported what the functions need",
    Phase.PREPARING: ", in {init}",
}


def died_at(phase: Phase, init: str) -> str:
    """Says where a process was that died before it called any, to be put behind how it ended; of one that calls them it is nothing."""
    return _DIED.get(phase, "").format(init=init)


def not_prepared(phase: Phase, limit_s: float, stage: str, stack: str) -> DeadlineExceededError:
    """Makes the error of a process that took too long before it called any."""
    message = f"{_NOT_DONE[phase]} within {limit_s:g} s; a larger timeout_s gives it longer"
    return with_stack(DeadlineExceededError(message, stage=stage), stack)
