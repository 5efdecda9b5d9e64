"""The stage of zip: one element of each input, together."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.origin import Indices, Origin
from headrace.blocks.payload import Payload, Zipped
from headrace.elements.structure import TreeDef
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lookahead import StageLookahead
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.buffering import reads_cache
from headrace.plan.combining import Zip
from headrace.semantics.held_bytes import Holding

__all__ = ["ZipCursor", "ZipStage"]


class ZipStage(Stage):
    """One element of each input; the shortest ends it.

    A failure of one input takes the others' elements with it, so that what comes after it stays aligned. In a row with a
    failure and an end, the first of the two decides: the end ends it, the failure is given before the end after it does.

    Args:
        keeping: those of the inputs, by their number, that read a cache. At the end they are asked for one element more, as in
            tf.data, for a cache is whole when its end was seen, and inputs of one length would end with the first of them.
    """

    def __init__(
        self,
        treedef: TreeDef,
        inputs: Sequence[Stage],
        meter: Meter,
        *,
        ended: bool = False,
        holding: Holding | None = None,
        keeping: Sequence[int] = (),
    ) -> None:
        super().__init__(meter, inputs, ZipCursor(tuple(stage.cursor for stage in inputs), ended=ended))
        self._treedef = treedef
        self._holding = holding
        self._ahead = [StageLookahead(stage, self._weak_read(), holding) for stage in inputs]
        self._keeping = [self._ahead[part] for part in keeping]
        self._ended = ended
        self.by_index = all(stage.by_index for stage in inputs)
        lengths = [stage.numbered for stage in inputs if stage.numbered is not None]
        if inputs and len(lengths) == len(inputs):
            self.numbered = min(lengths)

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        parts = [stage.at(numbers) for stage in self.inputs]
        return Zipped(self._treedef, [payload for payload, _ in parts]), parts[0][1]

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number."""
        return ZipCursor(tuple([stage.cursor_at(number) for stage in self.inputs]))

    def _pull(self, limit: int) -> Item:
        if self._ended:
            self._end()
            return None
        heads: list[Block | Failure] = []
        for ahead in self._ahead:
            head = ahead.peek(limit)
            if head is None:
                self._ended = True
                break
            heads.append(head)
        failure = next((head for head in heads if isinstance(head, Failure)), None)
        if failure is not None:
            return self._failed(failure)
        if self._ended:
            self._end()
            return None
        return self._zipped(min(limit, *(len(head) for head in heads if isinstance(head, Block))))

    def _end(self) -> None:
        for ahead in self._keeping:
            ahead.peek(1)

    def _zipped(self, count: int) -> Block:
        blocks = [ahead.take(count) for ahead in self._ahead]
        payload = Zipped(self._treedef, [block.payload for block in blocks])
        return Block(payload, ZipCursor(tuple(block.cursor for block in blocks)), blocks[0].origin)

    def _failed(self, failure: Failure) -> Failure:
        # What was not read, because the row had ended, stands where it stood.
        before = tuple(ahead.cursor for ahead in self._ahead)
        for ahead in self._ahead:
            if isinstance(ahead.head, Block):
                ahead.take(1)
            elif isinstance(ahead.head, Failure):
                ahead.drop_failure()
        after = tuple(ahead.cursor for ahead in self._ahead)
        return Failure(failure.error, ZipCursor(before), ZipCursor(after, ended=self._ended))

    def close(self) -> None:
        if self._holding is not None:
            self._holding.release()
        super().close()


@frozen
class ZipCursor:
    """In several inputs at once; ``ended`` after a failure in whose row an input ended."""

    inputs: tuple[Cursor, ...]
    ended: bool = False

    def advance(self, count: int) -> ZipCursor:
        return ZipCursor(tuple([cursor.advance(count) for cursor in self.inputs])) if count else self

    def state(self) -> State:
        state: State = {"inputs": [cursor.state() for cursor in self.inputs]}
        return state | {"ended": True} if self.ended else state


@lower.register
def _zip(node: Zip, state: State | None, context: StageContext) -> Stage:
    # A turn for each, as in tf.data: the same shuffle twice in a plan gives two orders.
    parts = zip(node.inputs, state["inputs"] if state else [None] * len(node.inputs), strict=True)
    inputs = [
        lower(child, saved, context if node.draws_alike else context.for_input(node.inputs, part))
        for part, (child, saved) in enumerate(parts)
    ]
    ended, holding = bool(state and state.get("ended")), context.gathering(node, "")
    keeping = [part for part, child in enumerate(node.inputs) if reads_cache(child)]
    return ZipStage(node.treedef, inputs, context.meter(node), ended=ended, holding=holding, keeping=keeping)
