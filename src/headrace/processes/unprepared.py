"""A process that does not come to call functions."""

from __future__ import annotations

from typing import Final

from headrace.errors import DeadlineExceededError
from headrace.processes.progress import Phase
from headrace.semantics.timed_calls import with_stack

__all__ = ["not_prepared"]

_NOT_DONE: Final = {
    Phase.STARTING: "its process did not start",
    Phase.LEARNING: "its process did not import what it needs",
    Phase.PREPARING: "it did not return in the process that it was to prepare",
}


def not_prepared(phase: Phase, limit_s: float, stage: str, stack: str) -> DeadlineExceededError:
    """Makes the error of a process that took too long before it called any."""
    message = f"{_NOT_DONE[phase]} within {limit_s:g} s; a larger timeout_s gives it longer"
    return with_stack(DeadlineExceededError(message, stage=stage), stack)
