"""A chain of maps, filters and enumerates over blocks: mostly one generated loop, at times one loop a link.

What always holds:
- The pieces that it makes of a block are what its links make one after the other: blocks, and a failure in place of each
  element that failed, with the link that it failed on.
- An element goes through all links before the next one begins. Only the first elements of a run, and a few of the later ones,
  go through one link together and then through the next: so it is measured how long each takes, and seen what each returns.
- Workers may share a chain: what one learns of results, all use, and it is nothing but speed.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any, Final

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.payload import Rows
from headrace.elements.structure import Element
from headrace.physical.loop_policy import LoopPolicy, Patience
from headrace.physical.loops.forms import Form, form_of, joined_form
from headrace.physical.loops.learned import LOOK_S, Learned
from headrace.physical.loops.one_pass import Link, Part, Pass, Tally
from headrace.physical.loops.taken_rows import Taken
from headrace.physical.loops.text import Head, Loop
from headrace.physical.workers.own_turn import OwnTurn
from headrace.plan.elementwise import Enumerate, Filter, Map, RandomMap
from headrace.plan.vectorized import Vectorized

__all__ = ["Chain", "is_chainable"]

# Elements that go link by link at once where each link waits for a turn: what is made waits no longer for them.
_FEW: Final = 16


class Chain:
    """Neighbouring operations on elements.

    Filters alone keep the form in which elements travel. No enumerate comes after a filter, so that the number that it gives to
    an element follows from the index of that in its block.
    """

    def __init__(self, nodes: Sequence[Map | Filter | Enumerate], policy: LoopPolicy) -> None:
        self.links = tuple(map(Link.of, nodes))
        self.policy = policy
        kinds = tuple([link.kind for link in self.links])
        self.learned = Learned(kinds, policy)  # others may have learned more
        self._whole = _Whole(self.links, self)
        self._kinds = kinds
        self._singles = [Part(self.links[link : link + 1], link) for link in range(len(self.links))]

    def is_of(self, nodes: Sequence[Map | Filter | Enumerate], policy: LoopPolicy) -> bool:
        """Returns whether it is the chain of these very operations."""
        return (
            len(nodes) == len(self.links)
            and policy is self.policy
            and all(link.node is node for link, node in zip(self.links, nodes, strict=True))
        )

    def run(
        self,
        block: Block,
        numbers: Sequence[int],
        tally: Tally,
        start_s: float,
        *,
        in_worker: bool = False,
        is_stacked: bool = False,
    ) -> tuple[list[BlockOrFailure], int]:
        """Returns what becomes of a block, and how many elements of it had their turn.

        Args:
            block: it.
            numbers: what each enumerate puts before the first element.
            tally: to be added to.
            start_s: the time.
            in_worker: whether each piece waits for the others in any case, so that there is no hurry.
            is_stacked: whether all results are stacked by who reads them.
        """
        patience = Patience.endless(self.policy.rows_a_look) if in_worker else self.policy.patience()
        pieces: list[BlockOrFailure] = []
        done = 0
        for count, by_link in self.learned.ways(len(block)):
            part = block if count == len(block) else block.slice(done, done + count)
            counted = [number + done for number in numbers]
            if by_link:
                made, passed = self._probed(part, counted, tally), count
            else:
                made, passed = self._looped(part, counted, tally, start_s, patience, is_stacked=is_stacked)
            pieces += made
            done += passed
            if done == len(block) or passed < count or patience.is_over:
                break
            start_s = time.perf_counter()
        return (self._as_one(pieces, block, done) if len(pieces) > 1 else pieces), done

    def _as_one(self, pieces: list[BlockOrFailure], block: Block, done: int) -> list[BlockOrFailure]:
        """Returns what became of so many elements as one piece, where each became one, and all are in lists.

        Else who reads it takes the first few for all there is at once, and what they took, which is what all took, for theirs.
        """
        lists = [piece.payload for piece in pieces if isinstance(piece, Block) and isinstance(piece.payload, Rows)]
        if self._whole.filters or len(lists) < len(pieces):
            return pieces
        whole = block.slice(0, done)
        return [Block(Rows.joined(lists), whole.cursor, whole.origin)]

    def _looped(
        self,
        block: Block,
        numbers: Sequence[int],
        tally: Tally,
        start_s: float,
        patience: Patience,
        *,
        is_stacked: bool,
    ) -> tuple[list[BlockOrFailure], int]:
        taken = Taken.of(block.payload, self._whole.kinds)
        is_stacked = is_stacked and not self._whole.has_only_filters
        through = Pass(self._whole, block, numbers, tally, is_stacked=is_stacked)
        through.run(taken, start_s, patience._replace(rows_a_look=self.learned.rows_a_look))
        rows = int(LOOK_S * through.done / (time.perf_counter() - start_s + 1e-9))
        self.learned.rows_a_look = max(1, min(self.policy.rows_a_look, rows))
        if is_stacked and self.learned.is_to_look_at and through.pieces:
            last = through.pieces[-1]
            if isinstance(last, Block):
                self.learned.look_at(last.payload.rows()[-1])
        return through.pieces, through.done

    def make(self, block: Block) -> list[BlockOrFailure]:
        """Returns what becomes of a block in a worker."""
        return self.run(block, (), Tally.of(len(self.links)), time.perf_counter(), in_worker=True)[0]

    # ------------------------------------------------------------------------------------------------ link by link

    def in_turns(
        self, block: Block, numbers: Sequence[int], tally: Tally, turns: Sequence[OwnTurn | None]
    ) -> tuple[list[BlockOrFailure], int]:
        """Returns what becomes of the first elements of a block, and how many they are: each link waits for a turn of its own."""
        done = min(len(block), _FEW)
        pieces: list[BlockOrFailure] = [block.slice(0, done)]
        for link, turn in enumerate(turns):
            through = functools.partial(self._through, link, pieces, 0, numbers, tally)
            pieces = through() if turn is None else turn.call(through)
        return pieces, done

    def _probed(self, block: Block, numbers: Sequence[int], tally: Tally) -> list[BlockOrFailure]:
        """Takes the first elements of a block link by link, with a clock, and looks at what each returns."""
        forms: list[Form | None] = []
        pieces: list[BlockOrFailure] = [block]
        for link, kind in enumerate(self._kinds):
            start = time.perf_counter()
            pieces = self._through(link, pieces, 0, numbers, tally)
            tally.seconds[link] += time.perf_counter() - start
            if not self.learned.is_known:
                forms.append(_form_of_all(pieces) if kind == "map" else None)
        if not self.learned.is_known:
            self.learned.learn(forms)
        return pieces

    def go_on(self, link: int, one: Block, index: int, numbers: Sequence[int], tally: Tally) -> list[BlockOrFailure]:
        """Returns what becomes of one element, of that index in its block, after one of the links gave it."""
        pieces: list[BlockOrFailure] = [one]
        for after in range(link + 1, len(self.links)):
            pieces = self._through(after, pieces, index, numbers, tally)
        return pieces

    def _through(
        self, link: int, pieces: Sequence[BlockOrFailure], index: int, numbers: Sequence[int], tally: Tally
    ) -> list[BlockOrFailure]:
        """Returns what a link makes of blocks, and the failures between them; ``index`` is that of the first element."""
        made: list[BlockOrFailure] = []
        kind = self._kinds[link]
        for piece in pieces:
            if not isinstance(piece, Block):
                made.append(piece)
                index += 1
                continue
            first = [numbers[self._kinds[:link].count("enumerate")] + index] if kind == "enumerate" else []
            single = self._singles[link]
            through = Pass(single, piece, first, tally)
            through.run(Taken.of(piece.payload, single.kinds), time.perf_counter(), Patience.endless(len(piece)))
            made += through.pieces
            index += len(piece)
        return made


def _form_of_all(pieces: Sequence[BlockOrFailure]) -> Form | None:
    """Returns the form of all these elements, if they have one."""
    rows = [row for piece in pieces if isinstance(piece, Block) for row in piece.payload.rows()]
    form = form_of(rows[0]) if rows else None
    for row in rows[1:]:
        form = None if form is None else joined_form(form, form_of(row))
    return form


class _Whole(Part):
    """All links of a chain."""

    def __init__(self, links: Sequence[Link], chain: Chain) -> None:
        super().__init__(links, 0)
        self._chain = chain

    def loop(self, head: Head, *, is_stacked: bool) -> Loop:
        return self._chain.learned.loop(head, is_stacked=is_stacked)

    def misfit(self) -> None:
        self._chain.learned.misfit()

    def surprised(self, link: int, result: Element, row: Element, kind: type, ids: Any) -> None:
        self._chain.learned.surprised(link, result, row, kind, ids)

    def went_past(
        self, link: int, one: Block, index: int, numbers: Sequence[int], tally: Tally
    ) -> list[BlockOrFailure]:
        return self._chain.go_on(link, one, index, numbers, tally)


def is_chainable(node: Map | RandomMap) -> bool:
    """Returns whether a map's function is called on one element after the other, for as long as it takes."""
    return node.timeout_s is None and not isinstance(node.function, Vectorized)
