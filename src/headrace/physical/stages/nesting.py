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

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State, input_state
from headrace.coordination.closing import close_all
from headrace.errors import HeadraceError
from headrace.observe.meter import Meter
from headrace.physical.begun import Opened
from headrace.physical.budget import Ahead
from headrace.physical.context import StageContext
from headrace.physical.given import Cut
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.nesting_openers import NestingPaces, Opener, Openers
from headrace.physical.stages.nesting_opening import Opening, OpenSubplan, Reading, in_workers, opened_ahead, paces_of
from headrace.physical.stages.nesting_runs import DatasetRun, DatasetRuns
from headrace.physical.stages.nesting_slots import Slots
from headrace.physical.stages.nesting_turns import TurnsBlock, TurnsCursor, TurnsPosition, Whole
from headrace.physical.stages.nesting_visits import ENDLESS, Turns
from headrace.physical.workers.reading_place import LONG_S, ReadingPlace
from headrace.physical.workers.subplan_reader import SubplanReader
from headrace.physical.workers.tuned_workers import TunedWorkers
from headrace.plan.nesting import FlatMap, Interleave
from headrace.plan.node import Node
from headrace.semantics.failures import inside_element

__all__ = ["InterleaveStage"]


class InterleaveStage(Stage):
    """Datasets made of elements, a few at a time.

    Args:
        opening: opens the datasets.
        reading: how they are read.
        paces: how much is done at once.
        ahead: how many datasets are opened before their turn, beside those whose slots have nothing left to be read.
        ordered: False takes from whichever slot has something ready.
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
        reading: Reading,
        paces: NestingPaces,
        ahead: Callable[[], int] = int,
        ordered: bool = True,
    ) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._opening = opening
        self._held = reading.held  # by its readers
        self._place, self._workers = reading.place, reading.workers
        self._told_here = False  # whether the latter know that datasets are read here
        self._paces = paces
        self._ahead_limit = ahead
        self._ordered = ordered
        self._ahead: deque[OpenSubplan | Failure] = deque()
        self._stopped = False
        self._openers = Openers(
            functools.partial(self._weak_read(), input_stage),
            lambda: input_stage.cursor,
            index=state["number"] if state else 0,
            paces=paces,
            is_free=lambda: input_stage.by_index,
        )
        # Of the datasets in the slots, which are empty meanwhile, where all of them lie whole.
        self._left: list[Whole | None] | None = None
        self._runs = DatasetRuns(opening, paces)
        self._slots = Slots.of(state, cycle_length, block_length, opening.again)
        self.cursor = self._cursor()

    def begin_with(self, made: Sequence[tuple[Node, Sequence[Cut]] | Exception]) -> None:
        """Takes in what the function made of the first elements already, and what was called on in that, or why it made nothing."""
        self._openers.begin_with([functools.partial(self._opening.begun, one) for one in made])

    # ------------------------------------------------------------------ opening

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
        readers = [slot.reader for slot in self._slots.datasets if slot is not None]
        return self._reads_here and not self._ahead and all(reader.reads_here or reader.is_read for reader in readers)

    def _opened_here(self, opener: Opener, room: int) -> Whole | OpenSubplan:
        start, start_cpu_s, own_s = time.perf_counter(), time.thread_time(), self._opening.own_time.total_s
        opened = self._opening.now(opener, room, max(1, room // len(self._slots)))
        self._paces.begun(time.perf_counter() - start, at_once=self._opening.was_at_once)
        if isinstance(opened, OpenSubplan):
            opened = self._opening.read_on(opened, self._paces.further, self._paces.block_s)
        seconds = time.perf_counter() - start
        self._was_inside(seconds, own_s)
        waited_s = seconds - (time.thread_time() - start_cpu_s)
        if isinstance(opened, OpenSubplan):
            opened.spent_s, opened.waited_s = seconds, waited_s
        elif self._place is not None:
            self._place.took(seconds, waited_s)
        return opened

    def _look_ahead(self) -> None:
        """Opens datasets before their turn, one more for each slot that has nothing left."""
        if self._reads_here:
            return
        wanted = self._ahead_limit() + self._slots.count_of_read
        while len(self._ahead) < wanted and not (isinstance(self._held, Ahead) and self._held.is_full):
            opened = self._read_dataset()
            if opened is None:
                return
            self._ahead.append(opened)

    @property
    def reads_no_more(self) -> bool:
        """Whether all datasets were read to their ends."""
        return self._openers.have_ended and not self._ahead and self._slots.count_of_read == len(self._slots)

    def read_ahead(self) -> bool:
        """Has workers open the first datasets."""
        if self._reads_here:
            return super().read_ahead()
        self._look_ahead()
        return True

    # ------------------------------------------------------------------ giving

    def _pull(self, limit: int) -> Item:
        start, before = time.perf_counter(), self._openers.index
        item = self._from_whole_ones(limit) or self._from_slots(limit)
        given = len(item) if isinstance(item, Block) else 0
        seconds = time.perf_counter() - start
        self._paces.observe(self._openers.index - before, given, seconds)
        if self._place is not None:
            self._place.wanting_s += seconds
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
            slot = self._slots.present or self._filled_slot()
            if slot is None:
                if self._slots.are_empty:
                    return None
                self._slots.visit_next()
                continue
            if isinstance(slot, Failure):
                return self._failed(slot)
            if self._stopped:  # stop() may have come before this one was there to be stopped
                slot.reader.stop()
            if not self._ordered:
                slot = self._slots.a_ready_one(slot)
            # At least what is left of its turn: read by a few, each element would cost as much as a block.
            sharing = len(self._giving_slots()) or len(self._slots)
            left = self._slots.block_length - self._slots.given
            item = self._peek(slot, max(1, limit // sharing, min(limit, left)))
            if item is None:
                if (whole := self._left_for_whole_ones(slot, limit)) is not None:
                    return whole
            elif isinstance(item, Failure):
                return self._failed_there(slot, item)
            else:
                rounds = self._slots.rounds(self._giving_slots(), limit, self._peek, self._cursor)
                return rounds or self._slots.turn(slot, item, limit, self._cursor)

    def _left_for_whole_ones(self, slot: OpenSubplan, limit: int) -> Block | None:
        """Leaves a slot; where nothing else is open, returns elements of datasets that lie whole, if such come next."""
        self._slots.leave(slot)
        whole = self._from_whole_ones(limit) if self._slots.are_empty else None
        if whole is None:
            self._open_left()
        return whole

    def _peek(self, slot: OpenSubplan, limit: int) -> Item:
        """Returns the slot's next item; the time that its plan took is not this stage's own."""
        start, start_cpu_s = time.perf_counter(), 0.0 if self._place is None else time.thread_time()
        own_s, is_further = self._opening.own_time.total_s, slot.reader.is_under_way and slot.reader.head is None
        item = slot.reader.peek(limit)
        seconds = time.perf_counter() - start
        if is_further and slot.reader.reads_here and isinstance(item, Block):
            self._paces.read_further(len(item), seconds)
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
        dataset = self._ahead.popleft() if self._ahead else self._read_dataset()
        if isinstance(dataset, OpenSubplan):
            self._slots.fill(dataset)
        return dataset

    def _failed_there(self, slot: OpenSubplan, failure: Failure) -> Failure:
        """Returns the failure that a dataset gives; one that gives nothing else has its slot no more."""
        if slot.reader.failed_to_open:
            self._slots.empty()
            return self._failed(failure)
        slot.reader.drop_failure()
        if failure.is_last:
            self._slots.leave(slot)
            return self._failed(failure)
        return self._failed(failure, inside_element(failure.error, slot.opener.origin()))

    def _failed(self, failure: Failure, error: HeadraceError | None = None) -> Failure:
        return Failure(failure.error if error is None else error, self.cursor, self._cursor())

    def _giving_slots(self) -> list[OpenSubplan]:
        return self._slots.giving(opens_more=bool(self._ahead) or not self._openers.have_ended)

    # ---------------------------------------------------------- datasets that lie whole

    def _from_whole_ones(self, limit: int) -> Block | None:
        """Takes elements of datasets that lie whole, in one block; None where none of them comes next."""
        if self._stopped or self._ahead or not self._reads_here:
            return None
        wholes = self._left or self._slots.wholes()
        if wholes is None:
            return None
        taken = TurnsBlock(self._position(tuple(wholes)))
        turns, begun_s = taken.turns, time.perf_counter()
        while taken.lacks(limit) and self._opens_another(taken, limit, begun_s):
            pass
        # More than was asked for, which waits: what one slot has of its last dataset; and a round, as to look at all slots costs as much.
        round_length = len(self._slots) * self._slots.block_length
        count = turns.ready if len(self._slots) == 1 else min(turns.ready, max(limit, round_length))
        count, stands = turns.standing_with_all(count)
        self._slots.cycle, self._slots.given = stands.cycle, stands.given
        self._left, self._slots.datasets = taken.left(stands), [None] * len(self._slots)
        return taken.block(count) if count else None

    def _open_left(self) -> None:
        """Puts what is left of datasets that lie whole into their slots, each to be read by itself."""
        if self._left is not None:
            self._slots.datasets = [None if whole is None else self._opening.kept(whole) for whole in self._left]
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
        if self._runs.may_be and (self._openers.have_plans or self._openers.fill(left)):
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
        start, start_cpu_s, own_s = time.perf_counter(), time.thread_time(), self._opening.own_time.total_s
        run = self._runs.next(self._openers, turns, limit, room, self._paces.block_s)
        seconds = time.perf_counter() - start
        self._was_inside(seconds, own_s)
        if run is not None:
            self._paces.begun(seconds / run.count, at_once=True)
        if run is not None and self._place is not None:
            waited_s = seconds - (time.thread_time() - start_cpu_s)
            self._place.took(seconds / run.count, waited_s / run.count)
        return run

    def _was_inside(self, seconds: float, own_before_s: float) -> None:
        """Counts the time that datasets took; what the function took meanwhile, which makes them, is this stage's own."""
        self._inside_s += seconds - (self._opening.own_time.total_s - own_before_s)

    # ---------------------------------------------------------------- positions

    def _cursor(self, taken: Mapping[int, int] | None = None) -> TurnsCursor:
        """Returns the position before a block that has so many elements of some slots."""
        return TurnsCursor(self._position(self._slots.positions(taken or {})), ())

    def _position(self, wholes: Sequence[Whole | None]) -> TurnsPosition:
        ahead = self._ahead[0] if self._ahead else self._openers
        index, slots = self._openers.index - len(self._ahead), self._slots
        return TurnsPosition(slots.cycle, slots.given, index, wholes, ahead.cursor, slots.block_length)

    # ------------------------------------------------------------------ ending

    def stop(self) -> None:
        self._stopped = True
        for opened in self._all_opened():
            opened.reader.stop()
        super().stop()

    def close(self) -> None:
        readers = [one.reader.close for one in self._all_opened()]
        close_all([*readers, self._openers.close, self._held.release, super().close])

    def _all_opened(self) -> list[OpenSubplan]:
        return [opened for opened in (*self._slots.datasets, *self._ahead) if isinstance(opened, OpenSubplan)]


@lower.register
def _opened(node: Opened, state: State | None, context: StageContext) -> Stage:
    stage = _interleave(node.cut.node.with_inputs((node.input,)), state, context)
    stage.begin_with(node.cut.made)
    return stage


@lower.register
def _interleave(node: FlatMap, state: State | None, context: StageContext) -> InterleaveStage:
    cycle, block = 1, ENDLESS
    deterministic = None
    if isinstance(node, Interleave):
        cycle, block = node.cycle_length or 1, node.block_length
        deterministic = node.deterministic
    meter, gate = context.meter(node), context.gate(node)
    if gate is None:
        held = context.gathering(node, "")
        reading = Reading(functools.partial(SubplanReader, holding=held), held)
    else:
        meter.calls = gate.calls
        reading = in_workers(node, context, gate, meter, cycle)
    return InterleaveStage(
        lower(node.input, input_state(state), context.replaying()),  # elements that opened datasets are read again
        meter,
        state,
        cycle_length=cycle,
        block_length=block,
        opening=Opening(node, context, reading.make, reading.there),
        reading=reading,
        paces=paces_of(context, node),
        ahead=functools.partial(opened_ahead, gate),
        ordered=gate is None or is_ordered(deterministic, context),
    )
