"""Datasets that functions made of elements, which this process reads for a thread of the trainer's, a piece at a time.

What lies behind a piece is not read before it is asked for, so a dataset holds here what it holds in a thread that reads it.
"""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Callable
from typing import Any, Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor
from headrace.blocks.deep_states import in_pieces, whole
from headrace.blocks.origin import WordedOrigin
from headrace.blocks.payload import Rows
from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError
from headrace.observe.failures import Failures
from headrace.observe.frames import within
from headrace.physical.budget import Budget
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.buffering import Cache
from headrace.plan.nesting import FlatMap
from headrace.plan.node import nodes_of
from headrace.processes.elements_alone import sent_alone
from headrace.processes.elements_sent import refused, sent_elements
from headrace.processes.errors_sent import sent_error
from headrace.processes.orders import Came, Kind, Opening, Setting
from headrace.processes.parcels import Parcel, packed, to_bytes
from headrace.processes.progress import Phase, Progress
from headrace.processes.shipping import made_there
from headrace.processes.slab import Slab
from headrace.processes.worker_info import Inits
from headrace.semantics.inner_plans import in_run
from headrace.semantics.meters import Meters
from headrace.semantics.nesting import made_plan

__all__ = ["Readings", "position_inside"]

# To tell positions may take this part of the time.
_TELLING: Final = 0.02

# All that this process has open or was asked about lately, by number. They are asked for by another thread than reads them.
_readings: Final[dict[int, _Reading]] = {}


class _ReadElsewhereError(Exception):
    """A dataset has a cache, which only one process has."""


class _Reading:
    """A dataset that is read, and where the items that were read began."""

    def __init__(
        self,
        opening: Opening,
        node: FlatMap,
        failures: Failures,
        budget: Callable[[Setting], Budget],
    ) -> None:
        self._origin = opening.origin
        self._told_s = self._telling_s = 0.0
        self._number = 0
        self.is_closed = False
        self._left: list[Block] = []  # reversed: what was read, and has to be sent one by one
        self.sent: Block | None = None  # last, as long as it may be wanted again
        self.items: dict[int, tuple[Cursor, Cursor | None]] = {}  # where each begins; of a failure also where it ends
        self._node = node
        self.stage = self._opened(opening, failures, budget)
        self.start = self.stage.cursor

    @within(lambda at: at["opening"].origin)
    def _opened(self, opening: Opening, failures: Failures, budget: Callable[[Setting], Budget]) -> Stage:
        node = self._node
        plan = made_plan(node, opening.element)
        if any(isinstance(one, Cache) for one in nodes_of(plan)):
            raise _ReadElsewhereError
        setting: Setting = pickle.loads(opening.setting)
        context = _context(setting, failures, budget(setting))
        self._callers = context.callers
        plan, inside = in_run(plan, node, opening.at, context)
        stage = lower(plan, None if opening.position is None else whole(*opening.position), inside)
        left = opening.skipped
        while left:
            item = stage.pull(left)
            if item is None:
                raise DataLossError("a dataset has fewer elements than it had when it was read first", stage=node.label)
            left -= len(item) if isinstance(item, Block) else 1
        return stage

    @within(lambda at: at["self"].origin)
    def _pulled(self, limit: int) -> Item:
        return self._left.pop() if self._left else self.stage.pull(limit)

    def close(self) -> None:
        """Gives back what it holds; positions may still be asked for."""
        self.is_closed = True
        self._callers.stop()
        try:
            self.stage.close()
        finally:
            self._callers.close()

    @property
    def origin(self) -> str:
        """Where the element came from of which it was made."""
        return self._origin

    def next(self, limit: int, memory: Slab) -> Parcel:
        """Reads the next item, to be sent; an element that cannot be sent is a failure in its place."""
        item = self._pulled(limit)
        self._number += 1
        if item is None:
            return packed(Came(Kind.END, self._number, 0, None, None, None), memory)
        if isinstance(item, Failure):
            return self._failed(item, memory)
        try:
            return self._elements(item, memory)
        except HeadraceError:
            raise
        except Exception as error:  # noqa: BLE001 - a class may say anything that cannot be pickled
            return self._one_by_one(item, error, memory)

    def _elements(self, item: Block, memory: Slab) -> Parcel:
        elements, known = sent_elements(item.payload), self._known(item.after)
        parcel = packed(Came(Kind.ELEMENTS, self._number, len(item), elements, item.origin, known), memory)
        # As it is sent, somebody says when nobody asks for it any more.
        self.items[self._number] = item.cursor, None
        self.sent = None if parcel.is_plain else item
        return parcel

    def again(self, memory: Slab) -> Parcel:
        """Returns the item that was sent last, each element by itself."""
        assert self.sent is not None  # what is wanted again was read
        came = Came(Kind.ALONE, self._number, len(self.sent), sent_alone(self.sent), None, self._known(self.sent.after))
        return packed(came, memory)

    def _one_by_one(self, item: Block, error: Exception, memory: Slab) -> Parcel:
        if len(item) > 1:
            self._left += [item.slice(index, index + 1) for index in reversed(range(len(item)))]
            return self.next(1, memory)
        (element,) = item.payload.rows()
        try:
            to_bytes(element)
        except Exception:  # noqa: BLE001 - as above
            message = refused(element, error, "the trainer's process")
            failed = InvalidArgumentError(message, stage=self._node.label, origin=item.origin.describe(0))
            failed.__cause__ = error
            return self._failed(Failure(failed, item.cursor, item.after), memory)
        words = WordedOrigin([item.origin.describe(0)])  # then it is these
        return self._elements(Block(Rows([element]), item.cursor, words), memory)

    def _failed(self, failure: Failure, memory: Slab) -> Parcel:
        self.items[self._number] = failure.cursor, failure.after
        known = self._known(failure.after)
        return packed(Came(Kind.FAILURE, self._number, 1, sent_error(failure.error), None, known), memory)

    def _known(self, after: Cursor) -> tuple[Any, list[Any]] | None:
        """Returns a position, unless that was told so lately that to write it down takes too much of the time."""
        now_s = time.perf_counter()
        if (now_s - self._told_s) * _TELLING < self._telling_s:
            return None
        try:
            position = in_pieces(after.state())
        except HeadraceError:  # a generator's state_dict fails, which a caller is told who asks for the state
            return None
        self._told_s = time.perf_counter()
        self._telling_s = self._told_s - now_s
        return position


