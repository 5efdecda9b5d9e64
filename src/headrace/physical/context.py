"""What only the running of stages needs to know of a run: its workers, and whether order matters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.cursor import State
from headrace.caching.store import Filled
from headrace.elements.structure import Element
from headrace.frozen import frozen, replaced
from headrace.observe.decisions import Decisions
from headrace.observe.meter import Meter
from headrace.physical.budget import Ahead, Budget
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.made import ReadThere
from headrace.physical.pace import Pace
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.plan.buffering import Cache
from headrace.plan.elementwise import Map
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, parallel_calls_of
from headrace.plan.sequencing import Repeat
from headrace.semantics.run_context import RunContext

if TYPE_CHECKING:
    from headrace.physical.workers.gates import Gate, Gates

__all__ = ["Elsewhere", "OpenThere", "OpenedThere", "StageContext"]


# A dataset, or why it was not to be opened; None where it has to be read in this process, which has its cache.
OpenedThere = ReadThere | Exception | None
# Has a process open the dataset that a function makes of an element: the element, its index, its origin in words, the position in the
# dataset, and how many elements are wanted.
OpenThere = Callable[[Element, int, str, State | None, int], OpenedThere]


class Elsewhere(Protocol):
    """Processes that call functions."""

    def wanted_for(self, node: Node) -> bool:
        """Returns whether an operation's functions are to be called there."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether nobody would wait for a process to start."""
        ...

    def calling(
        self, maps: Sequence[Map], meter: Meter, loops: LoopPolicy, *, stacked: bool = False
    ) -> Callable[[Block], list[BlockOrFailure]]:
        """Returns what has them call maps in a row on a block, and waits for that; ``stacked`` where a batch follows."""
        ...

    def reading(self, node: FlatMap, context: StageContext) -> OpenThere:
        """Returns what has a process open a dataset that a function makes of an element, and read it."""
        ...


@frozen(kw_only=True)
class StageContext(RunContext):
    """Where a stage stands in a run.

    Attributes:
        budget: the bytes that the run may hold, who holds them, and how much is left to what reads ahead.
        gates: the way to the run's workers, one for each parallel operation; None inside a task, where nothing may wait for another task.
        policy: how the run does what it may do in any way.
        deterministic: what stages that were not told do about the order of parallel work.
        replayed: True upstream of an operation that reads its input again when it is restored, so that the input must
            come in the same order again; and in a plan that is dealt to ranks.
        turns: the repeat whose turns a source gives, as only what makes one of each element lies between.
        streams: how many streams of a dealt plan run together, each with stages of its own.
        elsewhere: calls functions in processes; None where none are wanted.
        learned: what stages that are made of the same operations have learned together, by who they are.
        decisions: where it is noted what is decided while the run goes on.
    """

    budget: Budget
    gates: Gates | None
    policy: RunPolicy = USUAL
    deterministic: bool = True
    replayed: bool = False
    turns: Repeat | None = None
    streams: int = 1
    elsewhere: Elsewhere | None = None
    learned: dict[object, Any] = dataclasses.field(default_factory=dict)
    decisions: Decisions = dataclasses.field(default_factory=Decisions)

    def for_cache(self, node: Cache, filled: Filled) -> Self:
        """Returns the context of what a cache is filled with."""
        return RunContext.for_cache(self, node, filled).replaying()

    def replaying(self) -> Self:
        """Returns the context upstream of an operation that reads its input again when it is restored."""
        return self if self.replayed else replaced(self, replayed=True)

    def without_workers(self) -> Self:
        """Returns the context of stages that run within one thread: inside a task, or only to look something up."""
        return self if self.gates is None else replaced(self, gates=None)

    def for_subplan(self, plan: Node, *, opener: Node, index: int) -> Self:
        """Returns the context of the plan that ``opener`` made of its element with that index, which is read inside a task."""
        inside = RunContext.for_subplan(self, plan, opener=opener, index=index).without_workers()
        # Its functions are new with each element: to send them would take longer than to call them.
        return inside if self.elsewhere is None else replaced(inside, elsewhere=None)

    def pace(self, meter: Meter, **bounds: Any) -> Pace:
        """Returns how much is asked for at once by the operation that has that meter; in the streams of a plan, which read alike, its stages learn together."""
        pace = self.policy.pace(**({"bytes_limit": self.budget.block_bytes} | bounds))
        return pace if self.stream is None else self.learned.setdefault((id(meter), Pace), pace)

    def ahead(self, node: Node) -> Ahead:
        """Returns where an operation says what it has read ahead, and learns how much that may be."""
        return self.budget.ahead(self.meter(node))

    def looks_elsewhere(self, node: Node) -> bool:
        """Returns whether processes call an operation's functions where it has no worker that would wait for them: to look something up."""
        return self.gates is None and self.elsewhere is not None and self.elsewhere.wanted_for(node)

    def gate(self, node: Node) -> Gate | None:
        """Returns the way to the workers for an operation that asked for some; None where it has none."""
        return None if self.gates is None or parallel_calls_of(node) is None else self.gates.of(node)
