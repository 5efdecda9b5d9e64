"""The stage of flat_map and interleave: datasets that a function makes of elements, open side by side.

The order is tf.data's. Slots are visited in turn; each gives ``block_length`` elements and then the next one is
visited. A slot whose dataset has ended is left, and filled with the next input's dataset when its turn comes
again. A failure inside does not end its slot's turn; a failure to open leaves the slot for the next input.
flat_map is the case of one slot.

With workers, the datasets are read ahead of their turns, and those that will be opened next are opened ahead:
this changes when an element is made, never which comes next.

Datasets of a few elements that are at hand are the rule, so those that come next are taken together, in one block.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from headrace.arguments import AUTOTUNE
from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State, input_state
from headrace.blocks.joining import woven
from headrace.blocks.origin import JoinedOrigin, Within
from headrace.coordination.closing import close_all
from headrace.errors import HeadraceError
from headrace.observe.meter import Meter
from headrace.physical.budget import Ahead
from headrace.physical.context import StageContext
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.nesting_openers import NestingPaces, Opener, Openers
from headrace.physical.stages.nesting_opening import MakeReader, Opening, OpenSubplan, reading_ahead
from headrace.physical.stages.nesting_runs import DatasetRun, DatasetRuns
from headrace.physical.stages.nesting_turns import TurnsBlock, TurnsCursor, TurnsPosition, Whole
from headrace.physical.stages.nesting_visits import ENDLESS, Turns
from headrace.physical.workers.reading_place import LONG_S, InWorkers, ReadingPlace
from headrace.physical.workers.subplan_reader import SubplanReader
from headrace.physical.workers.tuned_workers import TunedWorkers
from headrace.plan.nesting import FlatMap, Interleave
from headrace.plan.node import parallel_calls_of
from headrace.semantics.failures import inside_element
from headrace.semantics.held_bytes import Holding

__all__ = ["InterleaveStage"]

_NONE_TAKEN: Final[Mapping[int, int]] = {}


class InterleaveStage(Stage):
    """Datasets made of elements, a few at a time.

    Args:
        opening: opens the datasets.
        paces: how much is done at once.
        ahead: how many datasets are opened before their turn, beside those whose slots have nothing left to be read.
        ordered: False takes from whichever slot has something ready.
        place: whether datasets are read in workers; None where there are none.
        workers: hears of it where their number is left to headrace.
    """

    def __init__(
        self,
        input_stage: Stage,
        meter: Meter,
        state: State | None,
        *,
        cycle_length: int,
        block_length: int,
        opening: Opening,
        paces: NestingPaces,
        ahead: Callable[[], int] = int,
        ordered: bool = True,
        place: ReadingPlace | None = None,
        held: Ahead | Holding,
        workers: TunedWorkers | None = None,
    ) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._held = held  # by its readers
        self._opening = opening
        self._paces = paces
        self._block_length = block_length
        self._ahead_limit = ahead
        self._ordered = ordered
        self._place = place
        self._workers = workers
        self._told_here = False
        self._ahead: deque[OpenSubplan | Failure] = deque()
        self._stopped = False
        self._cycle: int = state["cycle"] if state else 0
        self._given: int = state["given"] if state else 0
        index: int = state["number"] if state else 0
        self._openers = Openers(
            functools.partial(self._read, input_stage),
            lambda: input_stage.cursor,
            index=index,
            paces=paces,
            is_free=lambda: input_stage.by_index,
        )
        self._slots: list[OpenSubplan | None] = [None] * cycle_length
        # Of the datasets in the slots, which are empty meanwhile, where all of them lie whole.
        self._left: list[Whole | None] | None = None
        self._runs = DatasetRuns(opening)
        for slot, saved in enumerate(state["slots"] if state else ()):
            if saved is not None:
                self._slots[slot] = opening.again(saved)
        self.cursor = self._cursor()

    # ------------------------------------------------------------------ opening

    def _next_dataset(self) -> OpenSubplan | Failure | None:
        return self._ahead.popleft() if self._ahead else self._read_dataset()

    def _read_dataset(self) -> OpenSubplan | Failure | None:
        opener = self._openers.next(1)
        if opener is None or isinstance(opener, Failure):
            return opener
        if self._place is not None and self._may_open_here():
            opened = self._opened_here(opener, self._paces.room)
            return opened if isinstance(opened, OpenSubplan) else self._opening.kept(opened)
        return self._opening.later(opener, None)

    @property
    def _reads_here(self) -> bool:
        return self._place is None or self._place.here

    def _may_open_here(self) -> bool:
        """Returns whether the function may be called here: no worker does, or there would be one call too many."""
        readers = [slot.reader for slot in self._slots if slot is not None]
        return self._reads_here and not self._ahead and all(reader.reads_here or reader.is_read for reader in readers)

    def _opened_here(self, opener: Opener, room: int) -> Whole | OpenSubplan:
        start, own_s = time.perf_counter(), self._opening.own_time.total_s
        opened = self._opening.now(opener, room, max(1, room // len(self._slots)))
        seconds = time.perf_counter() - start
        self._was_inside(seconds, own_s)
        self._paces.begun(seconds, at_once=self._opening.was_at_once)
        if isinstance(opened, OpenSubplan):
            opened.spent_s = seconds
        elif self._place is not None:
            self._place.took(seconds)
        return opened

    def _look_ahead(self) -> None:
        """Opens datasets before their turn; for each slot that has nothing left to be read, one more."""
        if self._reads_here:
            return
        done = sum(slot is None or slot.reader.is_read for slot in self._slots)
        while len(self._ahead) < self._ahead_limit() + done and not (
            isinstance(self._held, Ahead) and self._held.is_full
        ):
            opened = self._read_dataset()
            if opened is None:
                return
            self._ahead.append(opened)

    # ------------------------------------------------------------------ giving

    def _pull(self, limit: int) -> Item:
        start, before = time.perf_counter(), self._openers.index
        item = self._from_whole_ones(limit) or self._from_slots(limit)
        given = len(item) if isinstance(item, Block) else 0
        self._paces.observe(self._openers.index - before, given, time.perf_counter() - start)
        self.works_in_pull = self._reads_here
        if self._workers is not None and self._reads_here != self._told_here:
            self._tell_place(self._workers)
        return item

    def _tell_place(self, workers: TunedWorkers) -> None:
        """Tells whether datasets are read by workers from now on."""
        assert self._place is not None  # where there are workers
        self._told_here = self._place.here
        before, after = (workers.calls, 0) if self._told_here else (0, workers.calls)
        workers.begin()
        workers.note(before, after, self._place.reason)

    def _from_slots(self, limit: int) -> Item:
        """Returns the next item, of at most one round over the slots."""
        self._open_left()
        while True:
            self._look_ahead()
            slot = self._slots[self._cycle] or self._filled_slot()
            if slot is None:
                if not any(self._slots):
                    return None
                self._visit_next()
                continue
            if isinstance(slot, Failure):
                return self._failed(slot)
            if self._stopped:  # stop() may have come before this one was there to be stopped
                slot.reader.stop()
            if not self._ordered:
                slot = self._a_ready_one(slot)
            # At least what is left of its turn: read by a few, each element would cost as much as a block.
            sharing = len(self._giving_slots()) or len(self._slots)
            item = self._peek(slot, max(1, limit // sharing, min(limit, self._block_length - self._given)))
            if item is None:
                self._leave(slot)
            elif isinstance(item, Failure):
                if slot.reader.failed_to_open:
                    self._slots[self._cycle] = None
                    return self._failed(item)
                slot.reader.drop_failure()
                return self._failed(item, inside_element(item.error, slot.opener.origin()))
            else:
                return self._rounds(limit) or self._run(slot, item, limit)

    def _peek(self, slot: OpenSubplan, limit: int) -> Item:
        """Returns the slot's next item; the time that its plan took is not this stage's own."""
        start, start_cpu_s = time.perf_counter(), 0.0 if self._place is None else time.thread_time()
        own_s = self._opening.own_time.total_s
        item = slot.reader.peek(limit)
        seconds = time.perf_counter() - start
        if not slot.reader.reads_here:
            self.waited(seconds)
        else:
            self._was_inside(seconds, own_s)
            if self._place is not None:
                slot.spent_s += seconds
                slot.waited_s += seconds - (time.thread_time() - start_cpu_s)
                self._look_at_place(slot, self._place)
        return item

    def _look_at_place(self, slot: OpenSubplan, place: ReadingPlace) -> None:
        """Learns from a dataset that is read here; has workers read on where that is better."""
        if slot.reader.ended or slot.spent_s > LONG_S:
            place.took(slot.spent_s, slot.waited_s)
        if not place.here:
            self._opening.to_workers(slot)

    def _filled_slot(self) -> OpenSubplan | Failure | None:
        dataset = self._next_dataset()
        if isinstance(dataset, OpenSubplan):
            self._slots[self._cycle] = dataset
        return dataset

    def _a_ready_one(self, slot: OpenSubplan) -> OpenSubplan:
        if slot.reader.is_ready():
            return slot
        for index, other in enumerate(self._slots):
            if other is not None and other.reader.is_ready():
                self._cycle, self._given = index, 0
                return other
        return slot

    def _leave(self, slot: OpenSubplan) -> None:
        slot.reader.close()
        self._slots[self._cycle] = None
        self._visit_next()

    def _visit_next(self) -> None:
        self._cycle = (self._cycle + 1) % len(self._slots)
        self._given = 0

    def _failed(self, failure: Failure, error: HeadraceError | None = None) -> Failure:
        return Failure(failure.error if error is None else error, self.cursor, self._cursor())

    def _run(self, slot: OpenSubplan, head: Block, limit: int) -> Block:
        """Takes elements of the slot whose turn it is."""
        count = min(limit, len(head), self._block_length - self._given)
        cursor = self._cursor({self._cycle: count})
        block = slot.reader.take(count)
        self._given += count
        if self._given == self._block_length:
            self._visit_next()
        return Block(block.payload, cursor, Within(block.origin, slot.opener.block.origin, slot.opener.at))

    def _rounds(self, limit: int) -> Block | None:
        """Takes as many whole rounds over all slots as there are elements ready for, in one block."""
        slots, length = self._slots, self._block_length
        opened = self._giving_slots()
        rounds = limit // (len(opened) * length) if opened else 0
        if len(slots) == 1 or self._given or not rounds:
            return None
        for slot in opened:
            head = self._peek(slot, max(length, limit // len(opened)))
            if not isinstance(head, Block):
                return None
            rounds = min(rounds, len(head) // length)
        if not rounds:
            return None
        taken = {index: rounds * length for index, slot in enumerate(slots) if slot is not None}
        cursor = self._cursor(taken)
        blocks = [slot.reader.take(rounds * length) for slot in opened]
        origins = [
            Within(block.origin, slot.opener.block.origin, slot.opener.at)
            for block, slot in zip(blocks, opened, strict=True)
        ]
        if len(blocks) == 1:  # the last dataset of all
            return Block(blocks[0].payload, cursor, origins[0])
        order = np.arange(len(opened) * rounds * length).reshape(len(opened), rounds, length).swapaxes(0, 1).ravel()
        payload = woven([block.payload for block in blocks], length)
        origin = JoinedOrigin.of([len(block) for block in blocks], origins).subset(order)
        return Block(payload, cursor, origin)

    def _giving_slots(self) -> list[OpenSubplan]:
        """Returns the slots that give in a round, from this one on; none where another dataset would be opened on the way."""
        turned = self._slots[self._cycle :] + self._slots[: self._cycle]
        opened = [slot for slot in turned if slot is not None]
        is_last_of_all = self._openers.have_ended and not self._ahead
        return opened if is_last_of_all or len(opened) == len(turned) else []

    # ---------------------------------------------------------- datasets that lie whole

    def _from_whole_ones(self, limit: int) -> Block | None:
        """Takes elements of datasets that lie whole, in one block; None where none of them comes next."""
        if self._stopped or self._ahead or not self._reads_here:
            return None
        slots = self._left or [None if slot is None else slot.whole() for slot in self._slots]
        if not self._left and slots.count(None) > self._slots.count(None):
            return None
        taken = TurnsBlock(self._position(tuple(slots)))
        turns, begun_s = taken.turns, time.perf_counter()
        while turns.ready < limit and self._opens_another(taken, limit, begun_s):
            pass
        # More than was asked for, which waits: what one slot has of its last dataset; and a round, as to look at all slots costs as much.
        round_length = len(self._slots) * self._block_length
        count = turns.ready if len(self._slots) == 1 else min(turns.ready, max(limit, round_length))
        stands = turns.standing(count)
        self._cycle, self._given = stands.cycle, stands.given
        self._left, self._slots = taken.left(stands), [None] * len(self._slots)
        return taken.block(count) if count else None

    def _open_left(self) -> None:
        """Puts what is left of datasets that lie whole into their slots, each to be read by itself."""
        if self._left is not None:
            self._slots = [None if whole is None else self._opening.kept(whole) for whole in self._left]
            self._left = None

    def _opens_another(self, taken: TurnsBlock, limit: int, begun_s: float) -> bool:
        """Opens the next datasets, as turns ask for them; returns False where none that lies whole is to be had now."""
        # What is ready waits for nothing that is to be read.
        is_enough = taken.turns.ready and (
            self._stopped or not self._openers.are_at_hand or time.perf_counter() - begun_s > self._paces.block_s
        )
        if is_enough or not self._reads_here:
            return False
        left = max(1, limit - taken.turns.total)
        if self._runs.may_be and not self._openers.have_plans and self._openers.fill(left):
            run = self._made_together(taken.turns, limit, max(left, self._paces.room))
            if run is not None:
                taken.add(run)
                return True
        opener = self._openers.next(left)
        if opener is None:
            taken.turns.has_ended = True
            return False
        if isinstance(opener, Failure):
            self._ahead.append(opener)
            return False
        opened = self._opened_here(opener, max(left, self._paces.room))
        if isinstance(opened, Whole):
            taken.turns.add(opened.length)
            taken.add(opened)
            return True
        self._ahead.append(opened)
        return False

    def _made_together(self, turns: Turns, limit: int, room: int) -> DatasetRun | None:
        """Opens the next datasets, where those of several elements are made together."""
        start, own_s = time.perf_counter(), self._opening.own_time.total_s
        run = self._runs.next(self._openers, turns, limit, room, self._paces.block_s)
        seconds = time.perf_counter() - start
        self._was_inside(seconds, own_s)
        if run is not None:
            self._paces.begun(seconds / run.count, at_once=True)
        if run is not None and self._place is not None:
            self._place.took(seconds / run.count)
        return run

    def _was_inside(self, seconds: float, own_before_s: float) -> None:
        """Counts the time that datasets took; what the function took meanwhile, which makes them, is this stage's own."""
        self._inside_s += seconds - (self._opening.own_time.total_s - own_before_s)

    # ---------------------------------------------------------------- positions

    def _cursor(self, taken: Mapping[int, int] = _NONE_TAKEN) -> TurnsCursor:
        """Returns the position before a block that has so many elements of some slots."""
        slots = [
            None if slot is None else Whole(slot.opener, None, slot.reader.cursor, taken.get(index, 0))
            for index, slot in enumerate(self._slots)
        ]
        return TurnsCursor(self._position(slots), ())

    def _position(self, slots: Sequence[Whole | None]) -> TurnsPosition:
        ahead = self._ahead[0] if self._ahead else self._openers
        index = self._openers.index - len(self._ahead)
        return TurnsPosition(self._cycle, self._given, index, slots, ahead.cursor, self._block_length)

    # ------------------------------------------------------------------ ending

    def stop(self) -> None:
        self._stopped = True
        for opened in self._all_opened():
            opened.reader.stop()
        super().stop()

    def close(self) -> None:
        close_all([*(opened.reader.close for opened in self._all_opened()), self._held.release, super().close])

    def _all_opened(self) -> list[OpenSubplan]:
        return [opened for opened in (*self._slots, *self._ahead) if isinstance(opened, OpenSubplan)]


