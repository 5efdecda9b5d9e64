"""The stage of a rank's streams."""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, SavedCursor, State
from headrace.blocks.joining import woven
from headrace.blocks.origin import JoinedOrigin
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lookahead import StageLookahead
from headrace.physical.lower import lower
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.dealing_filling import FillingStage
from headrace.plan.dealing import DealtStreams
from headrace.semantics.dealing import missing, replayed_from, saved_streams, woven_order
from headrace.semantics.held_bytes import Holding
from headrace.semantics.run_context import OwnEnd

__all__ = ["DealtStreamsStage"]

# How much of a stream is read at once, so that to ask it costs little beside; and how much of all of them together, of what
# the run may hold: rows of packed tokens have tens of kilobytes, and of each stream some are to come at once.
_WORK_OF_A_STREAM_S: Final = 2e-3
_BYTES_OF_ALL: Final = 32 << 20
# What is left of a block when a part is taken is copied, so that neither what is read at once of a stream nor what is woven of all
# may be many times what is asked for.
_MOST_OF_A_STREAM: Final = 2048
_WOVEN_AT_ONCE: Final = 16384


class DealtStreamsStage(Stage):
    """One element of each of a rank's streams in turn; it ends where a stream does."""

    def __init__(
        self,
        node: DealtStreams,
        inputs: list[Stage],
        meter: Meter,
        state: State | None,
        *,
        replays: list[int],
        pace: Pace,
        own_end: OwnEnd,
        holding: Holding,
    ) -> None:
        self._node = node
        self._holding = holding
        self._own_end = own_end
        self._replayed = replays or [0] * len(inputs)
        self._replays = replays  # how many elements of each stream were delivered since the position that it begins at
        self._begun = self._rounds = state["rounds"] if state else 0
        self._turn: int = state.get("turn", 0) if state else 0
        self._ahead = [StageLookahead(stage, self._weak_read(), holding) for stage in inputs]
        self._ended = False
        self._pace = pace
        for stage in inputs:
            stage.may_wait = True  # what is made of all streams at once is not woven
        super().__init__(meter, inputs, self._here() if state is None else SavedCursor(state))

    def _here(self) -> _StreamsCursor:
        cursors = tuple([ahead.cursor for ahead in self._ahead])
        return _StreamsCursor(self._node.owned, self._rounds, self._turn, cursors)

    def _pull(self, limit: int) -> Item:
        if self._ended:
            return None
        if self._replays:
            self._replay()
        if self._turn == 0:
            wanted = max(1, limit // len(self._ahead))
            left = self._left()
            wanted = min(wanted, left)
            if not left:
                self._ended = True
                return None
            at_once = max(wanted, _WOVEN_AT_ONCE // len(self._ahead))
            rounds = min(self._filled(wanted), self._left(), at_once)
            if rounds:
                return self._woven(rounds)
            if not self._left():
                self._ended = True
                return None
        return self._next()

    def _left(self) -> int:
        """Returns how many rounds there may be."""
        node = self._node
        most = sys.maxsize if node.steps is None else max(0, node.steps * node.each - self._rounds)
        if not node.fills or (node.steps is not None and not node.lends):
            return most
        own_end = self._own_rounds()
        if own_end is None:
            return most
        if not node.endless:
            return min(most, own_end - self._rounds)
        self._own_end.steps = (own_end - self._begun) // node.each
        return most

    def _own_rounds(self) -> int | None:
        """Returns after how many rounds the last global batch ends that has a real element; None as long as a stream has some."""
        streams = [stage for stage in self.inputs if isinstance(stage, FillingStage)]
        ends = [stage.ended_after for stage in streams]
        if None in ends:
            return None
        last = max(0, *(end - seen for end, seen in zip(ends, self._replayed, strict=True) if end is not None))
        return self._begun + last + -last % self._node.each

    def _filled(self, wanted: int) -> int:
        """Reads until so many rounds are ready, and a little work ahead of each stream; returns how many are."""
        ready = min(len(ahead.head) if isinstance(ahead.head, Block) else 0 for ahead in self._ahead)
        if ready >= wanted:
            return ready
        # All at once: where each was filled when it was empty, there would always be one that has few.
        at_once = max(wanted, self._pace.size)
        filled: list[int] = []
        for ahead in self._ahead:
            filled.append(self._read_ahead(ahead, at_once))
            # So little work was it: the others need not be asked again soon.
            if self._pace.size > Pace.GROWTH // 2 * at_once:
                at_once = self._pace.size
        return min(
            count if 2 * count > at_once else self._read_ahead(ahead, at_once)
            for ahead, count in zip(self._ahead, filled, strict=True)
        )

    def _read_ahead(self, ahead: StageLookahead, wanted: int) -> int:
        ready = len(ahead.head) if isinstance(ahead.head, Block) else 0
        start = time.perf_counter()
        filled = ahead.fill(wanted)
        head = ahead.head
        if isinstance(head, Block) and filled > ready and self._rounds > self._begun:  # before that buffers are filled
            nbytes = head.payload.nbytes * (filled - ready) // filled
            self._pace.observe(filled - ready, time.perf_counter() - start, nbytes)
        return filled

    def _replay(self) -> None:
        """Reads once more what was delivered, and drops it."""
        for ahead, count in zip(self._ahead, self._replays, strict=True):
            for _ in range(count):
                head = ahead.peek(count)
                if isinstance(head, Failure):
                    ahead.drop_failure()
                elif head is not None:
                    ahead.take(1)
        self._replays = []

    def _woven(self, rounds: int) -> Block:
        """Returns whole rounds."""
        cursor = self._here()
        blocks = [ahead.take(rounds) for ahead in self._ahead]
        self._rounds += rounds
        if len(blocks) == 1:
            return Block(blocks[0].payload, cursor, blocks[0].origin)
        origin = JoinedOrigin.of([rounds] * len(blocks), [block.origin for block in blocks])
        order = woven_order(len(blocks), rounds)
        return Block(woven([block.payload for block in blocks], 1), cursor, origin.subset(order))

    def _next(self) -> Item:
        """Returns the next element or failure: one that comes before a failure in the same round, or before the end."""
        ahead, before = self._ahead[self._turn], self._here()
        head = ahead.peek(1)
        if head is None and self._node.lends and self._lent(ahead):
            head = ahead.peek(1)
        if isinstance(head, Block):
            block = ahead.take(1)
            self._pass()
            return Block(block.payload, before, block.origin)
        error = self._missing() if head is None else ahead.drop_failure().error
        if error is None:
            self._ended = True
            return None
        self._pass()
        return Failure(error, before, self._here())

    def _lent(self, ahead: StageLookahead) -> bool:
        """Has a stream without elements go on with another's, which is left out again; returns whether there is one."""
        for other in self._ahead:
            other.peek(1)
        stages = [stage for stage in self.inputs if isinstance(stage, FillingStage)]
        last = next((stage.last for stage in stages if stage.last is not None), None)
        if last is None:
            return False
        assert isinstance(ahead.stage, FillingStage)  # as all are where one lends to another
        ahead.stage.borrow(last)
        ahead.ended = False
        return True

    def _missing(self) -> HeadraceError | None:
        """Returns the error in the place of an element that an ended stream should have; None where its end is that of all."""
        # Where there is nobody to lend one, what comes next of the others failed: so does their batch, for that reason.
        failures = (ahead.head for ahead in self._ahead[self._turn :] if isinstance(ahead.head, Failure))
        failure = next(failures, None) if self._node.lends else None
        return missing(self._node, self._node.owned[self._turn], self._rounds) if failure is None else failure.error

    def close(self) -> None:
        self._holding.release()
        super().close()

    def _pass(self) -> None:
        """Goes on to the next stream."""
        self._turn += 1
        if self._turn == len(self._ahead):
            self._rounds, self._turn = self._rounds + 1, 0


@frozen
class _StreamsCursor:
    """A number of elements after a turn of a round."""

    owned: range
    rounds: int
    turn: int
    inputs: tuple[Cursor, ...]
    count: int = 0

    def advance(self, count: int) -> _StreamsCursor:
        return _StreamsCursor(self.owned, self.rounds, self.turn, self.inputs, self.count + count)

    def state(self) -> State:
        streams = len(self.inputs)
        rounds, turn = divmod(self.turn + self.count, streams)
        states = {}
        for index, (stream, cursor) in enumerate(zip(self.owned, self.inputs, strict=True)):
            taken = rounds + (index < turn) - (index < self.turn)
            states[str(stream)] = cursor.advance(taken).state()
        state: State = {"rounds": self.rounds + rounds, "streams": states}
        return {**state, "turn": turn} if turn else state


@lower.register
def _dealt_streams(node: DealtStreams, state: State | None, context: StageContext) -> Stage:
    saved = saved_streams(node, state)
    begins = [replayed_from(saved[stream], node.each) for stream in node.owned]
    inputs = [
        lower(node.input, begin, dataclasses.replace(context.for_stream(stream), streams=len(node.owned)))
        for stream, (begin, _) in zip(node.owned, begins, strict=True)
    ]
    replays = [count for _, count in begins]
    most_bytes = min(_BYTES_OF_ALL, context.budget.share_bytes)
    return DealtStreamsStage(
        node,
        inputs,
        context.meter(node),
        state,
        replays=replays if any(replays) else [],
        pace=context.policy.pace(
            limit=_MOST_OF_A_STREAM, target_s=_WORK_OF_A_STREAM_S, bytes_limit=max(1, most_bytes // len(inputs))
        ),
        own_end=context.own_end,
        holding=context.gathering(node, ""),
    )
