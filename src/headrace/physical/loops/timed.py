"""One map over a block where each element has a deadline of its own: by a thread of the run's that is left behind where it hangs.

An element that was not done in time is a failure in its place. What was made before it stays, and what comes after it is made by
another thread.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.origin import named
from headrace.blocks.payload import Rows
from headrace.elements.function_results import owned
from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.observe.frames import holds, since
from headrace.physical.loops.failing import failure_of, instead_of
from headrace.plan.elementwise import Map
from headrace.plan.vectorized import Vectorized
from headrace.semantics.calls import call_function, call_on, call_whole, packed
from headrace.semantics.timed_calls import Overtime, not_in_time

__all__ = ["Noted", "TimedMap", "failed_in_time", "pieces_of"]

# An element, or why there is none.
Made = Element | Failure
T = TypeVar("T")


class Noted(Protocol):
    """Where it is noted what a thread is at."""

    def begin(self, index: int | None) -> None:
        """Notes that a function is called on an element from now on; None for all elements."""
        ...

    def end(self) -> None:
        """Notes that it has returned, or failed."""
        ...


class Calls(Protocol):
    """What does work that may take so long on each element."""

    def call(self, work: Callable[[Noted], T], limit_s: float) -> T:
        """Returns what it returns.

        Raises:
            Overtime: an element took longer.
        """
        ...


@frozen
class TimedMap:
    """A map whose function has a timeout.

    Attributes:
        node: it.
        callers: what calls it, in threads; or here, in a process whose elements somebody else times.
    """

    node: Map
    callers: Calls

    def make(self, block: Block) -> list[BlockOrFailure]:
        """Returns what becomes of a block."""
        limit_s = self.node.timeout_s
        assert limit_s is not None  # of what is timed
        if isinstance(self.node.function, Vectorized) and len(block) > 1:
            try:
                whole = self.callers.call(functools.partial(called_whole, self.node, block), limit_s)
            except Overtime:  # perhaps all of them together
                whole = None
            if whole is not None:
                return [whole]
        made: list[Made] = []
        while len(made) < len(block):
            rest = block.slice(len(made), len(block)) if made else block
            fresh: list[Made] = []
            try:
                self.callers.call(functools.partial(called_singly, self.node, rest, fresh), limit_s)
            except Overtime as late:
                made += fresh[: late.index]
                made.append(failed_in_time(self.node, block, len(made), limit_s, late.stack))
            else:
                made += fresh
        return pieces_of(made, block)


@holds(lambda at, _: (at["node"].label, named(at["block"].origin.describe(at["index"]), at["row"])))
@since("since_s")
def called_singly(node: Map, block: Block, made: list[Made], progress: Noted) -> None:
    """Calls the function on one element after the other, and puts into the list what becomes of each."""
    index = -1
    for row in block.payload.rows():
        index += 1  # not enumerate, which would hold the row: it would seem to be somebody else's
        result: Element = None
        failed: Exception | None = None
        since_s = time.perf_counter()  # noqa: F841 - for the report of what is held up
        progress.begin(index)
        try:
            if isinstance(node.function, Vectorized):
                result = call_function(node.function, row)
            else:
                result = call_on(node.function, row)
                result = owned(result, row, lists=1)
                result = packed(result)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            failed = error
        progress.end()
        if failed is None:
            made.append(result)
        else:
            made.append(_instead(node, failure_of(failed, node, block, index), block, index))
        result = failed = None


def called_whole(node: Map, block: Block, progress: Noted) -> Block | None:
    """Calls a vectorized function on all elements at once; returns None where it fails, as it may on some of them alone."""
    assert isinstance(node.function, Vectorized)  # the caller has looked
    progress.begin(None)
    try:
        payload = call_whole(node.function, block.payload)
    except Exception:  # noqa: BLE001 - a user's function may raise anything
        payload = None
    progress.end()
    return None if payload is None else Block(payload, block.cursor, block.origin)


def failed_in_time(node: Map, block: Block, index: int, limit_s: float, stack: str) -> Made:
    """Returns what takes the place of an element of a block that was not done in time."""
    return _instead(node, failure_of(not_in_time(limit_s, stack), node, block, index), block, index)


def _instead(node: Map, failure: Failure, block: Block, index: int) -> Made:
    if not callable(node.on_error):
        return failure
    instead = instead_of(node, failure, block, index)
    return instead.rows()[0] if isinstance(instead, Rows) else instead


def pieces_of(made: list[Made], block: Block) -> list[BlockOrFailure]:
    """Returns what became of the elements of a block: blocks, and the failures between them."""
    pieces: list[BlockOrFailure] = []
    start = 0
    for is_failure, run in itertools.groupby(made, lambda one: type(one) is Failure):
        some = list(run)
        if is_failure:
            pieces += some
        else:
            origin = block.origin.subset(range(start, start + len(some)))
            pieces.append(Block(Rows(some), block.cursor.advance(start), origin))
        start += len(some)
    return pieces
