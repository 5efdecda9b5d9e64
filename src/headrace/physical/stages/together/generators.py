"""The form of generators, which are run one after the other, each to its end.

What always holds:
- A generator is run once. One that does not end within the elements that there is room for, or that fails, goes on in a stage, which has what was
  taken of it; so does one that was read in vain, as what is done to its elements cannot be made together.
- No generator is begun before those ahead of it have ended.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace.blocks.block import Block
from headrace.blocks.cursor import Cursor
from headrace.blocks.origin import IndexOrigin, Origin, Within
from headrace.blocks.payload import Payload, Rows
from headrace.elements.ownership import FIXED
from headrace.elements.rows_and_columns import normalize_rows
from headrace.elements.structure import Element, nbytes_of
from headrace.observe.frames import holds, since
from headrace.physical.at_once import MOST_ELEMENTS, SmallPlans
from headrace.physical.context import StageContext
from headrace.physical.given import Cut, TakesLong
from headrace.physical.made import MOST_BYTES
from headrace.physical.stage import Stage
from headrace.physical.stages.sources_generator import START, GeneratorRun, GeneratorStage
from headrace.physical.stages.together.calls import has_same_code
from headrace.physical.stages.together.forms import OpenersOrigin, Reading
from headrace.plan.sources import FromGenerator
from headrace.semantics.generator_runs import own_state_of, started_generator
from headrace.semantics.signed import Signed

__all__ = ["GeneratorForm"]

_AT_START: Final = {"index": 0}
# Of all plans together, of what takes memory: no other generator is begun then.
_ENOUGH_BYTES: Final = 16 * MOST_BYTES


class GeneratorForm(Reading):
    """What generators yield, of each plan one."""

    def __init__(self, node: FromGenerator) -> None:
        super().__init__(node)
        self._first: Sequence[int] | None = None  # how many elements of each plan are read, where not all
        self._rows: list[Element] = []  # of the plans that were read to their ends
        self._kinds: frozenset[type] | None = None
        self._ends: list[int] = []  # of these among them
        self._apart: dict[int, GeneratorRun] = {}  # of plans after those, as far as they were begun

    def call_on_first(self, counts: Sequence[int]) -> None:
        """Has so many elements of each plan alone be read, as nobody takes more; of plans taken later the counts come later, too."""
        self._first = counts

    def _reads_like(self, plan: FromGenerator) -> bool:
        node: Any = self.node
        if not has_same_code(plan.generator, node.generator):
            return False
        return plan.signature is node.signature or plan.signature == node.signature

    def settle(self) -> None:
        starts = [0, *self._ends]
        self.lengths = [self._ends[index] - starts[index] for index in range(min(len(self.lengths), len(self._ends)))]

    def cursor(self, index: int) -> Cursor:
        return START

    def origin(self, index: int) -> Origin:
        return IndexOrigin(range(self.lengths[index]))

    def call(self, openers: OpenersOrigin, small: SmallPlans, room: int, most_s: float) -> int:
        """Runs the generators of all plans that were taken; returns how many of them ended, and are as they should be."""
        start_s = time.perf_counter()
        self._begun = list(self._plans)
        self._run(openers, small, room, start_s, start_s + most_s)
        self._fit(small)
        self.done = [(self.node, len(self._rows), time.perf_counter() - start_s, 0.0)]
        return len(self._ends)

    @holds(lambda at, _: at["self"].place(at["openers"], at["number"], len(at["made"])))
    @since("start_s")
    def _run(self, openers: OpenersOrigin, small: SmallPlans, room: int, start_s: float, end_s: float) -> None:
        node, (now_s, until_s, _) = self.node, small.patience()
        take, rows = small.taking(self._plans[0]).take, self._rows
        kinds: set[frozenset[type] | None] = set()
        iterator: Iterator[Any] = iter(())
        held = 0
        for number, plan in enumerate(self._plans):
            first = None if self._first is None else self._first[number]
            if first == 0:  # so it is not even begun
                self._ends.append(len(rows))
                continue
            made: list[Any] = []
            error: Exception | None = None
            has_ended = False
            try:
                iterator = started_generator(plan, _AT_START)
                if own_state_of(iterator, node.label) is None:  # or each block of its elements begins with one
                    wanted = room if first is None else min(room, first)
                    has_ended, of_kinds, error, _ = take(iterator, made, wanted, now_s, until_s)
                    kinds.add(of_kinds)
                    # One that does not fit is not among those that are wanted, so more would be read.
                    has_ended = has_ended or (error is None and len(made) == first and self._are_fit(made))
                    if has_ended and error is None:
                        _closed(iterator)
            except Exception as raised:  # noqa: BLE001 - a user's generator may raise anything
                error, iterator = raised, iter(())
            except BaseException:
                _closed(iterator)
                raise
            if error is not None or not has_ended:
                self._put_apart(number, small, iterator, made, error)
                self.lacks_room = error is None and room <= len(made) < MOST_ELEMENTS
                break
            rows += made
            self._ends.append(len(rows))
            held += 0 if not made or type(made[0]) in FIXED else len(made) * nbytes_of(made[0])
            if held > _ENOUGH_BYTES or time.perf_counter() > end_s:
                break
        self._kinds = kinds.pop() if len(kinds) == 1 else None

    def _are_fit(self, taken: list[Any]) -> bool:
        """Returns whether elements of one plan fit the signature."""
        node: Any = self.node
        if node.signature is None:
            normalize_rows(taken, set(map(type, taken)))
            return True
        return Signed(node.signature).rows(taken)[1] is None

    def _put_apart(
        self,
        number: int,
        small: SmallPlans,
        iterator: Iterator[Any],
        taken: list[Any],
        error: Exception | None,
        *,
        is_over: bool = False,
    ) -> None:
        """Has a plan go on by itself, of which that much was taken, and after it such an error."""
        run = GeneratorRun(self._plans[number], None, small.taking(self._plans[number]), small.clock)
        run.goes_on(iterator, taken, error, is_over=is_over)
        self._apart[number] = run

    def _fit(self, small: SmallPlans) -> None:
        """Brings what was taken into the form that it should have; from the first plan on of which something does not fit, each goes on by itself."""
        node: Any = self.node
        taken, ends = self._rows, self._ends
        try:
            if node.signature is not None:
                self._rows, misfit = Signed(node.signature).rows(taken)
                fit = len(ends) if misfit is None else bisect.bisect_right(ends, len(self._rows))
                self._kinds = None
            else:
                self._rows, fit = taken if self._kinds else normalize_rows(taken, set(map(type, taken))), len(ends)
        except Exception:  # noqa: BLE001 - a class of the user's may raise anything; each by itself finds out which
            fit = 0
        if fit < len(ends):
            starts = [0, *ends]
            for number in range(fit, len(ends)):
                self._put_apart(number, small, iter(()), taken[starts[number] : ends[number]], None, is_over=True)
            self._ends = ends[:fit]
            del self._rows[starts[fit] :]

    def place(self, openers: OpenersOrigin, number: int, taken: int) -> tuple[str, str]:
        """Returns the operation and the element at which a generator is, of which so many were taken."""
        origin, begun = openers
        return self.node.label, Within(IndexOrigin(range(taken + 1)), origin, begun + number).describe(taken)

    def cuts(self, number: int) -> list[Cut]:
        if number >= len(self._begun):
            return []
        node = self._begun[number]
        if number < len(self._ends):
            begin = self._ends[number - 1] if number else 0
            rows = self._rows[begin : self._ends[number]]
            block = Block(Rows(rows, self._kinds), START, IndexOrigin(range(len(rows))))
            return [TakesLong(node, [], [block] if rows else [])]
        run = self._apart.get(number)
        if run is None:
            return []

        def stage(context: StageContext) -> Stage:
            return GeneratorStage(node, context.meter(node), run)

        return [TakesLong(node, [], stage)]

    def let_go(self) -> None:
        self._rows, self._apart = [], {}

    def _called_on(self) -> Payload:
        return Rows(self._rows, self._kinds)


def _closed(iterator: Any) -> None:
    """Ends what is no generator, but may be closed, as a file."""
    closing = getattr(iterator, "close", None)
    if closing is not None:
        closing()
