"""How flat_map and interleave open the datasets that their function makes: as all of their elements, or as stages."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from headrace.arguments import AUTOTUNE
from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, SavedCursor, State
from headrace.elements.structure import Element
from headrace.frozen import mutable
from headrace.observe.frames import within
from headrace.observe.meter import Meter
from headrace.physical.at_once import SmallPlans
from headrace.physical.budget import Ahead
from headrace.physical.context import OpenThere, StageContext
from headrace.physical.given import Cut
from headrace.physical.lasting_paces import begun_like_latest
from headrace.physical.learned_together import tuned_workers
from headrace.physical.lower import lower
from headrace.physical.made import Made, Pieces, is_small
from headrace.physical.own_time import OwnTime
from headrace.physical.stage import Stage
from headrace.physical.stages.nesting_openers import NestingPaces, Opener
from headrace.physical.stages.nesting_turns import Whole
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.reading_place import InWorkers, ReadingPlace, reading_place_of
from headrace.physical.workers.subplan_reader import Opened, OpenPlan, PrefetchingReader, SubplanReader
from headrace.physical.workers.tuned_workers import TunedWorkers
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, parallel_calls_of
from headrace.plan.timeouts import with_timeouts
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding
from headrace.semantics.inner_plans import in_run
from headrace.semantics.nesting import changed_since, made_plan

__all__ = ["OpenSubplan", "Opening", "Reading", "in_workers", "opened_ahead", "paces_of"]

# Makes a reader of what opens a plan, of the position in it, and of the origin, in words, of the element that it was made of.
MakeReader = Callable[[OpenPlan, Cursor | None, Callable[[], str]], SubplanReader]


@mutable
class OpenSubplan:
    """A slot's dataset: the element that opened it, and its reader."""

    opener: Opener
    reader: SubplanReader
    spent_s: float = 0.0  # on reading it where its elements are asked for
    waited_s: float = 0.0  # of that, without the processor

    @property
    def cursor(self) -> Cursor:
        """The position before the element that opened it."""
        return self.opener.cursor

    def whole(self) -> Whole | None:
        """Returns it as turns take it, where it lies whole."""
        if not self.reader.lies_whole:
            return None
        self.reader.finish()
        head = self.reader.head
        return Whole(self.opener, head if isinstance(head, Block) else None, self.reader.cursor)


