"""The stages of operations whose function makes a dataset of each element."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State, input_state
from headrace.physical.context import StageContext
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Pace, Stage
from headrace.physical.stages.nesting import InterleaveStage, open_failure
from headrace.physical.workers.subplan_reader import AheadReader, InnerReader
from headrace.plan.combining import FlatMap, Interleave
from headrace.semantics.nesting import changed_since, inner_plan

__all__: list[str] = []


# What is read ahead may take longer than a block that somebody waits for: files are parsed by the megabyte, which is
# some milliseconds of work, and cutting it small would only hand over more often.
_READ_AHEAD_S: Final = 1e-2


@dataclasses.dataclass(frozen=True, slots=True)
class _SavedPlace:
    """The place of an inner plan that was loaded and not read from yet."""

    saved: State

    def advance(self, count: int) -> Cursor:
        assert count == 0  # once it is read, its blocks say where they stand
        return self

    def state(self) -> State:
        return self.saved


@lower.register
def _interleave(node: FlatMap, state: State | None, context: StageContext) -> Stage:
    cycle, block = 1, 1 << 62
    deterministic = None
    if isinstance(node, Interleave):
        cycle, block = node.cycle_length or 1, node.block_length
        deterministic = node.deterministic
    meter = context.meter(node)
    gate = context.gate(node)
    # Two a call: while one is read, the next already lies ready, and the driver comes to look only when it has a core.
    ahead = 2 * gate.calls if gate is not None else 0
    blocks = AheadReader.BLOCKS_AHEAD * (2 * cycle + ahead)

    def block_bytes() -> int:
        return max(1, context.budget.share_bytes // blocks)

    pace = Pace(bytes_limit=block_bytes(), target_s=_READ_AHEAD_S)
    reader = (
        InnerReader
        if gate is None
        else functools.partial(AheadReader, gate=gate, pace=pace, meter=meter, block_bytes=block_bytes)
    )
    return InterleaveStage(
        node.label,
        lower(node.input, input_state(state), context.replaying()),  # elements that opened datasets are read again
        meter,
        state,
        cycle_length=cycle,
        block_length=block,
        open_plan=_opener(node, context, reader),
        reopen=functools.partial(_reopened, node, context),
        ahead=ahead,
        ordered=gate is None or is_ordered(deterministic, context),
    )


def _opener(
    node: FlatMap,
    context: StageContext,
    make_reader: Callable[[Callable[[], Stage | Failure], Cursor | None, Callable[[], str]], InnerReader],
) -> Callable[[Block, int, State | None], InnerReader]:
    """What makes a reader of the dataset that an element opens, from its start or from a state."""

    def open_plan(opener: Block, number: int, saved: State | None) -> InnerReader:
        def open_stage() -> Stage | Failure:
            try:
                plan, inside = inner_plan(node, opener.payload.rows()[0], number, context)
                return lower(plan, saved, inside)
            except Exception as error:  # noqa: BLE001 - a user's function may raise anything
                return open_failure(error, node.label, opener)

        origin = functools.partial(opener.origin.describe, 0)
        return make_reader(open_stage, None if saved is None else _SavedPlace(saved), origin)

    return open_plan


def _reopened(node: FlatMap, context: StageContext, opener: State) -> Block:
    """The element that opened a slot, read again from the place before it."""
    with contextlib.closing(lower(node.input, opener, context.alone())) as above:
        item = above.pull(1)
    if not isinstance(item, Block):
        raise changed_since(node)
    return item
