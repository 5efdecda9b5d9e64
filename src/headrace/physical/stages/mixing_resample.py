"""The stage of rejection_resample: elements as they come, and elements that were judged, mixed.

The input is read twice, as in tf.data. An element of the first reading is taken as it comes; one of the second is
accepted or rejected by its class. Where the input's proportions are not given they are estimated from the second
reading, a group of elements at a time: the counts before a group are the state, and the group is read again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.origin import Indices, Origin
from headrace.blocks.payload import Rows
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.frames import counts, holds
from headrace.observe.meter import Meter
from headrace.ownership import read_only_rows
from headrace.physical.context import StageContext
from headrace.physical.loop_policy import LoopPolicy, Patience
from headrace.physical.loops.loop_stage import Passing
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.mixing import RejectionResample
from headrace.semantics.failures import as_element_error
from headrace.semantics.mixing import (
    CLASSES_AT_ONCE,
    SMOOTHING,
    TINY,
    class_of,
    readings,
    resample_keys,
    uniforms,
)
from headrace.semantics.random_streams import Key
from headrace.structure import Element

__all__ = ["ResampleStage"]

# The class of an element, the element, its block's origins and its index among them.
_Classed = tuple[int, Element, Origin, int]


@frozen
class _Group:
    """Elements of the second reading that are judged by one estimate: their position, and the classes seen before them."""

    cursor: Cursor
    counts: list[int]
    estimates: bool

    def state(self, offset: int) -> State:
        """Writes down the position ``offset`` elements into it; a group that an estimate needs is read again whole."""
        if self.estimates:
            return {"input": self.cursor.state(), "offset": offset, "counts": self.counts}
        return {"input": self.cursor.advance(offset).state(), "offset": 0, "counts": self.counts}


# A position: the number of draws; a cursor of the first reading, and how many elements later it is in that; how many elements were
# judged; in the second reading a group, and how far into it; whether all is over. There is one with every element, so it is a tuple.
_Point = tuple[int, Cursor, int, int, _Group, int, bool]


@frozen
class _ResampleCursor:
    """In elements for each of which the position is known, and that after the last one."""

    points: Sequence[_Point]
    index: int = 0

    def advance(self, count: int) -> _ResampleCursor:
        return _ResampleCursor(self.points, self.index + count)

    def state(self) -> State:
        draws, original, read, judged, group, offset, ended = self.points[self.index]
        return {
            "draws": draws,
            "original": original.advance(read).state(),
            "judged": judged,
            "ended": ended,
            **group.state(offset),
        }


@frozen
class _Origins:
    """Origins one by one: each is an element's index among others."""

    origins: Sequence[tuple[Origin, int]]

    def subset(self, indices: Indices) -> _Origins:
        return _Origins([self.origins[index] for index in indices])

    def describe(self, index: int) -> str:
        origin, inner_index = self.origins[index]
        return origin.describe(inner_index)


class _Reading:
    """One reading of the input, element by element, each with its class; a failure in place of one that has none."""

    def __init__(self, node: RejectionResample, stage: Stage, read: Callable[[Stage, int], Item]) -> None:
        self._node = node
        self.label = node.label
        self._stage = stage
        self._read = read
        self._head: Item = None
        self._rest: Block | None = None  # of a block of which the first ones took long
        self._items: list[_Classed | HeadraceError] = []  # of the head
        self._index = 0

    @property
    def cursor(self) -> Cursor:
        """The position of the next element."""
        base, index = self.position
        return base.advance(index)

    @property
    def position(self) -> tuple[Cursor, int]:
        """The position of the next element, as some elements after another."""
        if self._head is not None:
            return self._head.cursor, self._index
        return (self._stage.cursor if self._rest is None else self._rest.cursor), 0

    def look(self, limit: int, patience: Patience) -> None:
        """Reads a block, and asks for the classes of its first elements, unless some are there."""
        if self._head is None:
            self._head = self._rest or self._read(self._stage, limit)
            self._index, self._rest, self._items = 0, None, []
            if isinstance(self._head, Block):
                block = self._head
                self._items = self._classified(block, patience)
                done = len(self._items)
                if done < len(block):
                    self._head, self._rest = block.slice(0, done), block.slice(done, len(block))

    def next(self, limit: int, patience: Patience) -> _Classed | HeadraceError | None:
        """Returns the next element, or its failure; None at the end."""
        some = self.some(limit, 1, patience)
        return some[0] if some else None

    def some(self, limit: int, most: int, patience: Patience) -> list[_Classed | HeadraceError]:
        """Returns the next elements of a block, or their failures, at most so many; none at the end."""
        self.look(limit, patience)
        head, start = self._head, self._index
        self._index += most
        if self._index >= len(self._items):
            self._head = None
        if isinstance(head, Failure):
            return [head.error]
        return self._items[start : start + most]

    @holds(lambda at, done: (at["self"].label, at["block"].origin.describe(len(at["found"]) + done)))
    def _classified(self, block: Block, patience: Patience) -> list[_Classed | HeadraceError]:
        """Returns the elements of a block with their classes, or their failures; fewer where they take long."""
        rows, origin = block.payload.rows(), block.origin
        found: list[_Classed | HeadraceError] = []
        while len(found) < len(rows):
            classes, error = _classes(self._node, rows[len(found) :], patience)
            found += [
                (one, row, origin, at)
                for at, (one, row) in enumerate(zip(classes, rows[len(found) :], strict=False), len(found))
            ]
            if error is not None:
                found.append(as_element_error(error, stage=self.label, origin=origin.describe(len(found))))
            if patience.is_over:
                break
        return found


