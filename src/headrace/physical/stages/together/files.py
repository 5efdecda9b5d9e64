"""The form of small files, which are read one after the other, each to its end.

What always holds:
- A file is read once, unless its stage has more to tell than records: then it is not made together with others, and the stage reads it anew.
- No file is opened before those ahead of it were read.
"""

from __future__ import annotations

import time
from typing import Any, Final

from headrace.blocks.block import Block
from headrace.blocks.cursor import Cursor
from headrace.blocks.joining import join
from headrace.blocks.origin import IndexOrigin, Origin
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import TreeDef, flatten
from headrace.observe.frames import holds, since
from headrace.physical.at_once import MOST_ELEMENTS, SmallPlans
from headrace.physical.given import Cut, TakesLong
from headrace.physical.made import MOST_BYTES
from headrace.physical.stages.at_once.files import NO_SMALL_FILE, may_be_small, small_file
from headrace.physical.stages.files import AT_START
from headrace.physical.stages.together.forms import OpenersOrigin, Reading
from headrace.plan.files import Files

__all__ = ["FilesForm"]

# Of all plans together: no other file is opened then.
_ENOUGH_BYTES: Final = 16 * MOST_BYTES


class FilesForm(Reading):
    """The records of small files, of each plan one."""

    def __init__(self, node: Files) -> None:
        super().__init__(node)
        self._treedef: TreeDef = flatten(node.spec())[1]
        self._feeds_functions = False
        # Of each that was read: its block, or None where it is empty; where it begins; where its records came from; how many these are.
        self._blocks: list[Block | None] = []
        self._places: list[tuple[Cursor, Origin, int]] = []

    @classmethod
    def of(cls, node: Files) -> FilesForm | None:
        """Returns the form of a plan that reads one file; None where its records may be no more than elements."""
        return cls(node) if may_be_small(node) else None

    def feed_functions(self) -> None:
        self._feeds_functions = True

    def _reads_like(self, plan: Files) -> bool:
        node: Any = self.node
        return may_be_small(plan) and (plan.format is node.format or _is_same(plan.format, node.format))

    def settle(self) -> None:
        self.lengths = [count for _, _, count in self._places[: len(self.lengths)]]

    def cursor(self, index: int) -> Cursor:
        return self._places[index][0]

    def origin(self, index: int) -> Origin:
        return self._places[index][1]

    def call(self, openers: OpenersOrigin, small: SmallPlans, room: int, most_s: float) -> int:
        """Reads the files of all plans that were taken; returns of how many of them there are no more records than there is room for."""
        start_s = time.perf_counter()
        self._begun = list(self._plans)
        most = room if self._feeds_functions else MOST_ELEMENTS
        self._read_files(openers, most, start_s, start_s + most_s)
        records = sum([count for _, _, count in self._places])
        self.done = [(self.node, records, time.perf_counter() - start_s, 0.0)]
        self.lacks_room = bool(records) and self._places[-1][2] > most
        return len(self._places) - self.lacks_room

    @holds(lambda at, _: at["self"].place(at["openers"], at["number"]))
    @since("start_s")
    def _read_files(self, openers: OpenersOrigin, most: int, start_s: float, end_s: float) -> None:
        """Reads one after the other, up to the first one that is not small, or has more records than there is room for."""
        held = number = 0
        for number, plan in enumerate(self._plans):  # noqa: B007 - which it is, for who asks meanwhile
            block = small_file(plan, self._treedef, MOST_ELEMENTS)
            if block is NO_SMALL_FILE:
                return
            self._blocks.append(block)
            if block is None:
                self._places.append((AT_START, IndexOrigin(range(0)), 0))
                continue
            self._places.append((block.cursor, block.origin, len(block)))
            held += block.payload.nbytes
            if len(block) > most or held > _ENOUGH_BYTES or time.perf_counter() > end_s:
                return

    def place(self, openers: OpenersOrigin, number: int) -> tuple[str, str]:
        """Returns the operation, and the element whose file is being read."""
        origin, begun = openers
        return self.node.label, origin.describe(begun + number)

    def cuts(self, number: int) -> list[Cut]:
        if number >= len(self._blocks):
            return []
        block = self._blocks[number]
        return [TakesLong(self._begun[number], [], [] if block is None else [block])]

    def let_go(self) -> None:
        self._blocks = []

    def _called_on(self) -> Payload:
        payloads = [block.payload for block in self._blocks[: len(self.lengths)] if block is not None]
        return join(payloads) if payloads else Rows([])


def _is_same(one: object, other: object) -> bool:
    """Returns whether two formats read alike."""
    try:
        return type(one) is type(other) and (one == other) is True
    except Exception:  # noqa: BLE001 - of values of the user's, as defaults are
        return False