@lower.register
def _interleave(node: FlatMap, state: State | None, context: StageContext) -> Stage:
    cycle, block = 1, ENDLESS
    deterministic = None
    if isinstance(node, Interleave):
        cycle, block = node.cycle_length or 1, node.block_length
        deterministic = node.deterministic
    meter = context.meter(node)
    gate = context.gate(node)
    if gate is not None:
        meter.calls = gate.calls

    def ahead() -> int:
        # Two a call: while one is read, the next is ready already, and the driver comes to look only when it has a core.
        return 2 * gate.calls if gate is not None else 0

    place = there = workers = None
    held: Ahead | Holding
    reader: MakeReader
    if gate is None:
        held = context.gathering(node, "")
        reader = functools.partial(SubplanReader, holding=held)
    else:
        if context.elsewhere is not None and context.elsewhere.wanted_for(node):
            there = context.elsewhere.reading(node, context)
        place = context.policy.reading_place(node.operations) if there is None else InWorkers()
        if parallel_calls_of(node) == AUTOTUNE:
            # No more files are opened ahead than are read side by side; and in processes, each core has one.
            most = gate.calls if there is not None else max(gate.calls, min(cycle, gate.most or cycle))
            workers = context.tuned_workers(gate, meter, node.operations, most=most)
        held = context.ahead(node)
        reader = reading_ahead(gate, place, workers, meter, context, held, lambda: 2 * cycle + ahead())
    return InterleaveStage(
        lower(node.input, input_state(state), context.replaying()),  # elements that opened datasets are read again
        meter,
        state,
        cycle_length=cycle,
        block_length=block,
        opening=Opening(node, context, reader, there),
        paces=NestingPaces(context.policy.pace),
        ahead=ahead,
        ordered=gate is None or is_ordered(deterministic, context),
        place=place,
        held=held,
        workers=workers,
    )
