"""Positions of a run in another process, kept here and asked for there."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.deep_states import whole
from headrace.blocks.origin import WordedOrigin
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.processes.elements_alone import Alone, received_alone
from headrace.processes.errors_sent import received_error
from headrace.processes.host import Gone
from headrace.processes.orders import Known

__all__ = ["Giver", "KnowsPositions", "Mark", "RemoteCursor", "position_told", "received_apart"]


class Giver(Protocol):
    """One process that gave items, until it dies."""

    def forget(self, number: int) -> None:
        """Notes that nobody asks for a position in an item any more."""
        ...


class KnowsPositions(Protocol):
    """A run, as far as positions ask it."""

    @property
    def cursors(self) -> weakref.WeakSet[RemoteCursor]:
        """The positions in it that somebody holds."""
        ...

    def state_at(self, mark: Mark, count: int) -> State:
        """Returns a position: of the process, or made again where that has ended."""
        ...

    def asked_state(self, mark: Mark, count: int) -> State:
        """Returns a position of the process."""
        ...


class Mark:
    """An item of the run, as long as somebody may ask for a position in it."""

    __slots__ = ("known", "number", "places", "run", "session")

    def __init__(self, run: KnowsPositions, session: Giver, number: int, known: Known, places: int) -> None:
        self.run = run
        self.session = session
        self.number = number
        self.known = known  # a position before it
        self.places = places  # how many elements and failures of the run stand before it

    def __del__(self) -> None:
        self.session.forget(self.number)  # one atomic operation, as a garbage collection may come anywhere


class RemoteCursor:
    """A position in an item."""

    __slots__ = ("__weakref__", "_asked", "_count", "_mark", "_refused", "_state")

    def __init__(self, mark: Mark, count: int) -> None:
        self._mark = mark
        self._count = count
        self._state: State | None = None
        self._refused: HeadraceError | None = None
        self._asked: Callable[[], State] | None = None
        mark.run.cursors.add(self)

    def advance(self, count: int) -> Cursor:
        """Returns the position so many elements later."""
        return RemoteCursor(self._mark, self._count + count) if count else self

    def state(self) -> State:
        """Writes it down; asked for once."""
        if (asked := self._asked) is not None:
            self._asked = None
            with contextlib.suppress(Gone):  # it died before it answered
                self.settle(asked)
        if self._refused is not None:
            raise self._refused.located(stage=None, origin=None) from self._refused.__cause__
        if self._state is None:
            self._state = self._mark.run.state_at(self._mark, self._count)
        return self._state

    def is_of(self, session: Giver) -> bool:
        """Returns whether the process of a session has it."""
        return self._mark.session is session

    @property
    def place(self) -> tuple[int, int] | None:
        """The number of the item and how many elements of it stand before; None where it is known already."""
        return (self._mark.number, self._count) if self._state is None and self._refused is None else None

    def settle_later(self, asked: Callable[[], State]) -> None:
        """Has it asked for when somebody wants it, of who gives the answer then."""
        self._asked = asked

    def settle(self, asked: Callable[[], State] | None = None) -> None:
        """Asks for it while the process has it; what cannot be written down is told to who asks for the state.

        Args:
            asked: gives the answer, where it was asked for together with others.
        """
        if self._state is None and self._refused is None:
            try:
                self._state = self._mark.run.asked_state(self._mark, self._count) if asked is None else asked()
            except Gone:
                raise
            except HeadraceError as error:
                self._refused = error.with_traceback(None)


def received_apart(sent: Sequence[Alone], mark: Mark, stage: str | None) -> list[BlockOrFailure]:
    """Returns the elements of an item that were sent each by itself: blocks of one, and failures of those that cannot be made again."""
    found: list[BlockOrFailure] = []
    for index, one in enumerate(sent):
        made, before = received_alone(one, stage), RemoteCursor(mark, index)
        if isinstance(made, InvalidArgumentError):
            found.append(Failure(made, before, RemoteCursor(mark, index + 1)))
        else:
            found.append(Block(made, before, WordedOrigin([one.origin])))
    return found


def position_told(told: tuple[Any, Any], pid: int) -> State:
    """Returns a position that a process has told with others, or raises why there is none."""
    position, error = told
    if error is not None:
        raise received_error(error, f"process {pid}")
    state: State = whole(*position)
    return state