@counts("classes")
def _classes(node: RejectionResample, rows: list[Element], patience: Patience) -> tuple[list[int], Exception | None]:
    """Returns the classes of elements up to the first that has none, and that error."""
    class_func, count = node.class_func, len(node.target_dist)
    classes: list[int] = []
    try:
        for some in patience.looks(read_only_rows(rows)):  # what the function does to an element, nobody after it sees
            for element in some:
                answer = class_func(*element) if type(element) is tuple else class_func(element)
                classes.append(answer if type(answer) is int and 0 <= answer < count else class_of(answer, count))
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return classes, error
    return classes, None


class _Numbers:
    """Uniform numbers by position, drawn many at a time: to make a generator costs as much as a thousand of them."""

    AT_ONCE = 1024

    def __init__(self, key: Key) -> None:
        self._key = key
        self._start = 0
        self._drawn: list[float] = []

    def at(self, position: int) -> float:
        """Returns the number at a position, which is mostly one after the last that was asked for."""
        if not 0 <= position - self._start < len(self._drawn):
            self._start = position
            self._drawn = uniforms(self._key, position, self.AT_ONCE).tolist()
        return self._drawn[position - self._start]

    def span(self, start: int, count: int) -> list[float]:
        """Returns as many numbers from a position on."""
        first = start - self._start
        if first >= 0 and first + count <= len(self._drawn):
            return self._drawn[first : first + count]
        self._start = start
        self._drawn = uniforms(self._key, start, max(count, self.AT_ONCE)).tolist()
        return self._drawn[:count]


def acceptance(node: RejectionResample, counts: Sequence[int]) -> tuple[list[float], float]:
    """Returns how likely an element of each class is accepted, and how likely an element is taken unjudged.

    With p the proportions in the input and t those of the target, t/p is how often a class is wanted for each time it
    comes. The smallest of these ratios may be taken as it comes; the rest is made up by rejection.

    Args:
        node: what says the target, and the input's proportions where they are given.
        counts: how many of each class were seen; used where the input's proportions are not given.
    """
    total = sum(counts)
    initial = node.initial_dist or [count / total for count in counts]
    ratios = [wanted / (given + TINY) for wanted, given in zip(node.target_dist, initial, strict=True)]
    lowest, highest = min(ratios), max(ratios)
    if highest == lowest:
        return [1.0] * len(ratios), 1.0
    return [(ratio - lowest) / (highest - lowest) for ratio in ratios], lowest