class Opening:
    """Opens datasets.

    Args:
        node: whose function makes them.
        context: its own.
        make_reader: makes what reads a dataset.
        there: has a process open and read those that are read ahead; None where this one does.
    """

    def __init__(
        self, node: FlatMap, context: StageContext, make_reader: MakeReader, there: OpenThere | None = None
    ) -> None:
        self.node = node
        self._context = context.without_workers()  # once, and not for each of them
        # Calls the function with an element; returns the plan that it made.
        self.plan_of: Callable[[Element], Node] = functools.partial(made_plan, node)
        if context.options.timeout_s is not None:
            self.plan_of = functools.partial(_timed_plan, node, context.options.timeout_s)
        self._make_reader = make_reader
        self._there = there
        self.small = SmallPlans(self._context, node)
        self.own_time = OwnTime()  # that the function took
        self.was_at_once = False  # whether the elements of the dataset that was opened last were made at once
        self._is_slow = False  # whether making them was stopped, because it took long
        self._now_s = context.policy.clock.now_s
        self._begun_s = 0.0  # when that dataset was

    def later(self, opener: Opener, saved: State | None) -> OpenSubplan:
        """Returns a dataset that is opened when it is read, at its start or where the state says.

        Args:
            opener: the element that opens it.
            saved: its state.
        """

        def opened(room: int) -> Opened:
            if self._there is not None:
                there = self._there(opener.element, opener.index, opener.origin(), saved, room)
                if there is not None:
                    return self.failed(opener, there) if isinstance(there, Exception) else there
            found = self._opened(opener, saved, room)
            return Made(found) if isinstance(found, list) else found

        cursor = None if saved is None else SavedCursor(saved)
        return OpenSubplan(opener, self._make_reader(opened, cursor, opener.origin))

    @within(lambda at: at["opener"].origin())
    def now(self, opener: Opener, room: int, wanted: int) -> Whole | OpenSubplan:
        """Opens a dataset, to be read by this thread from its start.

        Args:
            opener: the element that opens it.
            room: for how many elements there is room, if it is one of those that are made at once.
            wanted: how many are read of another.
        """
        self._begun_s = self._now_s()
        found = self._opened(opener, None, room)
        self.was_at_once = isinstance(found, list)
        if not isinstance(found, list):
            dataset = OpenSubplan(opener, SubplanReader(lambda _: found, None, opener.origin))
            if self._is_slow:  # so what was made before waits for none of it
                return dataset
            try:
                dataset.reader.peek_ready(wanted)
            except BaseException:  # the run ends, and does not know of this dataset
                dataset.reader.close()
                raise
            return dataset.whole() or dataset
        head = found[0] if found else None
        if len(found) < 2 and is_small(head):
            return Whole(opener, head, None)  # type: ignore[arg-type]  # no failure is small
        return OpenSubplan(opener, SubplanReader(lambda _: Made(found), None, opener.origin))

    def read_on(self, dataset: OpenSubplan, most: int, most_s: float) -> Whole | OpenSubplan:
        """Reads a dataset of cheap elements that was just opened to its end, if that comes soon: what lies whole is taken together with others."""
        if self._is_slow or not most:
            return dataset
        try:
            dataset.reader.read_on(most, lambda: self._now_s() - self._begun_s >= most_s)
        except BaseException:  # as above
            dataset.reader.close()
            raise
        return dataset.whole() or dataset

    def to_workers(self, dataset: OpenSubplan) -> None:
        """Has workers read on a dataset that this thread has read so far."""
        before = dataset.reader
        if before.reads_here and before.is_under_way:
            dataset.reader = self._make_reader(before.opened, None, dataset.opener.origin)
            dataset.reader.go_on_after(before)

    def kept(self, whole: Whole) -> OpenSubplan:
        """Returns a dataset of which turns take elements, to be read on."""
        pieces: Pieces = [whole.block()] if whole.length else []
        dataset = OpenSubplan(whole.opener, SubplanReader(lambda _: Made(pieces), whole.inner, whole.opener.origin))
        dataset.reader.peek(1)
        return dataset

    def again(self, saved: State) -> OpenSubplan:
        """Opens a dataset where its state says: the element that opened it is read again, from the position before it."""
        with contextlib.closing(lower(self.node.input, saved["opener"], self._context)) as upstream:
            item = upstream.pull(1)
        if isinstance(item, Failure):  # of a function that did not fail when the state was saved
            raise item.error
        if item is None:
            raise changed_since(self.node)
        return self.later(Opener(saved["number"], item.payload.rows()[0], item, 0), saved["inner"])

    def made(self, opener: Opener) -> Node | Stage | Failure:
        """Calls the function with an element, once; returns the plan that it made, or why there is none."""
        if opener.plan is not None:
            return opener.plan
        try:
            with self.own_time:
                return self.plan_of(opener.element)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return self.failed(opener, error)

    def begun(self, made: tuple[Node, Sequence[Cut]] | Exception, opener: Opener) -> Node | Stage | Failure:
        """Returns what was made of an element already, as who opens its dataset takes it."""
        if isinstance(made, Exception):
            return self.failed(opener, made)
        plan, cuts = made
        return self.small.begun(plan, cuts, opener.index) if cuts else plan

    def failed(self, opener: Opener, error: Exception) -> Failure:
        """Makes the failure of an element whose dataset was not to be had."""
        placed = as_element_error(error, stage=self.node.label, origin=opener.origin(), takes_parts=True)
        return Failure(placed, opener.cursor, opener.after)

    def _opened(self, opener: Opener, saved: State | None, room: int) -> Stage | Pieces | Failure:
        node = self.node
        self._is_slow = False
        plan = self.made(opener)
        if isinstance(plan, (Stage, Failure)):
            self._is_slow = isinstance(plan, Stage)  # or its elements would have been made together with others
            return plan
        try:
            found = self.small.elements(plan, room) if saved is None else None
            if found is not None:
                self._is_slow = not isinstance(found, list)
                return found
            plan, inside = in_run(plan, node, opener.index, self._context)
            return lower(plan, saved, inside)
        except Exception as error:  # noqa: BLE001 - what is asked of the user's objects may raise anything
            return self.failed(opener, error)


