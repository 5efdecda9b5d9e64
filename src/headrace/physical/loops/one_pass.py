"""One block on its way through a generated loop, with what happens where the loop stops: a failure, or a surprising result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.cursor import Cursor, OffsetCursor
from headrace.blocks.origin import named
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import Element
from headrace.frozen import frozen, mutable
from headrace.observe.frames import Locals, holds, since
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.failing import failure_of, instead_of
from headrace.physical.loops.taken_apart import TakenApart
from headrace.physical.loops.taken_rows import Taken
from headrace.physical.loops.text import GENERIC, KEPT, Head, Kind, Loop, loop_of
from headrace.plan.elementwise import Enumerate, Filter, Map

__all__ = ["Link", "Part", "Pass", "Tally"]

# The fate of an element that went past the loop and was dropped: who dropped it has counted it.
_DROPPED: Final = 1


@frozen
class Link:
    """One operation of a chain.

    Attributes:
        node: the operation.
        kind: what it does.
        function: the user's; of an enumerate, None.
    """

    node: Map | Filter | Enumerate
    kind: Kind
    function: Callable[..., Any] | None

    @classmethod
    def of(cls, node: Map | Filter | Enumerate) -> Link:
        """Returns the link that an operation is."""
        if isinstance(node, Map):
            return cls(node, "map", node.function)
        if isinstance(node, Filter):
            return cls(node, "filter", node.predicate)
        return cls(node, "enumerate", None)


@mutable
class Tally:
    """What the links of a chain did with some blocks.

    Attributes:
        passed: how many elements each let through.
        seconds: how long each took for those that went link by link.
    """

    passed: list[int]
    seconds: list[float]

    @classmethod
    def of(cls, links: int) -> Tally:
        """Returns one of nothing so far."""
        return cls([0] * links, [0.0] * links)

    def add(self, part: Part, done: int, fates: Sequence[int]) -> None:
        """Counts what each link of a part let through of so many elements; where there are filters, these are their fates."""
        through, dropped = done, bytearray(fates)
        for link in range(len(part.links)):
            if link in part.filters:
                through -= dropped.count(part.filters.index(link) + 1)
            self.passed[part.first + link] += through


class Part:
    """Neighbouring links of a chain that a block goes through element by element, and what the chain does for them.

    Args:
        links: them.
        first: the index of the first one in the chain.
    """

    def __init__(self, links: Sequence[Link], first: int) -> None:
        self.links = links
        self.first = first
        self.kinds = tuple([link.kind for link in links])
        self.filters = [link for link, kind in enumerate(self.kinds) if kind == "filter"]
        self.has_only_filters = len(self.filters) == len(links)
        self._functions = tuple([link.function for link in links])
        self._has_numbers = None in self._functions

    def functions(self, numbers: Sequence[int]) -> tuple[Any, ...]:
        """Returns what the loop has names for, given what each enumerate puts before the first element."""
        if not self._has_numbers:
            return self._functions
        rest = iter(numbers)
        return tuple([next(rest) if function is None else function for function in self._functions])

    def loop(self, head: Head, *, is_stacked: bool) -> Loop:
        """Returns the loop for rows like these, whose results are stacked or not; here one that knows nothing of results."""
        return loop_of(head, self.kinds, (GENERIC,) * len(self.kinds))

    def surprised(self, link: int, result: Element, row: Element, kind: type, ids: Any) -> None:
        """Takes in a result, of a row, that is not of the form that was known, as which type it came, and which arrays were in it."""

    def misfit(self) -> None:
        """Takes in a result that could not be taken apart as those before it."""

    def went_past(
        self, link: int, one: Block, index: int, numbers: Sequence[int], tally: Tally
    ) -> list[BlockOrFailure]:
        """Returns what becomes of one element in this part after a link gave it: nothing more, where there is one link."""
        return [one]


def _at_element(at: Locals, place: Any) -> tuple[str, str]:
    """Returns the operation and the element at which a loop is, or stands before."""
    self: Pass = at["self"]
    link = place if isinstance(place, int) else 0
    index = min(self.reached, len(self.block) - 1)
    return self.part.links[link].node.label, named(self.block.origin.describe(index), at["taken"].rows[index])


class Pass:
    """One block on its way through a part of a chain, an element after the other.

    Args:
        part: that part.
        block: the block.
        numbers: what each enumerate of the part puts before the first element.
        tally: what each link of the chain let through, to be added to.
        is_stacked: whether all results are stacked by who reads them.
    """

    __slots__ = (
        "_apart",
        "_begun",
        "_fates",
        "_is_known",
        "_is_stacked",
        "_made",
        "_numbers",
        "_tally",
        "block",
        "done",
        "part",
        "pieces",
    )

    def __init__(
        self, part: Part, block: Block, numbers: Sequence[int], tally: Tally, *, is_stacked: bool = False
    ) -> None:
        self.part = part
        self.block = block
        self.done = 0  # elements that have gone through, or failed
        self.pieces: list[BlockOrFailure] = []
        self._numbers = numbers
        self._tally = tally
        self._is_stacked = is_stacked
        self._made: list[Element] = []  # of the piece that is not whole yet
        self._apart: TakenApart | None = None  # in place of that, where they are taken apart
        self._fates: list[int] = []  # of each element of that piece, if there are filters
        self._begun = 0  # the index of the first element of that piece
        self._is_known = True  # whether what was made is of the form that the loop checks

    @property
    def reached(self) -> int:
        """The index of the first element that is not done, also while a loop runs, and for who looks from another thread."""
        if self.part.filters:
            return self._begun + len(self._fates)
        apart = self._apart  # looked at once, as another thread goes on
        return self._begun + len(self._made if apart is None else apart)

    def take_over(self, made: list[Element], fates: list[int], failed: tuple[int, Exception] | None) -> None:
        """Takes in what a loop made of the first rows, their fates where there are filters, and on which link it failed on the next one."""
        self._made, self._fates = made, fates
        at = self.reached
        self.done = at + (failed is not None)
        if failed is None:
            self._finish(at, None)
        else:
            self._failed(*failed, at)

    @holds(_at_element)
    @since("start_s")
    def run(self, taken: Taken, start_s: float, patience: Patience) -> None:
        """Goes through the rows of the block, or until the time has come.

        Args:
            taken: the rows.
            start_s: when it began, for the report of what is held up.
            patience: when to end.
        """
        part = self.part
        functions = part.functions(self._numbers)
        now_s, until_s, rows_a_look = patience
        rows = taken.rows
        iterator, next_seen = taken.read(self.done)
        stopped, kinds = True, None
        while stopped and self.done < len(rows):
            # What comes after a result that is as it is goes on beside it.
            loop = part.loop(taken.head, is_stacked=self._is_stacked and not self._made)
            kinds = loop.kinds
            made, before = self._results(loop), len(self._fates)
            link, value, error = loop.run(
                iterator,
                next_seen,
                self.done - 1,
                rows_a_look,
                -(-(len(rows) - self.done) // rows_a_look),
                now_s,
                until_s,
                made,
                self._fates,
                functions,
                loop.constants,
            )
            stopped = link >= 0 or error is not None
            at = self.reached
            self._tally.add(part, at - self.done, self._fates[before:] if before else self._fates)
            self.done = at + stopped
            if error is not None:
                self._failed(loop.failed_link(error), error, at)
            elif link == len(part.links):
                self._misfits(value, at)
            elif link >= 0:
                self._is_known = False
                part.surprised(link, *value)
                self._went_past(link, Rows([value[0]]), at)
            del value, error
            if stopped and patience.is_over:  # or it has looked
                break
        self._finish(self.done, kinds)

    def _results(self, loop: Loop) -> list[Any]:
        """Returns where a loop puts its results."""
        if loop.apart is None:
            if self._apart is not None:
                self._finish(self.done, None)
            return self._made
        if self._apart is None:
            self._apart = loop.apart.begin()
        return self._apart.columns

    def _failed(self, link: int, error: Exception, index: int) -> None:
        """Takes in that a link failed on an element."""
        for before in range(link):
            self._tally.passed[self.part.first + before] += 1
        node = self.part.links[link].node
        failure = failure_of(error, node, self.block, index)
        if isinstance(node, Map) and callable(node.on_error):
            instead = instead_of(node, failure, self.block, index)
            if isinstance(instead, Rows):
                self._went_past(link, instead, index, counted=link)
                return
            failure = instead
        self._fails(failure, index)

    def _misfits(self, result: Element, index: int) -> None:
        """Takes in a result that could not be taken apart: as it is, as those after it."""
        self.part.misfit()
        for link in range(len(self.part.links)):
            self._tally.passed[self.part.first + link] += 1
        self._goes_on_as_rows(index)
        self._made.append(result)
        if self.part.filters:
            self._fates.append(KEPT)

    def _goes_on_as_rows(self, index: int) -> None:
        """Ends a piece that is taken apart, before the element with that index, which is not."""
        if self._apart is not None:
            self._finish(index, None)
            self._is_known = False

    def _fails(self, failure: Failure, index: int) -> None:
        self._finish(index, None)
        self.pieces.append(failure)
        self._begun = index + 1

    def _went_past(self, link: int, rows: Rows, index: int, *, counted: int = 0) -> None:
        """Takes an element that a link gave through the links after it; the first ``counted`` links have counted it."""
        for before in range(counted, link + 1):
            self._tally.passed[self.part.first + before] += 1
        one = Block(rows, self.block.cursor.advance(index), self.block.origin.subset(range(index, index + 1)))
        pieces = self.part.went_past(link, one, index, self._numbers, self._tally)
        if not pieces:
            self._fates.append(_DROPPED)
            return
        (piece,) = pieces  # of one element
        if not isinstance(piece, Block):
            self._fails(piece, index)
            return
        self._goes_on_as_rows(index)
        self._made += piece.payload.rows()
        self._is_known = False
        if self.part.filters:
            self._fates.append(KEPT)

    def _finish(self, end: int, kinds: AbstractSet[type] | None) -> None:
        """Makes a piece of what there is; before ``end`` all was gone through."""
        begun, self._begun = self._begun, end
        apart, self._apart = self._apart, None
        fates, self._fates = self._fates, []
        made, self._made = self._made, []
        offsets = _offsets_of_kept(fates, begun) if fates else None
        most = None if offsets is None else len(offsets) - 1
        if apart is not None:
            apart.even(most)
        count = len(made if apart is None else apart) if most is None else most
        del made[count:]  # what has no fate, as there was no memory for that
        if not count:
            return
        block, payload = self.block, _payload_of(made, apart, kinds if self._is_known else None)
        if offsets is not None:
            cursor: Cursor = OffsetCursor(block.cursor, offsets)
            origin = block.origin.subset(offsets[:-1])
            if self.part.has_only_filters:
                payload = block.payload.subset(offsets[:-1])
        elif count == len(block):
            cursor, origin = block.cursor, block.origin
        else:
            cursor, origin = block.cursor.advance(begun), block.origin.subset(range(begun, begun + count))
        self._is_known = True
        self.pieces.append(Block(payload, cursor, origin))


def _offsets_of_kept(fates: Sequence[int], begun: int) -> np.ndarray:
    """Returns where in a block elements are that were kept, from that index on, and where those with these fates end.

    After the last one kept lies what was judged: it need not be judged again.
    """
    return np.flatnonzero(np.frombuffer(bytearray([*fates, KEPT]), np.uint8) == KEPT) + begun


def _payload_of(made: list[Element], apart: TakenApart | None, kinds: AbstractSet[type] | None) -> Payload:
    if apart is None:
        return Rows(made, kinds)
    return apart.payload(None) or Rows(apart.rows())
