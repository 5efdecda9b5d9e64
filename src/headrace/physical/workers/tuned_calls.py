"""The calls of one operation in one run, where their number is left to headrace: what its tuner decides is done, and noted."""

from __future__ import annotations

from typing import Final

from headrace.observe.decisions import WORKERS, Decisions
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.gates import Gate

__all__ = ["TunedCalls"]


class TunedCalls:
    """What all stages ask and tell that the operation becomes in the run.

    Args:
        tuner: decides whether it has workers; other runs may ask it as well.
        gate: how many calls run at once.
        name: of the operation.
        decisions: where changes are noted.
    """

    def __init__(self, tuner: ConcurrencyTuner, gate: Gate, name: str, decisions: Decisions) -> None:
        self._tuner: Final = tuner
        self._gate = gate
        self._name = name
        self._decisions = decisions
        self._is_beside = False
        self._note()

    @property
    def now(self) -> int:
        """How many tasks may run at once; with 1 the thread that reads makes the elements."""
        return self._tuner.now

    @property
    def is_trying(self) -> bool:
        """Whether what runs now is an experiment, which should be short."""
        return self._tuner.is_trying

    @property
    def is_heavy(self) -> bool:
        """Whether an element takes so long, by itself, that a task is a few of them."""
        return self._tuner.is_heavy

    @property
    def most_here(self) -> int | None:
        """How many elements to make at once in the thread that reads; None: as many as it asks for."""
        return self._tuner.most_here

    def observe(self, elements: int, start_s: float, end_s: float, beside: int) -> None:
        """Learns from a task, as the tuner does."""
        self._tuner.observe(elements, start_s, end_s, beside)
        self._note()

    def _note(self) -> None:
        """Notes whether it has workers from now on."""
        is_beside = self._tuner.now != 1
        if is_beside != self._is_beside:
            before, after = (0, self._gate.calls) if is_beside else (self._gate.calls, 0)
            self._is_beside = is_beside
            self._decisions.note(self._name, WORKERS, before, after, self._tuner.reason)
