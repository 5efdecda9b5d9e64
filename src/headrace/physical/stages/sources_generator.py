"""The stage of from_generator: a run of elements at a time, each as it would be alone."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Payload, Rows
from headrace.clock import Clock
from headrace.elements.function_results import owned
from headrace.elements.rows_and_columns import normalize_rows
from headrace.elements.structure import Element, normalize
from headrace.frozen import frozen
from headrace.observe.frames import holds, since
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.loops.joined_form import JoinedForm, is_long
from headrace.physical.loops.learned import SURPRISES
from headrace.physical.loops.taken_apart import TakenApart
from headrace.physical.loops.taking import Taken, Taking
from headrace.physical.loops.taking_columns import ENDED, SURPRISED, ColumnTaking
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.sources import FromGenerator
from headrace.semantics.failures import as_element_error
from headrace.semantics.generator_runs import OwnState, own_state_of, started_generator
from headrace.semantics.signed import Signed

__all__ = ["START", "GeneratorRun", "GeneratorStage"]

# So long what was made may wait for the rest of its block, once elements suddenly take long.
_PATIENCE_S: Final = 30e-3


class GeneratorRun:
    """One run of a user's generator, from its start or from a state: many elements at a time."""

    def __init__(self, node: FromGenerator, state: State | None, taking: Taking, clock: Clock) -> None:
        self._node = node
        self._taking = taking
        self._now_s = clock.now_s
        self.label = node.label
        self._saved: State = state or {"index": 0}
        self._signed = None if node.signature is None else Signed(node.signature)
        self._iterator: Iterator[Any] | None = None
        self._apart: ColumnTaking | None = None  # takes elements apart, where they are of one form
        self._surprises = 0  # how often they were not
        self._closed = False
        self._is_over = False  # whether the generator has ended
        self._rest: list[Any] = []  # taken and not given yet: one before them did not fit
        self._behind: Exception | None = None  # the error behind them
        self.index: int = self._saved["index"]

    @property
    def has_ended(self) -> bool:
        """Whether nothing comes any more."""
        return self._is_over and not self._rest and self._behind is None

    def _begun(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = iter(())  # where the generator raises at once, it has ended
            self._iterator = started_generator(self._node, self._saved)
        return self._iterator

    @holds(lambda at, _: (at["self"].label, f"element {at['self'].index + len(at['made'])}"))
    @since("_since_s")
    def next_elements(self, limit: int, *, may_join: bool, is_stacked: bool) -> tuple[Payload, Exception | None]:
        """Returns up to ``limit`` elements, and the error after them; after the last ones ``has_ended`` is true.

        There are fewer where they suddenly take long: what was made does not wait for many that are slower.

        Args:
            limit: how many at most.
            may_join: whether they may be taken to be joined.
            is_stacked: whether they are all to be stacked, so that columns are better where they can be had.
        """
        if self._rest or self._behind is not None:
            return self._fitting_rest(limit)
        as_columns = is_stacked or (self._is_quicker_apart() and not may_join)
        _since_s = time.perf_counter()  # for the report of what is held up
        made: list[Any] | TakenApart = []
        error: Exception | None = None
        kinds: frozenset[type] | None = None
        taken = Taken(has_ended=self._is_over)
        try:
            if not self._is_over:
                until_s = self._now_s() + _PATIENCE_S
                if as_columns and self._apart is not None and (is_stacked or not self._apart.needs_stacking):
                    made = self._apart.begin()
                    made, error = self._taken_apart(self._apart, made, limit, until_s)
                if isinstance(made, list) and len(made) < limit and error is None:
                    is_first = not made
                    taken = self._taking.take(self._begun(), made, limit, self._now_s, until_s, may_join=may_join)
                    self._is_over, error = taken.has_ended, taken.unfit
                    kinds = taken.kinds if is_first else None  # of the one that is of another form nothing is known
        except Exception as raised:  # noqa: BLE001 - a user's generator may raise anything
            error, self._iterator = raised, iter(())
        if isinstance(made, TakenApart):
            made.even()
            columns = made.payload(self._signed) if len(made) else None
            if columns is not None:
                self.index += len(columns) + (error is not None)
                return columns, error
            made = made.rows()
        elif as_columns:
            self._look_for_form(made)
        return self._fitting(made, kinds, taken.joined, error)

    def _taken_apart(
        self, apart: ColumnTaking, taken: TakenApart, limit: int, until_s: float
    ) -> tuple[list[Any] | TakenApart, Exception | None]:
        """Takes elements apart; returns them as rows where one is of another form, with that one, or why it could not be copied."""
        why, other = apart.take(self._begun(), taken, limit, self._taking.rows_a_look, self._now_s, until_s)
        self._is_over = why == ENDED
        if why != SURPRISED:
            return taken, None
        self._apart = None
        self._surprises += 1
        made = taken.rows()
        try:
            other = owned(other)
        except Exception as error:  # noqa: BLE001 - a class of the user's may raise anything
            return made, error
        made.append(other)
        return made, None

    def _is_quicker_apart(self) -> bool:
        """Returns whether arrays in elements would be copied, or looked at for the signature, one by one."""
        return any(array.is_held or self._signed is not None for array in self._taking.arrays)

    def _look_for_form(self, made: list[Any]) -> None:
        """Has elements taken apart from the next one on, if they are of a form for that."""
        if made and self._apart is None and self._surprises < SURPRISES and self._taking.has_form:
            self._apart = ColumnTaking.of(made[-1], self._signed)

    def _fitting(
        self, made: list[Any], kinds: frozenset[type] | None, joined: JoinedForm | None, error: Exception | None
    ) -> tuple[Payload, Exception | None]:
        """Returns elements in the form that they should have, and the error after them, which may be that one has not."""
        rows, unfit = self._joined(made, joined) or self._checked(made, kinds)
        if unfit is not None:
            self._rest[:0] = made[len(rows) + 1 :]
            self._behind = error or self._behind
            error = unfit
        self.index += len(rows) + (error is not None)
        return rows, error

    def _fitting_rest(self, limit: int) -> tuple[Payload, Exception | None]:
        """Returns elements that were taken with one that did not fit, and the error after them."""
        made, self._rest = self._rest[:limit], self._rest[limit:]
        error = None
        if not self._rest:
            error, self._behind = self._behind, None
        return self._fitting(made, None, None, error)

    def _joined(self, made: list[Any], form: JoinedForm | None) -> tuple[Payload, None] | None:
        """Returns what was taken to be joined; None where it was not, or each element must be fitted, as which it is given back."""
        if form is None or not made:
            return None
        rows = form.rows(made)
        if is_long(rows.nbytes, len(rows) * len(rows.joined)):
            self._taking.join_no_more()
        joined = rows if self._signed is None else self._signed.joined(rows)
        if joined is None:
            made[:] = rows.rows()
            return None
        return joined, None

    def _checked(self, made: list[Any], kinds: frozenset[type] | None) -> tuple[Payload, Exception | None]:
        """Brings the elements into the form that they should have, up to the first that does not fit, and its error."""
        if self._signed is not None:
            fitted, misfit = self._signed.rows(made)
            return Rows(fitted), misfit
        if kinds is not None:  # they are of a form that is normal
            return Rows(made, kinds), None
        with contextlib.suppress(Exception):  # a class of the user's may raise anything; found one by one below
            return Rows(normalize_rows(made, set(map(type, made)))), None
        rows: list[Element] = []
        try:
            rows.extend(normalize(element) for element in made)
        except Exception as unfit:  # noqa: BLE001 - as above
            return Rows(rows), unfit
        return Rows(rows), None

    def own_state(self) -> OwnState | None:
        """Returns the state that the generator's iterator has of its own as it is now, or None."""
        if self._rest or self._behind is not None:
            return None  # it is further on
        try:
            iterator: Any = self._begun()
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything; it is told at its turn
            self._behind = error
            return None
        return own_state_of(iterator, self.label)

    def goes_on(self, iterator: Iterator[Any], taken: list[Any], error: Exception | None, *, is_over: bool) -> None:
        """Takes over a generator that somebody else has begun.

        Args:
            iterator: gives what comes next.
            taken: its first elements, as they were taken.
            error: why there is no element after those.
            is_over: whether it has ended.
        """
        self._iterator, self._rest, self._behind, self._is_over = iterator, taken, error, is_over

    def cursor(self, back: int = 0) -> Cursor:
        """Returns the position of the next element, or of one before it."""
        if self._iterator is None:  # so as it was saved
            saved = self._saved
            return _GeneratorCursor(saved["index"], saved.get("own"), saved.get("skip", 0))
        return _GeneratorCursor(self.index - back, self.own_state())

    def state(self) -> State:
        """Writes down the position of the next element."""
        if self._iterator is None or self._closed:
            return self._saved
        own = self.own_state()
        return {"index": self.index} if own is None else {"index": self.index, "own": own}

    def close(self) -> None:
        """Ends the generator, so that its ``finally`` runs, and lets go of an iterator, which may hold a file."""
        if not self._closed and self._iterator is not None:
            self._saved = self.state()  # which an iterator that is gone cannot say
            self._closed = True
        closing = getattr(self._iterator, "close", None)
        if closing is not None:
            closing()
        if self._closed:  # only now: Ctrl-C may have cut it short, and it is closed again
            self._iterator = iter(())


class GeneratorStage(Stage):
    """What a user's generator yields.

    Args:
        run: of the generator.
        first: its first elements, where some were taken already.
        raised: what it raised after those.
    """

    def __init__(
        self,
        node: FromGenerator,
        meter: Meter,
        run: GeneratorRun,
        first: Block | None = None,
        raised: Exception | None = None,
    ) -> None:
        back = int(raised is not None)
        super().__init__(meter, (), run.cursor(back=back) if first is None else first.cursor)
        self._surplus = first
        self._run = run
        self._node = node
        self._ended = False
        self._raised = raised

    def _is_spent(self) -> bool:
        return self._ended and self._raised is None

    def _pull(self, limit: int) -> Item:
        if self._raised is None and not self._ended:
            cursor = _GeneratorCursor(self._run.index, self._run.own_state())
            rows, self._raised = self._run.next_elements(limit, may_join=self.may_join, is_stacked=self.is_stacked)
            self._ended = self._raised is None and self._run.has_ended
            if len(rows):
                indices = range(cursor.index, cursor.index + len(rows))
                return Block(rows, cursor, IndexOrigin(indices))
        return None if self._raised is None else self._failure(self._raised)

    def _failure(self, error: Exception) -> Failure:
        self._raised = None
        index = self._run.index - 1
        placed = as_element_error(error, stage=self._node.label, origin=f"element {index}")
        own = self._run.own_state()
        return Failure(placed, self.cursor, _GeneratorCursor(index + 1, own))

    def close(self) -> None:
        self._run.close()


@frozen
class _GeneratorCursor:
    """In a generator: an index, and its own state at the start of the block where it offers one."""

    index: int
    own: Any  # an OwnState, or what was loaded
    skip: int = 0

    def advance(self, count: int) -> _GeneratorCursor:
        return _GeneratorCursor(self.index + count, self.own, self.skip + count)

    def state(self) -> State:
        if self.own is None:
            return {"index": self.index}
        return {"index": self.index, "own": self.own, "skip": self.skip}


START: Final = _GeneratorCursor(0, None)


@lower.register
def _generator(node: FromGenerator, state: State | None, context: StageContext) -> Stage:
    meter, policy = context.meter(node), context.policy
    taking = context.learned.setdefault((id(meter), Taking), Taking(policy.loops, takes_lists=node.signature is None))
    return GeneratorStage(node, meter, GeneratorRun(node, state, taking, policy.clock))