def _timed_plan(node: FlatMap, timeout_s: float, element: Element) -> Node:
    return with_timeouts(made_plan(node, element), timeout_s)


# What is read ahead may take longer than a block that somebody waits for: files are parsed by the megabyte, which is
# some milliseconds of work, and cutting it small would only hand over more often.
_READ_AHEAD_S: Final = 1e-2


class Reading(NamedTuple):
    """How the datasets of a node are read.

    Attributes:
        make: makes their readers.
        held: where these say what they hold.
        there: has a process open and read them.
        place: whether they are read in workers; None where there are none.
        workers: those, where their number is left to headrace.
    """

    make: MakeReader
    held: Ahead | Holding
    there: OpenThere | None = None
    place: ReadingPlace | None = None
    workers: TunedWorkers | None = None


def in_workers(node: FlatMap, context: StageContext, gate: Gate, meter: Meter, cycle: int) -> Reading:
    """Returns how datasets are read by workers, ``cycle`` of them side by side."""
    there = None
    if context.elsewhere is not None and context.elsewhere.wanted_for(node):
        there = context.elsewhere.reading(node, context)
    place_of = context.policy.reading_place or reading_place_of
    place = place_of(node.operations) if there is None else InWorkers()
    workers = None
    if parallel_calls_of(node) == AUTOTUNE:
        # No more files are opened ahead than are read side by side; and in processes, each core has one.
        most = gate.calls if there is not None else max(gate.calls, min(cycle, gate.most or cycle))
        workers = tuned_workers(context, gate, meter, node.operations, most=most)
    held = context.ahead(node)
    make = _reading_ahead(gate, place, workers, meter, context, held, lambda: 2 * cycle + opened_ahead(gate))
    return Reading(make, held, there, place, workers)


def opened_ahead(gate: Gate | None) -> int:
    """Returns how many datasets are opened before their turn, beside those whose slots have nothing left to be read."""
    # Two a call: while one is read, the next is ready already, and the driver comes to look only when it has a core.
    return 2 * gate.calls if gate is not None else 0


def _reading_ahead(
    gate: Gate,
    place: ReadingPlace,
    workers: TunedWorkers | None,
    meter: Meter,
    context: StageContext,
    ahead: Ahead,
    datasets: Callable[[], int],
) -> MakeReader:
    """Returns what makes readers in workers, of so many datasets at once."""

    def block_bytes() -> int:
        # Those that are made ahead, the one that is made, and the one that is taken apart.
        return max(1, ahead.share_bytes // ((PrefetchingReader.BLOCKS_AHEAD + 2) * datasets()))

    # All stages of the operation learn together, so that the next turn of a repeat begins where this one is.
    pace = context.learned.setdefault(
        (id(meter), PrefetchingReader), context.policy.pace(bytes_limit=block_bytes(), target_s=_READ_AHEAD_S)
    )
    return functools.partial(
        PrefetchingReader,
        gate=gate,
        pace=pace,
        meter=meter,
        block_bytes=block_bytes,
        ahead=ahead,
        place=place,
        workers=workers,
    )


def paces_of(context: StageContext, node: Node) -> NestingPaces:
    """Returns how much is done at once, which all stages of the operation learn together: of one inside another there are many."""
    key = (id(context.meter(node)), NestingPaces)
    paces: NestingPaces | None = context.learned.get(key)
    if paces is None:
        new = begun_like_latest(NestingPaces(context.policy.pace), context.policy, node.operations, NestingPaces)
        paces = context.learned.setdefault(key, new)
    return paces
