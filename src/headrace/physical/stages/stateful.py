"""The stage of operations that go through elements one after the other, with a state of their own (``physical.stages.stateful_ops``).

An operation goes through a block at a time, up to an element that fails or is the last; what is left where elements suddenly take long
is gone through when more is asked for. What it remembers before each of the elements is written down only where somebody asks for it.
"""

from __future__ import annotations

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State, input_state
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.frames import holds
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.loop_policy import Loops
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.stateful_ops import AssertCardinalityOp, Memory, ScanOp, StatefulOp, TakeWhileOp
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile
from headrace.semantics.failures import as_element_error

__all__ = ["StatefulStage"]


@frozen
class _RunCursor:
    """In a run of elements that an operation took one after the other, each made of one of the input.

    Attributes:
        memory: what was remembered before the first.
        input: the position of the first.
        length: how many there are.
        index: before which of them this is.
        end: the position after the last one, where another element was read on the way to it.
    """

    memory: Memory
    input: Cursor
    length: int = 0
    index: int = 0
    end: Cursor | None = None

    def advance(self, count: int) -> _RunCursor:
        return _RunCursor(self.memory, self.input, self.length, self.index + count, self.end)

    def state(self) -> State:
        # A batch of fewer elements than its size counts as a whole one, so the end is clamped, not passed.
        index = min(self.index, self.length)
        if index == self.length and self.end is not None:
            return self.end.state()
        return {**self.memory.state(index), "input": self.input.advance(index).state()}


class StatefulStage(Stage):
    """Elements one after the other."""

    def __init__(
        self,
        op: StatefulOp,
        label: str,
        input_stage: Stage,
        meter: Meter,
        policy: Loops,
        *,
        ended: bool = False,
    ) -> None:
        super().__init__(meter, (input_stage,), _RunCursor(op.memory, input_stage.cursor))
        self._op = op
        self._policy = policy
        self._label = label
        self._block: Block | None = None  # the one that was read
        self._start = 0  # how many of its elements are done
        self._failure: Failure | None = None  # comes before the others
        self._ended = ended

    def _is_spent(self) -> bool:
        if self._ended:
            return True
        return self._block is None and self._failure is None and self._op.ends_well and self._has_spent_source

    def _pull(self, limit: int) -> Item:
        while not self._ended:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                return failure
            if self._block is None:
                item = self._read(self.inputs[0], min(limit, self._op.most_at_once()))
                if item is None:
                    return self._end()
                if isinstance(item, Failure):
                    return Failure(item.error, self._here(item.cursor), self._here(item.after))
                self._block, self._start = item, 0
            # What is left of a block may be more than is asked for now.
            made = self._through(self._block.slice(self._start, self._start + limit))
            if made is not None:
                return made
        return None

    def _here(self, position: Cursor) -> _RunCursor:
        """Returns the position between two runs."""
        return _RunCursor(self._op.memory, position)

    def _end(self) -> Failure | None:
        self._ended = True
        before = self.cursor
        try:
            self._op.end()
        except HeadraceError as error:
            after = self._here(self.inputs[0].cursor)
            return Failure(as_element_error(error, stage=self._label, origin=None), before, after)
        return None

    @holds(lambda at, done: (at["self"].meter.name, at["part"].origin.describe(done)))
    def _through(self, part: Block) -> Block | None:
        """Makes the outputs of a part of the block, up to an element that fails or is the last."""
        before = self._op.memory
        outputs, error, has_ended = self._op.run(part.payload, self._policy.patience())
        count = len(outputs)
        end = None
        if error is not None:
            self._failure = self._failed(error, before, part, count)
        elif has_ended:
            self._ended, end = True, self._here(part.cursor.advance(count + 1))
        self._start += count + (error is not None)
        if self._block is not None and self._start >= len(self._block):
            self._block = None
        cursor = _RunCursor(before, part.cursor, count, 0, end)
        if not count:
            self.cursor = cursor  # nothing goes out, but the position is after what was dropped
            return None
        return Block(outputs, cursor, part.origin if count == len(part) else part.origin.subset(range(count)))

    def _failed(self, error: Exception, memory: Memory, part: Block, index: int) -> Failure:
        placed = as_element_error(error, stage=self._label, origin=part.origin.describe(index))
        return Failure(
            placed, _RunCursor(memory, part.cursor, index, index), self._here(part.cursor.advance(index + 1))
        )


@lower.register
def _take_while(node: TakeWhile, state: State | None, context: StageContext) -> Stage:
    op = TakeWhileOp(node, state)
    upstream = lower(node.input, input_state(state), context)
    return StatefulStage(op, node.label, upstream, context.meter(node), context.policy.loops, ended=op.ended)


@lower.register
def _scan(node: Scan, state: State | None, context: StageContext) -> Stage:
    upstream = lower(node.input, input_state(state), context)
    op = ScanOp(node, state, probed=context.policy.loops.probed)
    return StatefulStage(op, node.label, upstream, context.meter(node), context.policy.loops)


@lower.register
def _assert_cardinality(node: AssertCardinality, state: State | None, context: StageContext) -> Stage:
    upstream = lower(node.input, input_state(state), context)
    op = AssertCardinalityOp(node, state)
    return StatefulStage(op, node.label, upstream, context.meter(node), context.policy.loops)
