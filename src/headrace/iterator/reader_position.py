"""Where the reader of a run stands: what it was given, and the states that say so.

What always holds: the state counts what the reader received, whatever was read ahead. It is a base of the iterator and no part of
one, because its attributes are read for each element, and change together in a line that Ctrl-C cannot part: CPython looks for a
signal where a function of Python's begins, after a call of one of C's, and where a loop goes back.
"""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from headrace.blocks.cursor import Cursor, SavedCursor
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.iterator.saved_state import Earlier, RunStart
from headrace.plan.buffering import options_of
from headrace.plan.node import Node
from headrace.plan.options import Options

if TYPE_CHECKING:
    from headrace.iterator.steps_back import StepsBack
    from headrace.plan.fingerprint import Fingerprint

__all__ = ["ReaderPosition"]

_NO_OPTIONS: Final = Options()


def _refused(error: HeadraceError) -> dict[str, Any]:
    raise error.located(stage=None, origin=None) from error.__cause__


class ReaderPosition:
    """Where the reader of a run stands, from the start of an epoch or from a state on.

    Args:
        plan: what runs.
        counts: False for a look at the elements that is no epoch.
        is_quiet: whether nothing of the plan is drawn, counted, kept or set.
    """

    def __init__(self, plan: Node, *, counts: bool, is_quiet: bool) -> None:
        self._built = plan
        self._counts = counts
        self._is_quiet = is_quiet
        self._options = _NO_OPTIONS if is_quiet else options_of(plan)
        self._is_inline = self._options.executor == "inline"  # its one cursor moves, and knows the present alone
        self._is_beside = self._options.executor == "subprocess"
        self._fingerprint: Fingerprint | None = None
        self._rows: Iterator[Element] = iter(())  # of the block, what was not delivered yet
        self._block_length = 0
        self._cursor: Cursor | None = None  # before the first element of the block, or after the last failure
        self._delivered_before = 0  # elements before the block
        # One rank that is alone has nobody who stood elsewhere.
        ranks = None if is_quiet else self._start.ranks  # which begins the epoch now
        self._earlier: StepsBack | None = None
        if ranks is not None and ranks.rank.world_size > 1:
            from headrace.iterator.steps_back import StepsBack  # which a job of several ranks needs alone

            self._earlier = StepsBack()
        self._has_ended = False  # whether its reader got the end

    @functools.cached_property
    def _start(self) -> RunStart:
        """From where it runs. Of a quiet plan it is the same whenever it is made, which is when somebody asks."""
        return RunStart.first(self._built, self._options, counts=self._counts)

    @property
    def built_plan(self) -> Node:
        """The plan that it runs, as it was written."""
        return self._built

    @property
    def _delivered(self) -> int:
        """How many elements of the block were delivered."""
        return self._block_length - operator.length_hint(self._rows)

    def bookmark(self) -> Callable[[], dict[str, Any]]:
        """Returns the position of this iterator now, as a function that writes it down when it is called, however much later.

        For callers that read ahead, as feeding a device does: it costs a reference, where a state costs its writing.
        """
        # They belong together: there is no call between them, and no other thread. What it takes of these rows then is counted.
        rows, length, cursor, before = self._rows, self._block_length, self._cursor, self._delivered_before
        delivered = length - operator.length_hint(rows)
        count = self._start.delivered + before + delivered
        back = self._earlier
        earlier = None if back is None else back.before(cursor, before, delivered)
        if self._is_beside and cursor is not None:  # who ends the run has to know which positions will be asked for
            cursor, delivered = cursor.advance(delivered), 0
        bookmark = functools.partial(
            self._state_at, self._start, cursor, delivered, count, earlier, has_ended=self._has_ended
        )
        if not self._is_inline:
            return bookmark
        try:
            state = bookmark()
        except HeadraceError as failed:  # of a generator's state_dict: told to a caller that asks for the state
            error = failed.with_traceback(None)
            return functools.partial(_refused, error)
        return lambda: state

    def _state_at(
        self,
        start: RunStart,
        cursor: Cursor | None,
        delivered: int,
        count: int,
        earlier: Earlier | None,
        *,
        has_ended: bool,
    ) -> dict[str, Any]:
        return start.state(self._identity(), cursor, delivered, count, earlier, has_ended=has_ended)

    def _identity(self) -> Fingerprint:
        if self._fingerprint is None:
            from headrace.plan.fingerprint import fingerprint_of  # it has hashlib, which only states need

            self._fingerprint = fingerprint_of(self._start.plan)
        return self._fingerprint

    # ----------------------------------------------------------------- going on

    def _note_earlier(self) -> None:
        """Notes where the block began that has been delivered, in a plan that is dealt to ranks."""
        if self._earlier is not None and not self._is_inline:
            self._earlier.note(self._cursor, self._delivered_before, self._block_length)

    def _note_before_it_moves(self) -> None:
        """Notes where an inline run stands, in such a plan, before it goes on."""
        if self._earlier is not None and self._is_inline:
            self._earlier.note_written(self._cursor, self._delivered_before + self._block_length)

    def _kept_position(self) -> Cursor | None:
        """Returns the position after the block, which stays when the run goes on."""
        if self._cursor is None or not self._is_inline:
            return self._cursor
        return SavedCursor(self._cursor.advance(self._block_length).state())

    def _take_back(self, kept: Cursor | None) -> None:
        """Stands where it stood, though the run went on."""
        if self._is_inline:
            self._delivered_before += self._block_length
            self._rows, self._block_length, self._cursor = iter(()), 0, kept

    def _drop_rows(self) -> None:
        """Goes behind what was delivered, without what is at hand."""
        none: Iterator[Element] = iter(())
        while True:
            rows, length, cursor, before = self._rows, self._block_length, self._cursor, self._delivered_before
            delivered = length - operator.length_hint(rows)
            after = None if cursor is None else cursor.advance(delivered)
            if self._rows is rows:  # else another thread got a block meanwhile; no call from here on
                self._rows, self._block_length, self._cursor, self._delivered_before = (
                    none,
                    0,
                    after,
                    before + delivered,
                )
                break
        if taken := length - delivered - len(list(rows)):  # the chain has them at hand, too; another thread took some
            self._cursor, self._delivered_before = (
                None if after is None else after.advance(taken),
                before + delivered + taken,
            )

    def _stand_at(self, start: RunStart) -> None:
        """Stands where a run begins."""
        rows, none = self._rows, iter(())
        self._start = start
        self._is_quiet = False  # what goes on from a state has stages
        self._rows, self._block_length, self._cursor, self._delivered_before = none, 0, None, 0
        deque(rows, maxlen=0)  # as above
        if self._earlier is not None:
            self._earlier.clear()
        self._has_ended = False
