"""Stages that read one plan after the other: repeat, concatenate.

As in tf.data a failure passes through, and does not count as an element.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from headrace.blocks.block import Block, Failure, joined_block
from headrace.blocks.cursor import State
from headrace.clock import Clock
from headrace.coordination.closing import close_all
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.sequencing import TurnCursor, nothing_of
from headrace.physical.stages.sequencing_sources import repeated_source
from headrace.plan.node import Node
from headrace.plan.sequencing import Concatenate, Repeat

if TYPE_CHECKING:
    from headrace.physical.at_once import SmallPlans

__all__ = ["ConcatenateStage", "RepeatStage", "Turns"]

# Turns that are shorter are read together, as far as elements are asked for: a hand-off costs tens of microseconds.
_SHORT_S: Final = 1e-3


@frozen
class Turns:
    """What comes one after the other.

    Attributes:
        count: how many turns there are; None leaves that to the stage.
        build: makes the stage of a turn, where the state says.
        current: that of the first turn, or of the one that the state says.
    """

    count: int | None
    build: Callable[[int, State | None], Stage]
    current: Stage


class _TurnsStage(Stage):
    """One input after the other, each built when its turn comes."""

    key: str

    def __init__(self, turns: Turns, meter: Meter, state: State | None, clock: Clock) -> None:
        current = turns.current
        self._count = turns.count
        self._turn: int = state[self.key] if state else 0
        self._empty: bool = state["empty"] if state else True
        super().__init__(meter, (current,), TurnCursor(self.key, self._turn, self._empty, current.cursor))
        self._build = turns.build
        self._now_s = clock.now_s
        self._held: Failure | None = None  # comes after what was read before it
        self._turn_s = 0.0  # how long reading this turn took
        self._is_short = False  # whether the last one took next to no time, so that this one will, too
        self._stopped = False
        self.by_index = current.by_index

    def _has_next_turn(self) -> bool:
        raise NotImplementedError

    def _pull(self, limit: int) -> Item:
        held, self._held = self._held, None
        if held is not None:
            return held
        blocks: list[Block] = []
        left = limit
        while left:
            item = self._read_turn(left)
            if isinstance(item, Block):
                blocks.append(item)
                left -= len(item)
                if not self._is_short or self._turn_s >= _SHORT_S:
                    break
            elif item is not None:
                self._held = item
                break
            elif not self._has_next_turn():
                break
            else:
                self._next_turn(left)
                if blocks and self._turn_s >= _SHORT_S:  # to begin it: what is there waits for no more
                    break
        if blocks:
            return joined_block(blocks)
        failure, self._held = self._held, None
        return failure

    def _begin(self, _room: int) -> Stage:
        return self._build(self._turn, None)

    def _read_turn(self, limit: int) -> Item:
        """Returns the next item of this turn; None at its end."""
        start_s = self._now_s()
        item = self._read(self.inputs[0], limit)
        self._turn_s += self._now_s() - start_s
        return None if item is None else self._placed(item)

    def _next_turn(self, room: int) -> None:
        """Begins the next turn, of which at most ``room`` elements are read now."""
        self.inputs[0].close()
        self._turn += 1
        self._empty = True
        self._turn_s = 0.0
        current = self._begin(room)
        self.inputs = (current,)
        if self._stopped:  # stop() came while there was nothing of this turn to be stopped
            current.stop()

    def _placed(self, item: Block | Failure) -> Item:
        cursor = TurnCursor(self.key, self._turn, self._empty, item.cursor)
        if isinstance(item, Failure):
            return Failure(item.error, cursor, TurnCursor(self.key, self._turn, self._empty, item.after))
        self._empty = False
        return Block(item.payload, cursor, item.origin)

    @property
    def reads_no_more(self) -> bool:
        """Whether the last turn does not."""
        return not self._has_next_turn() and super().reads_no_more

    def stop(self) -> None:
        self._stopped = True
        super().stop()


class RepeatStage(_TurnsStage):
    """The same plan, several times over; a turn that gave no element ends it.

    Where there are workers, they begin with the next turn as soon as they have nothing left to do for this one: while a shuffle
    gives what is in its buffer, and what lies ready is taken. The thread that reads gives it to them, between two reads of this turn.

    Args:
        plan: what is repeated.
        context: where that stands.
    """

    key = "turn"

    def __init__(
        self,
        turns: Turns,
        meter: Meter,
        state: State | None,
        plan: Node,
        context: StageContext,
    ) -> None:
        super().__init__(turns, meter, state, context.policy.clock)
        self._plan = plan
        self._context = context
        self._small: SmallPlans | None = None  # made for the first short turn
        # Streams are so many that what each reads early would be too much.
        self._begins_early = context.gates is not None and context.stream is None and context.rank is None
        self._following: Stage | None = None  # the next turn, once it was begun

    def _has_next_turn(self) -> bool:
        if self._count is None:
            return not self._empty
        return self._turn + 1 < self._count

    def _read_turn(self, limit: int) -> Item:
        item = super()._read_turn(limit)
        if self._begins_early and item is not None and self.inputs[0].reads_no_more:
            start = time.perf_counter()
            self._read_following()
            self._inside_s += time.perf_counter() - start
        return item

    def _read_following(self) -> None:
        """Has workers begin with the next turn, or go on with it."""
        if self._following is None:
            if self._turn_s < _SHORT_S or not self._has_next_turn():
                return
            try:
                self._following = self._build(self._turn + 1, None)
            except HeadraceError:
                self._begins_early = False  # it is told in its own place
                return
            if self._stopped:  # stop() came while there was nothing of this turn to be stopped
                self._following.stop()
        if not self._following.read_ahead():
            self._begins_early = False

    def _next_turn(self, room: int) -> None:
        self._is_short = self._turn_s < _SHORT_S
        super()._next_turn(room)

    def _begin(self, room: int) -> Stage:
        following, self._following = self._following, None
        if following is not None:
            return following
        small = self._small_plans() if self._is_short else None
        start, start_s = time.perf_counter(), self._now_s()
        stage = None if small is None else small.stage(self._plan, room)
        if stage is None:
            return super()._begin(room)
        self._turn_s = self._now_s() - start_s
        self._inside_s += time.perf_counter() - start
        return stage

    def _small_plans(self) -> SmallPlans:
        if self._small is None:
            from headrace.physical.at_once import SmallPlans  # what long turns do not need

            self._small = SmallPlans(self._context)
        return self._small

    def threads(self) -> list[threading.Thread]:
        following = self._following
        return [*super().threads(), *([] if following is None else following.threads())]

    def stop(self) -> None:
        super().stop()
        if (following := self._following) is not None:
            following.stop()

    def close(self) -> None:
        following = self._following
        close_all([*([] if following is None else [following.close]), super().close])


class ConcatenateStage(_TurnsStage):
    """One plan after the other."""

    key = "part"

    def _has_next_turn(self) -> bool:
        return self._turn + 1 < (self._count or 0)


@lower.register
def _concatenate(node: Concatenate, state: State | None, context: StageContext) -> Stage:
    def build(part: int, saved: State | None) -> Stage:
        return lower(node.inputs[part], saved, context.for_input(node.inputs, part))

    current = build(state["part"], state["input"]) if state else build(0, None)
    turns = Turns(len(node.inputs), build, current)
    return ConcatenateStage(turns, context.meter(node), state, context.policy.clock)


@lower.register
def _repeat(node: Repeat, state: State | None, context: StageContext) -> Stage:
    if node.count == 0:
        return nothing_of(node, context)
    repeated = repeated_source(node, state, context)
    if repeated is not None:
        return repeated

    def build(turn: int, saved: State | None) -> Stage:
        return lower(node.input, saved, context.for_repeat(turn))

    current = build(state["turn"], state["input"]) if state else build(0, None)
    return RepeatStage(Turns(node.count, build, current), context.meter(node), state, node.input, context)
