"""The stage of a chain: maps, filters and enumerates one after the other, in the thread of their driver."""

from __future__ import annotations

import functools
import itertools
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from headrace.blocks.block import Block, BlockOrFailure, Failure, joined_block
from headrace.blocks.cursor import CountedCursor, Cursor
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.loops.chain import Chain
from headrace.physical.loops.held_arrays import HeldArrays
from headrace.physical.loops.one_pass import Tally
from headrace.physical.passing import MOMENT_S, Passing
from headrace.physical.stage import Item, Stage
from headrace.physical.workers.own_turn import OwnTurn, call_in_turns

if TYPE_CHECKING:
    from headrace.physical.workers.tuned_calls import TunedCalls

__all__ = ["LoopStage", "TunedLinks"]

# To measure each link of an element that takes so long costs nothing beside it.
_LONG_S: Final = 1e-4


@frozen
class TunedLinks:
    """An operation of a chain that may go to workers: who decides that, and which links it is."""

    tuner: TunedCalls
    links: range


class LoopStage(Stage):
    """A chain over blocks of its input.

    Args:
        chain: what is done with elements.
        meters: of each link, or one for all of them; the last one is this stage's own.
        counts: how many elements each enumerate of the chain has counted.
        input_stage: what is read.
        turns: what the calls of each link wait for, None where any number may run at once; none where no link waits.
        tuned: the links of which it is measured whether workers would be quicker.
    """

    def __init__(
        self,
        chain: Chain,
        meters: Sequence[Meter],
        counts: Sequence[int],
        input_stage: Stage,
        turns: Sequence[OwnTurn | None] = (),
        tuned: Sequence[TunedLinks] = (),
    ) -> None:
        self._turns = turns
        self._distinct_turns = [*dict.fromkeys(turn for turn in turns if turn is not None)]
        self._tuned = tuned
        self._chain = chain
        self._meters = meters
        self._counts = list(counts)
        self._first_numbers = [link.node.start for link in chain.links if link.kind == "enumerate"]  # type: ignore[union-attr]  # an enumerate's
        super().__init__(meters[-1], (input_stage,), self._counted(input_stage.cursor))
        self._filters = any(link.kind == "filter" for link in chain.links)
        self._next: deque[Item] = deque()  # what comes after what is delivered
        self._held = None if turns or tuned or len(chain.links) > 1 else HeldArrays.of(chain.links[0].node)
        self._rest: tuple[Block, Sequence[int]] | None = None  # of a block that was not gone through to its end
        self._passing = Passing()
        self._told_inside_s = 0.0  # of this pull, what its links were told that they waited for

    def _holds_elements(self) -> bool:
        return bool(self._next) or self._rest is not None

    def _is_spent(self) -> bool:
        return not self._next and self._rest is None and self.inputs[0].is_spent

    def _pull(self, limit: int) -> Item:
        self._told_inside_s = 0.0
        if self._next:
            return self._next.popleft()
        if self._filters:
            return self._filtered(limit)
        taken = self._rest or self._taken(limit)
        if not isinstance(taken, tuple):
            return taken
        self._next.extend(self._through(*taken, limit))
        return self._next.popleft()

    def _filtered(self, limit: int) -> Item:
        """Returns what is let through of one block of the input, or of several, while that is little."""
        passing, now_s = self._passing, self._chain.policy.clock.now_s
        begun_s = now_s()
        made: list[Block] = []
        elements = 0
        while not self._next:
            to_read = passing.to_read(limit - elements, is_free=self.inputs[0].by_index)
            start_s = now_s()
            taken = self._rest or self._taken(to_read)
            if not isinstance(taken, tuple):
                self._next.append(taken)
                break
            read_s = now_s() - start_s
            pieces = self._through(*taken, to_read)
            blocks = [piece for piece in itertools.takewhile(_is_block, pieces) if isinstance(piece, Block)]
            passing.observe(min(len(taken[0]), to_read), read_s, sum(map(len, blocks)))
            made += blocks
            elements = sum(map(len, made))
            self._next.extend(pieces[len(blocks) :])
            # Half of what may come is enough: the rest would be read in ever smaller pieces. And what upstream does not have at hand,
            # or the rest of a block, may take long.
            is_short = len(taken[0]) < to_read or self._rest is not None
            if made and (is_short or 2 * elements >= limit or now_s() - begun_s > MOMENT_S):
                break
        return joined_block(made) if made else self._next.popleft()

    def _taken(self, wanted: int) -> tuple[Block, Sequence[int]] | Failure | None:
        """Reads a block, and returns it with the number of its first element for each enumerate."""
        item = self._read(self.inputs[0], wanted)
        if not self._counts or item is None:
            return (item, ()) if isinstance(item, Block) else item
        before = self._counted(item.cursor)
        numbers = [first + count for first, count in zip(self._first_numbers, self._counts, strict=True)]
        elements = len(item) if isinstance(item, Block) else 1
        self._counts = [count + elements for count in self._counts]
        if isinstance(item, Block):
            return Block(item.payload, before, item.origin), numbers
        return Failure(item.error, before, self._counted(item.after), item.by)

    def _counted(self, cursor: Cursor) -> Cursor:
        """Returns a position of the input as one of the chain, which has counted what came before it."""
        for count in self._counts:
            cursor = CountedCursor("index", count, cursor)
        return cursor

    def _through(self, block: Block, numbers: Sequence[int], most: int) -> list[BlockOrFailure]:
        """Goes through so many elements of a block; what is left of it waits."""
        start_s = time.perf_counter()
        tally = Tally.of(len(self._chain.links))
        pieces: list[BlockOrFailure]
        taken = block.slice(0, most)
        joined = self._held.joined(taken.payload) if self.may_join and self._held is not None else None
        if joined is not None:
            pieces, done = [Block(joined, taken.cursor, taken.origin)], len(taken)
        elif self._distinct_turns:
            pieces, done = self._in_turns(taken, numbers, tally, start_s)
        else:
            pieces, done = self._chain.run(taken, numbers, tally, start_s, is_stacked=self.is_stacked)
        self._rest = None
        if done < len(block):
            self._rest = block.slice(done, len(block)), [number + done for number in numbers]
        end_s = time.perf_counter()
        if len(self._meters) > 1:
            self._count_links(tally, done, end_s - start_s)
        if self._tuned:
            self._tell(tally, done, end_s - start_s, end_s)
        return pieces

    def _in_turns(
        self, block: Block, numbers: Sequence[int], tally: Tally, start_s: float
    ) -> tuple[list[BlockOrFailure], int]:
        """Goes through a block while no more calls of any operation run than may."""
        run = functools.partial(self._chain.run, block, numbers, tally, start_s, is_stacked=self.is_stacked)
        if len(self._distinct_turns) == 1 and None not in self._turns:  # a worker may make all of it
            return self._distinct_turns[0].call(run)
        made = call_in_turns(self._distinct_turns, run)
        return made[0] if made else self._chain.in_turns(block, numbers, tally, self._turns)

    def _tell(self, tally: Tally, done: int, seconds: float, end_s: float) -> None:
        """Tells tuners what their links took of a block."""
        measured_s = sum(tally.seconds)
        looped_s = max(0.0, seconds - measured_s)
        shares = self._chain.learned.shares
        for tuned in self._tuned:
            links = tuned.links
            own_s = sum(tally.seconds[link] + shares[link] * looped_s for link in links)
            came = tally.passed[links[0] - 1] if links[0] else done
            if came:
                tuned.tuner.observe(came, end_s - own_s, end_s, 1)
        if not measured_s and seconds > _LONG_S * done:
            self._chain.learned.look_soon()

    def _count_links(self, tally: Tally, done: int, seconds: float) -> None:
        """Counts what the links before the last one did; what that did is counted as this stage's own."""
        learned = self._chain.learned
        if sum(tally.seconds):
            learned.share(tally.seconds)
        elif seconds > _LONG_S * done:
            learned.look_soon()
        input_wait_s = self._inside_s - self._told_inside_s
        for meter, passed, share in zip(self._meters[:-1], tally.passed, learned.shares, strict=False):
            own_s = share * seconds
            meter.count(elements=passed, served=passed, busy_s=own_s, input_wait_s=input_wait_s)
            input_wait_s += own_s
            self._inside_s += own_s
        self._told_inside_s = self._inside_s

    def _count_cpu(self, cpu_s: float, of_s: float) -> None:
        for meter in self._meters:  # of one loop all that is known is the whole
            meter.count_cpu(cpu_s, of_s)

    def stop(self) -> None:
        for turn in self._distinct_turns:
            turn.stop()
        super().stop()


def _is_block(piece: BlockOrFailure) -> bool:
    return isinstance(piece, Block)
