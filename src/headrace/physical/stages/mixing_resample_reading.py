"""One reading of the input of rejection_resample: its elements with their classes.

A block goes on as it came, and beside it stand the classes of its elements, as numbers for Python and as an array to judge by. What has no
class because the function failed has that failure in its place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Rows
from headrace.elements.ownership import read_only_rows
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.frames import counts, holds
from headrace.physical.loop_policy import Patience
from headrace.physical.stage import Item, Stage
from headrace.plan.mixing import RejectionResample
from headrace.semantics.failures import as_element_error
from headrace.semantics.mixing import class_of

__all__ = ["FAILED", "Classed", "ClassedReading", "Place"]

FAILED = -1  # in an array of classes, where the element has none


@frozen(eq=False)
class Place:
    """Where elements are, and where they came from; it outlives the elements."""

    cursor: Cursor
    origin: Origin


@frozen(eq=False)
class Classed:
    """Consecutive elements with their classes.

    Attributes:
        rows: the elements.
        items: of each its class, or its failure.
        classes: the same (intp), with ``FAILED`` for a failure.
        place: where they are.
    """

    rows: list[Element]
    items: list[int | HeadraceError]
    classes: np.ndarray
    place: Place


class ClassedReading:
    """One reading of the input.

    Attributes:
        label: of the operation.
        head: what was read last, or None.
        index: of the next element in that.
    """

    def __init__(self, node: RejectionResample, stage: Stage, read: Callable[[Stage, int], Item]) -> None:
        self._node = node
        self.label = node.label
        self._stage = stage
        self._read = read
        self._rest: Block | None = None  # of a block of which the first ones took long
        self.head: Classed | None = None
        self.index = 0

    @property
    def cursor(self) -> Cursor:
        """The position of the next element."""
        base, index = self.position
        return base.advance(index)

    @property
    def position(self) -> tuple[Cursor, int]:
        """The position of the next element, as some elements after another."""
        if self.head is not None:
            return self.head.place.cursor, self.index
        return (self._stage.cursor if self._rest is None else self._rest.cursor), 0

    def look(self, limit: int, patience: Patience) -> Classed | None:
        """Returns the elements of which the next one is; reads a block, and asks for the classes of its first ones, if there are none."""
        if self.head is None:
            item = self._rest or self._read(self._stage, limit)
            self.index, self._rest = 0, None
            if isinstance(item, Block):
                self.head = self._classed(item, patience)
            elif isinstance(item, Failure):
                nowhere = Place(item.cursor, Rows([None]))  # type: ignore[arg-type]  # nobody asks where a failure came from
                self.head = Classed([None], [item.error], np.array([FAILED]), nowhere)
        return self.head

    def pass_to(self, index: int) -> None:
        """Goes on to another element of what was read, or after all of it."""
        assert self.head is not None  # the caller has looked
        self.index = index
        if index >= len(self.head.items):
            self.head = None

    def _classed(self, block: Block, patience: Patience) -> Classed:
        rows = block.payload.rows()
        kinds = block.payload.kinds if isinstance(block.payload, Rows) else None
        items, classes = self._found(block, rows, read_only_rows(rows, kinds), patience)
        if len(items) < len(rows):
            self._rest = block.slice(len(items), len(block))
        return Classed(rows, items, classes, Place(block.cursor, block.origin))

    @holds(lambda at, done: (at["self"].label, at["block"].origin.describe(len(at["items"]) + done)))
    def _found(
        self, block: Block, rows: list[Element], shown: list[Element], patience: Patience
    ) -> tuple[list[int | HeadraceError], np.ndarray]:
        """Returns the classes of the elements of a block, or their failures; fewer where they take long."""
        items: list[int | HeadraceError] = []
        failed = False
        has_tuples = block.payload.has_tuples is not False
        while len(items) < len(rows):
            classes, error = _classes(
                self._node, shown[len(items) :] if items else shown, patience, has_tuples=has_tuples
            )
            items += classes
            if error is not None:
                failed = True
                items.append(as_element_error(error, stage=self.label, origin=block.origin.describe(len(items))))
            if patience.is_over:
                break
        if not failed:
            return items, np.fromiter(items, np.intp, len(items))
        return items, np.array([item if type(item) is int else FAILED for item in items], np.intp)


@counts("classes")
def _classes(
    node: RejectionResample, rows: list[Element], patience: Patience, *, has_tuples: bool
) -> tuple[list[int], Exception | None]:
    """Returns the classes of elements up to the first that has none, and that error; what the function does to one, nobody after it sees."""
    class_func, count = node.class_func, len(node.target_dist)
    classes: list[int] = []
    try:
        for some in patience.looks(rows):
            if has_tuples:
                for element in some:
                    answer = class_func(*element) if type(element) is tuple else class_func(element)
                    classes.append(answer if type(answer) is int and 0 <= answer < count else class_of(answer, count))
                continue
            for element in some:
                answer = class_func(element)
                classes.append(answer if type(answer) is int and 0 <= answer < count else class_of(answer, count))
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return classes, error
    return classes, None