def _context(setting: Setting, failures: Failures, budget: Budget) -> StageContext:
    return StageContext(
        seeds=setting.seeds,
        meters=Meters(),
        budget=budget,
        gates=None,
        policy=setting.policy,
        deterministic=setting.deterministic,
        replayed=True,
        epoch=setting.epoch,
        within=setting.within,
        downstream_maps=setting.downstream_maps,
        max_failures=setting.max_failures,
        failures=failures,
        tells_of_unkept=setting.policy.tells_of_unkept,
        options=setting.options,
        stream=setting.stream,
        rank=setting.rank,
    )


class Readings:
    """The datasets of one connection.

    Args:
        memory: where what is sent is put.
        failures: where it is noted what fails.
        inits: what was called in this process before.
        progress: where it is noted what this process does.
    """

    def __init__(self, memory: Slab, failures: Failures, inits: Inits, progress: Progress) -> None:
        _readings.clear()  # of a run before
        self._memory = memory
        self._failures = failures
        self._inits = inits
        self._progress = progress
        self._functions: dict[int, FlatMap] = {}
        self._opened: list[_Reading] = []
        self._last: _Reading | None = None  # of which something was read
        self._budget: Budget | None = None  # of all of them, once there is one

    def next(self, dataset: int, opening: Opening | None, limit: int) -> Parcel:
        """Opens a dataset if it is told how, and reads what comes next of it, unless that is to be nothing."""
        if opening is not None:
            try:
                init = self._learned(opening)
            except Exception as error:  # noqa: BLE001 - a class of the user's may raise anything
                return packed(Came(Kind.REFUSED, 0, 0, sent_error(error), None, None), self._memory)
            with self._progress.within(Phase.PREPARING):
                self._inits.call(init)  # which is no failure of an element
            try:
                node = self._functions[opening.key]
                _readings[dataset] = reading = _Reading(opening, node, self._failures, self._of_all)
                self._opened.append(reading)
            except _ReadElsewhereError:
                return packed(Came(Kind.ELSEWHERE, 0, 0, None, None, None), self._memory)
            except Exception as error:  # noqa: BLE001 - a user's function may raise anything
                return packed(Came(Kind.REFUSED, 0, 0, sent_error(error), None, None), self._memory)
        if not limit:
            return packed(Came(Kind.OPENED, 0, 0, None, None, None), self._memory)
        if self._last is not None:
            self._last.sent = None
        self._last = _readings[dataset]
        return self._last.next(limit, self._memory)

    def again(self) -> Parcel:
        """Returns what was read last, each element by itself."""
        assert self._last is not None  # it was read
        return self._last.again(self._memory)

    def _learned(self, opening: Opening) -> Callable[[], object] | None:
        """Keeps the function of an operation that is told for the first time; returns what is to be called before it is."""
        if opening.function is None:
            return None
        init: Callable[[], object] | None
        with self._progress.within(Phase.LEARNING):
            init, self._functions[opening.key] = made_there(opening.function)
        return init

    def _of_all(self, setting: Setting) -> Budget:
        if self._budget is None:
            part = setting.budget
            self._budget = setting.policy.budget(part.total_bytes, most_bytes=part.most_bytes)
        return self._budget

    @property
    def held_bytes(self) -> int:
        """How much all of them hold, with what was sent last and may be wanted again."""
        sent = None if self._last is None else self._last.sent
        return (0 if self._budget is None else self._budget.all_bytes) + (0 if sent is None else sent.payload.nbytes)

    def forget(self, closed: list[int], gone: list[tuple[int, int]]) -> None:
        """Closes datasets, and drops items in which nobody asks for a position."""
        for dataset, number in gone:
            if dataset in _readings:
                _readings[dataset].items.pop(number, None)
        for dataset in closed:
            reading = _readings.get(dataset)
            if reading in self._opened:
                self._opened.remove(reading)
                reading.close()
        for dataset in {*closed, *(dataset for dataset, _ in gone)}:
            reading = _readings.get(dataset)
            if reading is not None and reading.is_closed and not reading.items:
                del _readings[dataset]

    def close(self) -> None:
        """Closes what is open; positions may still be asked for."""
        for reading in self._opened:
            with contextlib.suppress(Exception):  # nobody is there to hear of it
                reading.close()


def position_inside(dataset: int, number: int, count: int) -> tuple[Any, list[Any]] | None:
    """Returns the position so many elements after the beginning of an item, or of all that is read; None where it is not known."""
    reading = _readings.get(dataset)
    if reading is None:
        return None
    if not number:
        return in_pieces(reading.start.state())
    found = reading.items.get(number)
    if found is None:
        return None
    before, after = found
    if after is not None and count:
        return in_pieces(after.state())
    return in_pieces(before.advance(count).state())
