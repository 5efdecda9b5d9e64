"""The run of a plan of a few elements, which are made at once where they are first asked for.

It has no stages, no threads, no locks and nothing to give back. What tells of it, as its meters do, is made when somebody asks.
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, Final

from headrace import exiting
from headrace.blocks.block import Block, Failure
from headrace.engine.choosing import budget
from headrace.engine.figures import RunFigures
from headrace.engine.plans import physical_plan
from headrace.observe.failures import Failures
from headrace.observe.onlookers import ONLOOKERS
from headrace.physical.budget import Ahead, Budget
from headrace.physical.run_policy import USUAL
from headrace.plan.node import nodes_of
from headrace.plan.options import Options
from headrace.semantics.meters import Meters
from headrace.semantics.run_context import OwnEnd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.observe.decisions import Decision
    from headrace.observe.failures import StageFailures
    from headrace.observe.meter import Meter
    from headrace.observe.stalls import Stall
    from headrace.observe.stats import StageStats
    from headrace.physical.at_once import Done
    from headrace.physical.made import Pieces
    from headrace.physical.stage import Item
    from headrace.plan.node import Node

__all__ = ["A_BLOCK", "SmallRun", "all_elements"]

# So many elements are taken apart at once: some microseconds of numbers, and a millisecond of rows that are wide.
A_BLOCK: Final = 256


def all_elements(plan: Node, *, counts: bool = True) -> tuple[Pieces, list[Done]] | None:
    """Returns all elements of a quiet plan, and what its operations did, if that counts; None where they are many, or only stages can tell."""
    exiting.hold()
    try:
        return _whole()(plan, counts=counts)  # type: ignore[no-any-return]
    except Exception:  # noqa: BLE001 - an element's own methods may raise anything; its stage says which element it is
        return None


@functools.cache
def _whole() -> Any:
    """Returns what makes elements at once, which larger plans do not need."""
    from headrace.physical.at_once import whole

    return whole


class SmallRun:
    """A run whose elements are there.

    Args:
        plan: what runs.
        pieces: all of its elements.
        done: what its operations did.
        start_s: when that began.
    """

    workers: Final = 0
    restarts: Final = 0
    held_bytes: Final = (0, 0)
    waiting_s: Final = 0.0

    def __init__(self, plan: Node, pieces: Pieces, done: list[Done], start_s: float) -> None:
        self._plan = plan
        self._left = pieces[::-1]  # the next one is last
        self._done = done
        self._start_s = start_s
        self._open = [None]  # taken by the thread that ends it
        self._end_s: float | None = None
        self._failed: Failures | None = None
        self._told: RunFigures | None = None
        ONLOOKERS.begins(self)

    @classmethod
    def of(cls, plan: Node) -> SmallRun | None:
        """Returns the run of a quiet plan, if it is one of few elements."""
        start_s = time.perf_counter()
        made = all_elements(plan)
        return None if made is None else cls(plan, *made, start_s)

    def open(self, state: object) -> None:
        """Does nothing: its elements are there."""

    made_elements: Final = 0  # all come at once

    @property
    def first_elements(self) -> int:
        """How many elements to ask for first."""
        head = self._left[-1] if self._left else None
        return len(head) if isinstance(head, Block) else 1

    @property
    def own_end(self) -> OwnEnd:
        """After how many steps a rank has nothing real any more: no rank deals such a plan."""
        return OwnEnd()

    @property
    def is_spent(self) -> bool:
        """Whether nothing comes any more but the end."""
        return not self._left

    def refuse_own_functions(self) -> None:
        """Does nothing: there are no functions."""

    def pull(self, limit: int) -> Item:
        """Returns the next elements, or a failure; None at the end."""
        if not self._left or not self._open:
            return None
        item = self._left.pop()
        if isinstance(item, Failure):
            self._failed = self._failed or Failures()
            self._failed.note(item.error, "raised")
            return item
        count = len(item.payload)
        if count <= limit:
            return item
        self._left.append(item.slice(limit, count))
        return item.slice(0, limit)

    def ends(self) -> bool:
        """Ends it, and returns whether it was open until now."""
        try:
            self._open.pop()
        except IndexError:
            return False
        self._end_s = time.perf_counter()
        ONLOOKERS.ends(self)
        return True

    def close(self) -> None:
        """Ends it; may be called again, from any thread."""
        self.ends()

    drop = __del__ = close

    # ----------------------------------------------------------- what tells of it

    def stages(self) -> tuple[StageStats, ...]:
        """Returns what each operation did, sources first."""
        if self._told is None:
            meters = Meters(nodes_of(physical_plan(self._plan, Options())))
            for node, elements, span_s, inside_s in self._done:
                own_s = max(0.0, span_s - inside_s)
                meters.of(node, ()).add((elements, elements, own_s, 0.0, inside_s, 0.0))
            for node, meter in self._meters():
                meters.take(node, meter)
            self._told = RunFigures(meters, self._budget(), None)
            self._told.begin(self._start_s)
        if self._end_s is not None:
            self._told.end(self._end_s)
        return self._told.stages()

    def _meters(self) -> Sequence[tuple[Node, Meter]]:
        """Returns what counts for operations that go on."""
        return ()

    def begin_window(self) -> None:
        """Lets the figures of ``stages`` begin now."""
        self.stages()
        assert self._told is not None  # just made
        self._told.begin_window()

    def failures(self) -> tuple[StageFailures, ...]:
        """Returns which elements failed so far."""
        return () if self._failed is None else self._failed.all()

    def decisions(self) -> tuple[Decision, ...]:
        """Returns nothing: it decides nothing."""
        return ()

    def stalls(self) -> tuple[Stall, ...]:
        """Returns nothing: what it does takes microseconds."""
        return ()

    @property
    def ram_budget_bytes(self) -> int:
        """How much it might hold."""
        return self._budget().total_bytes

    def _budget(self) -> Budget:
        return budget(self._plan, Options(), feeds=0, policy=USUAL)

    def ahead(self) -> Ahead:
        """Returns where a reader says what it has ready; such a run has none that reads ahead."""
        return self._budget().ahead()