class ResampleStage(Stage):
    """Elements as they come, and judged ones, in the proportion that the target asks for."""

    def __init__(
        self,
        node: RejectionResample,
        key: Key,
        original: Stage,
        judged: Stage,
        meter: Meter,
        state: State | None,
        policy: LoopPolicy,
    ) -> None:
        self._node = node
        self._policy = policy
        self._patience = policy.patience()  # of the pull
        self._passing = Passing()  # what part of elements is not rejected
        self._original = _Reading(node, original, self._read)
        self._second = _Reading(node, judged, self._read)
        self._choosing, self._judging = map(_Numbers, resample_keys(key))
        self._estimates = node.initial_dist is None
        self._draws: int = state["draws"] if state else 0
        self._judged: int = state["judged"] if state else 0
        self._offset: int = state["offset"] if state else 0
        self._ended: bool = state["ended"] if state else False
        self._seen: list[int] = list(state["counts"]) if state else [SMOOTHING] * len(node.target_dist)
        self._items: list[_Classed | HeadraceError] = []
        self._chosen: list[int] = []  # offsets in these of what is accepted or fails, the next one last
        self._is_read = False  # whether there is a group: not before the first element is asked for
        self._group = _Group(judged.cursor, self._seen, self._estimates)
        self._rates, self._unjudged = acceptance(node, self._seen)
        self._held: Failure | None = None
        super().__init__(meter, (original, judged), self._cursor())

    def _cursor(self) -> _ResampleCursor:
        return _ResampleCursor([self._here()])

    def _here(self) -> _Point:
        offset, group = self._offset, self._group
        if self._is_read and offset == len(self._items):
            offset, group = 0, _Group(self._second.cursor, self._seen, self._estimates)
        return (self._draws, *self._original.position, self._judged, group, offset, self._ended)

    def _pull(self, limit: int) -> Item:
        held, self._held = self._held, None
        if held is not None:
            return held
        rows: list[Element] = []
        origins: list[tuple[Origin, int]] = []
        positions = [self._here()]
        self._patience = self._policy.patience()
        while len(rows) < limit and not (rows and self._patience.is_over):
            given = self._next(limit)
            if given is None:
                break
            if isinstance(given, HeadraceError):
                failure = Failure(given, _ResampleCursor(positions[-1:]), self._cursor())
                if not rows:
                    return failure
                self._held = failure
                break
            class_index, element, origin, index = given
            rows.append((class_index, element))
            origins.append((origin, index))
            positions.append(self._here())
        return Block(Rows(rows), _ResampleCursor(positions), _Origins(origins)) if rows else None

    def _next(self, limit: int) -> _Classed | HeadraceError | None:
        """Returns the next element of the output, or a failure in its place; None at the end."""
        while not self._ended:
            if self._offset == len(self._items) or not self._is_read:
                self._read_group(limit)
            self._draws += 1
            if self._choosing.at(self._draws - 1) < self._unjudged:
                given = self._original.next(limit, self._patience)
            else:
                given = self._accepted(limit)
            self._ended = given is None
            return given
        return None

    def _accepted(self, limit: int) -> _Classed | HeadraceError | None:
        """Returns the next element of the second reading that is not rejected."""
        while self._items:
            if self._chosen:
                at = self._chosen.pop()
                self._judge(at + 1)
                return self._items[at]
            self._judge(len(self._items))
            self._read_group(limit)
        return None

    def _judge(self, offset: int) -> None:
        """Goes on to an offset in the group: the elements before it are judged."""
        self._judged += offset - self._offset
        self._offset = offset

    def _read_group(self, limit: int) -> None:
        """Reads the next group, and computes the rates, which count its classes too."""
        if self._is_read:
            self._offset = 0
        self._is_read = True
        # Read first, so that the position is that of the block: the one after the block before knows nothing of this one.
        now_s = self._policy.clock.now_s
        wanted = max(self._passing.to_read(limit, is_free=False), CLASSES_AT_ONCE)
        begun_s = now_s()
        self._second.look(wanted, self._patience)
        self._group = _Group(self._second.cursor, self._seen, self._estimates)
        most = CLASSES_AT_ONCE if self._estimates else sys.maxsize
        self._items = []
        while some := self._second.some(wanted, most - len(self._items), self._patience):
            self._items += some
            if len(self._items) == most or not self._estimates:
                break
        if self._estimates:
            self._seen = list(self._seen)
            for item in self._items:
                if not isinstance(item, HeadraceError):
                    self._seen[item[0]] += 1
            self._rates, self._unjudged = acceptance(self._node, self._seen)
        self._chosen = self._not_rejected()
        self._passing.observe(len(self._items), now_s() - begun_s, len(self._chosen))

    def _not_rejected(self) -> list[int]:
        """Returns the offsets in the group of what is accepted or fails, the next one last."""
        rates, rest = self._rates, self._items[self._offset :]
        drawn = self._judging.span(self._judged, len(rest))
        judged = enumerate(zip(rest, drawn, strict=True), self._offset)
        return [at for at, (item, number) in judged if type(item) is not tuple or number < rates[item[0]]][::-1]


@lower.register
def _resample(node: RejectionResample, state: State | None, context: StageContext) -> Stage:
    original, judged = readings(node, context.replaying())  # elements are read again, so they must come in order
    return ResampleStage(
        node,
        context.key(node),
        lower(node.input, state["original"] if state else None, original),
        lower(node.input, state["input"] if state else None, judged),
        context.meter(node),
        state,
        context.policy.loops,
    )
