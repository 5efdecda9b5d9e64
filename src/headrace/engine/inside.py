"""Small plans whose functions are called, where a function of an open run reads them whole.

Who watches over functions that hang is what keeps such a plan from being read without a run of its own. Inside a function of another run
that one is watched over: whoever looks sees its operation and its element, and in its stack what the inner plan calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.observe.frames import begins
from headrace.observe.frames_held import let_go_of_frames_of_failed
from headrace.physical.at_once import called
from headrace.physical.run_policy import USUAL

if TYPE_CHECKING:
    from headrace.physical.made import Pieces
    from headrace.plan.node import Node

__all__ = ["InnerPlan"]


class InnerPlan:
    """A plan that a function of a run reads."""

    def __init__(self, plan: Node) -> None:
        self._plan = plan

    @begins
    def elements(self) -> Pieces | Node | None:
        """Returns all elements, or where functions take long a plan that goes on after the first ones; None where only stages can give any."""
        try:
            return called(self._plan, USUAL.loops.patience)
        finally:
            let_go_of_frames_of_failed()
