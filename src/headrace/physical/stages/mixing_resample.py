"""The stage of rejection_resample: elements as they come, and elements that were judged, mixed.

The input is read twice, as in tf.data. An element of the first reading is taken as it comes; one of the second is
accepted or rejected by its class. Where the input's proportions are not given they are estimated from the second
reading, a group of elements at a time: the counts before a group are the state, and the group is read again.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Final

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Rows
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.lower import lower
from headrace.physical.passing import Passing
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.mixing_resample_reading import Classed, ClassedReading, Place
from headrace.plan.mixing import RejectionResample
from headrace.semantics.mixing import (
    CLASSES_AT_ONCE,
    SMOOTHING,
    TINY,
    readings,
    resample_keys,
    uniforms,
)
from headrace.semantics.random_streams import Key

__all__ = ["ResampleStage"]

UNREAD: Final = -1  # elements of a group that was not read yet


@frozen(eq=False)
class _Group:
    """Elements of the second reading that are judged by one estimate.

    Attributes:
        cursor: the position before them.
        counts: the classes seen before them.
        judged: how many elements were judged before them.
        length: how many they are.
        after: the position after them.
        seen: the classes seen with them.
        estimates: whether the proportions are estimated: then a position in them is the one before them and an offset, as
            all are needed for the estimate.
    """

    cursor: Cursor
    counts: list[int]
    judged: int
    length: int
    after: Cursor
    seen: list[int]
    estimates: bool

    def state(self, offset: int) -> State:
        """Writes down the position ``offset`` elements into it."""
        judged = self.judged + offset
        if offset == self.length:
            return {"judged": judged, "input": self.after.state(), "offset": 0, "counts": self.seen}
        if self.estimates:
            return {"judged": judged, "input": self.cursor.state(), "offset": offset, "counts": self.counts}
        return {"judged": judged, "input": self.cursor.advance(offset).state(), "offset": 0, "counts": self.counts}


@frozen(eq=False)
class _Point:
    """A position: the number of draws, the one in the first reading, as some elements after another, the one in the second, and the end."""

    draws: int
    original: tuple[Cursor, int]
    group: _Group
    offset: int
    ended: bool


# An element that was taken: where it lies, its index there, and in the second reading its group and offset in that. There is one with
# every element, so it is a tuple, and positions are made of them when they are asked for.
_Taken = tuple[Place, int, _Group | None, int]


@frozen
class _ResampleCursor:
    """So many elements after a position, after which these were taken."""

    began: _Point
    taken: Sequence[_Taken] = ()
    index: int = 0

    def advance(self, count: int) -> _ResampleCursor:
        return _ResampleCursor(self.began, self.taken, self.index + count)

    def state(self) -> State:
        began = self.began
        latest = self.taken[self.index - 1 :: -1] if self.index else ()
        original, read = next(
            ((place.cursor, at + 1) for place, at, group, _ in latest if group is None), began.original
        )
        judged = ((group, offset + 1) for _, _, group, offset in latest if group is not None)
        group, offset = next(judged, (began.group, began.offset))
        return {
            "draws": began.draws + self.index,
            "original": original.advance(read).state(),
            "ended": began.ended,
            **group.state(offset),
        }


@frozen
class _Origins:
    """Origins one by one."""

    taken: Sequence[_Taken]

    def subset(self, indices: Indices) -> _Origins:
        return _Origins([self.taken[index] for index in indices])

    def describe(self, index: int) -> str:
        place, at, *_ = self.taken[index]
        return place.origin.describe(at)


class _Numbers:
    """Uniform numbers by position, drawn many at a time: to make a generator costs as much as some thousand of them."""

    AT_ONCE = 4096

    def __init__(self, key: Key) -> None:
        self._key = key
        self._start = 0
        self._drawn = np.empty(0)

    def span(self, start: int, count: int) -> np.ndarray:
        """Returns as many numbers from a position on."""
        first = start - self._start
        if not (first >= 0 and first + count <= len(self._drawn)):
            first, self._start = 0, start
            self._drawn = uniforms(self._key, start, max(count, self.AT_ONCE))
        return self._drawn[first : first + count]


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
        self._original = ClassedReading(node, original, self._weak_read())
        self._second = ClassedReading(node, judged, self._weak_read())
        self._choosing, self._judging = map(_Numbers, resample_keys(key))
        self._estimates = node.initial_dist is None
        self._draws: int = state["draws"] if state else 0
        self._offset: int = state["offset"] if state else 0
        self._ended: bool = state["ended"] if state else False
        self._seen: list[int] = list(state["counts"]) if state else [SMOOTHING] * len(node.target_dist)
        # Those of the group that are accepted or fail, the next one last: the offset, what it was read with, and the index in that.
        self._chosen: list[tuple[int, Classed, int]] = []
        # One that nobody has read yet: not before the first element is asked for.
        before = state["judged"] - self._offset if state else 0
        self._group = _Group(judged.cursor, self._seen, before, UNREAD, judged.cursor, self._seen, self._estimates)
        self._rates, self._unjudged = acceptance(node, self._seen)
        self._held: Failure | None = None
        # Where it was chosen that a judged element comes next, while groups are read for it: their estimates choose nothing again.
        self._chosen_at: _Point | None = None
        super().__init__(meter, (original, judged), _ResampleCursor(self._here()))

    def _here(self) -> _Point:
        return self._chosen_at or _Point(self._draws, self._original.position, self._group, self._offset, self._ended)

    def _pull(self, limit: int) -> Item:
        held, self._held = self._held, None
        if held is not None:
            return held
        began = self._here()
        pairs: list[Element] = []
        taken: list[_Taken] = []
        self._patience = self._policy.patience()
        while len(pairs) < limit and not self._ended and self._look(limit, is_first=not pairs):
            error = self._take(pairs, taken, limit - len(pairs))
            if error is not None:
                self._held = Failure(error, _ResampleCursor(began, taken, len(taken)), _ResampleCursor(self._here()))
                break
        if pairs:
            return Block(Rows(pairs, {tuple}), _ResampleCursor(began, taken), _Origins(taken))
        held, self._held = self._held, None
        return held

    def _look(self, limit: int, *, is_first: bool) -> bool:
        """Reads what the next draw needs; returns whether there is something, and it is not too late for it."""
        patience = self._patience
        if self._chosen_at is None:
            if self._group.length in (self._offset, UNREAD):
                if not is_first and patience.is_over:
                    return False
                self._read_group(limit)
            if self._choosing.span(self._draws, 1)[0] < self._unjudged:
                if self._original.head is None and not is_first and patience.is_over:
                    return False
                self._ended = self._original.look(limit, patience) is None
                self._draws += self._ended
                return not self._ended
            self._chosen_at = self._here() if not self._chosen else None
        return self._look_for_chosen(limit, is_first=is_first)

    def _look_for_chosen(self, limit: int, *, is_first: bool) -> bool:
        """Reads groups until a judged element is not rejected; returns the same."""
        while not self._chosen and self._group.length:
            self._offset = self._group.length
            if not is_first and self._patience.is_over:
                return False
            self._read_group(limit)
        self._ended = not self._chosen
        self._draws += self._ended
        return not self._ended

    def _take(self, pairs: list[Element], taken: list[_Taken], most: int) -> HeadraceError | None:
        """Takes elements of those that were read, as they are drawn; returns the failure of one that has no class."""
        group, chosen, unjudged = self._group, self._chosen, self._unjudged
        head, at = self._original.head, self._original.index
        at_hand = at if head is None else len(head.items)
        draws = 0
        error = None
        is_judged, self._chosen_at = self._chosen_at is not None, None  # the first one
        for number in self._choosing.span(self._draws, min(most, at_hand - at + len(chosen) + 1)).tolist():
            if draws and self._offset == group.length:  # another estimate chooses
                break
            if number < unjudged and not is_judged:
                if head is None or at == at_hand:
                    break
                source, index = head, at
                taken_as: _Taken = (head.place, at, None, 0)
                at += 1
            elif chosen:
                offset, source, index = chosen.pop()
                taken_as = (source.place, index, group, offset)
                self._offset = offset + 1
            else:
                break
            draws += 1
            is_judged = False
            item = source.items[index]
            if type(item) is not int:
                error = item
                break
            pairs.append((item, source.rows[index]))
            taken.append(taken_as)
        self._draws += draws
        if head is not None:
            self._original.pass_to(at)
        return error  # type: ignore[return-value]  # no class

    def _read_group(self, limit: int) -> None:
        """Reads the next group, and computes the rates, which count its classes too."""
        before = self._group
        judged = before.judged
        if before.length != UNREAD:
            judged, self._offset = judged + before.length, 0
        # Read first, so that the position is that of the block: the one after the block before knows nothing of this one.
        now_s = self._policy.clock.now_s
        wanted = max(self._passing.to_read(limit, is_free=False), CLASSES_AT_ONCE)
        begun_s = now_s()
        self._second.look(wanted, self._patience)
        cursor, seen = self._second.cursor, self._seen
        parts = self._parts(wanted)
        length = sum(stop - start for _, start, stop in parts)
        if self._estimates:
            for head, start, stop in parts:
                of_failures = head.classes[start:stop] + 1  # failures are class 0, which nobody counts
                seen = (np.bincount(of_failures, minlength=len(seen) + 1)[1:] + seen).tolist()
            self._seen = seen
            self._rates, self._unjudged = acceptance(self._node, seen)
        self._group = _Group(cursor, before.seen, judged, length, self._second.cursor, seen, self._estimates)
        self._chosen = self._not_rejected(parts)
        self._passing.observe(length, now_s() - begun_s, len(self._chosen))

    def _parts(self, wanted: int) -> list[tuple[Classed, int, int]]:
        """Reads the elements of the next group, in one part or several."""
        left = CLASSES_AT_ONCE if self._estimates else sys.maxsize
        parts = []
        while left and (head := self._second.look(wanted, self._patience)) is not None:
            start = self._second.index
            stop = min(start + left, len(head.items))
            self._second.pass_to(stop)
            parts.append((head, start, stop))
            left = left - (stop - start) if self._estimates else 0
        return parts

    def _not_rejected(self, parts: Sequence[tuple[Classed, int, int]]) -> list[tuple[int, Classed, int]]:
        """Returns those of the group that are accepted or fail, from its offset on, the next one last."""
        rates = np.array([*self._rates, math.inf])  # a failure, which is class -1, is never rejected
        offset = 0
        chosen: list[tuple[int, Classed, int]] = []
        for head, start, stop in parts:
            drawn = self._judging.span(self._group.judged + offset, stop - start)
            accepted = np.flatnonzero(drawn < rates[head.classes[start:stop]]).tolist()
            chosen += [(offset + at, head, start + at) for at in accepted if offset + at >= self._offset]
            offset += stop - start
        return chosen[::-1]


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
