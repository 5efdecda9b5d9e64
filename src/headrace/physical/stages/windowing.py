"""The stage of window: runs of consecutive elements, each as a dataset.

The state is the position of the first element of the next window, and nothing else: what the window holds is read again from
there. A failure takes every window with it that would hold the element, as in tf.data; between windows it is passed over.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, IndexCursor, State
from headrace.blocks.handing_out import handed_out, protected
from headrace.blocks.joining import join
from headrace.blocks.origin import Indices, Origin, subset
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import Element, TreeDef
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.block_builder import BlockBuilder, WeighedRows
from headrace.physical.context import StageContext
from headrace.physical.input_history import GroupOrigin, InputHistory, InputRuns, position_in
from headrace.physical.lower import lower
from headrace.physical.made import MOST_BYTES
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.sources import FIRST_ELEMENTS
from headrace.plan.windowing import Window, WindowContents, WindowElements
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding
from headrace.semantics.window_contents import WindowBlock, at_hand, leaves_of_all
from headrace.semantics.windowing import window_element, window_rows

__all__ = ["WindowContentsStage", "WindowOrigin", "WindowStage"]


class WindowStage(Stage):
    """Runs of consecutive elements, each as a dataset."""

    def __init__(self, node: Window, input_stage: Stage, meter: Meter, *, holding: Holding) -> None:
        self._holding = holding
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._node = node
        self._reads = InputHistory(input_stage.cursor)
        self._first = 0  # the index of the element with which the next window begins
        self._payloads: list[Payload] = []  # the elements from there on, without those that failed
        self._failures: dict[int, HeadraceError] = {}
        self._input_ended = False
        self._ready: list[Block | Failure] = []  # reversed: the next one is last

    def _pull(self, limit: int) -> Item:
        if not self._ready:
            self._ready = self._windows(limit)[::-1]
        return self._ready.pop() if self._ready else None

    def _windows(self, limit: int) -> list[Block | Failure]:
        """Makes up to ``limit`` windows, in pieces where one of them failed."""
        step = self._node.step
        self._read_up_to(self._first + max((limit - 1) * step + self._node.span, limit * step))
        # Only then: a join may copy, and a copy of what is read-only is not.
        payload = protected(at_hand(join(self._payloads))) if self._payloads else Rows([])
        begins = range(self._first, self._first + step * min(limit, self._begun()), step)
        made = self._made(begins, payload) if begins else []
        self._forget_before(begins.stop if begins else self._first, payload)
        return made

    def _made(self, begins: range, payload: Payload) -> list[Block | Failure]:
        indices = self._indices(begins)
        leaves = leaves_of_all(payload)
        if leaves is None:
            return self._one_by_one(begins, indices, payload)
        made: list[Block | Failure] = []
        origins = self._origins(len(payload))
        first = 0
        for index, error in [*self._failed_windows(begins), (len(begins), None)]:
            if first < index:
                part = slice(first, index)
                made.append(self._alike(begins[part], indices[part], leaves, origins, payload.nbytes))
            if error is not None:
                made.append(Failure(error, *self._positions(begins[index])))
            first = index + 1
        return made

    def _read_up_to(self, end: int) -> None:
        while self._reads.index < end and not self._input_ended:
            item = self._read(self.inputs[0], end - self._reads.index)
            if item is None:
                self._input_ended = True
                return
            index = self._reads.add(item)
            if isinstance(item, Failure):
                self._failures[index] = item.error
            else:
                self._payloads.append(item.payload)

    def _begun(self) -> int:
        """Returns how many windows begin in what was read; if the rest is dropped, how many are whole."""
        node, have = self._node, self._reads.index - self._first
        if node.drop_remainder:
            return max(0, (have - node.span) // node.step + 1)
        return max(0, -(-have // node.step))

    def _failed_windows(self, begins: range) -> list[tuple[int, HeadraceError]]:
        """Returns which of the windows hold a failure, and the first that they hold."""
        if not self._failures:
            return []
        found = [(index, self._failure_in(self._members(begin))) for index, begin in enumerate(begins)]
        return [(index, error) for index, error in found if error is not None]

    def _members(self, begin: int) -> range:
        """Returns the indices of the elements of a window."""
        return range(begin, min(begin + self._node.span, self._reads.index), self._node.stride)

    def _failure_in(self, members: range) -> HeadraceError | None:
        return next((self._failures[index] for index in members if index in self._failures), None)

    def _alike(
        self,
        begins: range,
        indices: list[Indices],
        leaves: tuple[TreeDef, list[Payload]],
        origins: Origin,
        nbytes: int,
    ) -> Block:
        """Makes windows of elements of one structure, none of which failed."""
        treedef, payloads = leaves
        if isinstance(payloads[0], Rows) and (nbytes > MOST_BYTES or self._node.step >= 2 * self._node.span):
            # Each holds its own alone: who keeps one window, as a shuffle does, does not keep all elements of the block.
            theirs = [origins.subset(part) for part in indices]
            held = [
                [WindowBlock.of(payload.subset(part), of) for part, of in zip(indices, theirs, strict=True)]
                for payload in payloads
            ]
        else:
            held = [[WindowBlock(payload, origins, part) for part in indices] for payload in payloads]
        rows = window_rows(self._node, treedef, held, len(indices))
        cursor = _WindowsCursor(self._reads.runs, begins.start, begins.step, self._reads.index)
        return Block(WeighedRows(rows, nbytes), cursor, _WindowsOrigin(origins, indices))

    def _one_by_one(self, begins: range, indices: list[Indices], payload: Payload) -> list[Block | Failure]:
        """Makes windows of elements that may differ in structure."""
        made = BlockBuilder(payload.nbytes)
        origins = self._origins(len(payload))
        for begin, part in zip(begins, indices, strict=True):
            window = self._window(begin, WindowBlock(payload, origins, part))
            if isinstance(window, HeadraceError):
                made.fail(Failure(window, *self._positions(begin)))
            else:
                made.add(window, (origins.subset(part), len(part)), *self._positions(begin))
        return made.finish()

    def _window(self, begin: int, held: WindowBlock) -> Element | HeadraceError:
        """Makes a window; returns the first failure among its elements if there is one."""
        failure = self._failure_in(self._members(begin)) if self._failures else None
        if failure is not None:
            return failure
        try:
            return window_element(self._node, held)
        except Exception as error:  # noqa: BLE001 - an element's own methods may raise anything
            origin = _WindowsOrigin(held.origins, [held.indices]).describe(0)
            return as_element_error(error, stage=self._node.label, origin=origin)

    def _positions(self, begin: int) -> tuple[Cursor, Cursor]:
        """Returns the position before a window, and that after it."""
        after = min(begin + self._node.step, self._reads.index)
        return self._reads.position(begin), self._reads.position(after)

    def _indices(self, begins: range) -> list[Indices]:
        """Returns where in the payload the elements of windows are, those that failed aside."""
        span, stride, first, end = self._node.span, self._node.stride, self._first, self._reads.index
        if not self._failures:
            return [range(begin - first, min(begin + span, end) - first, stride) for begin in begins]
        failed = sorted(self._failures)
        whole = [[index for index in self._members(begin) if index not in self._failures] for begin in begins]
        return [
            np.array([index - first - bisect.bisect(failed, index) for index in part], dtype=np.int64) for part in whole
        ]

    def _origins(self, count: int) -> Origin:
        """Returns where the elements of the payload came from."""
        if not self._failures:
            return self._reads.origins(range(self._first, self._first + count))
        read = range(self._first, self._reads.index)
        return self._reads.origins(np.array([index for index in read if index not in self._failures], dtype=np.int64))

    def _forget_before(self, index: int, payload: Payload) -> None:
        """Drops what no window needs any more."""
        index = min(index, self._reads.index)
        gone = index - self._first - sum(failed < index for failed in self._failures)
        self._payloads = [payload.subset(range(gone, len(payload)))] if gone < len(payload) else []
        self._failures = {failed: error for failed, error in self._failures.items() if failed >= index}
        self._reads.forget_before(index)
        self._first = index
        # A window is one element, which always passes; it leaves less to what reads ahead.
        self._holding.hold(sum(payload.nbytes for payload in self._payloads), tuple, count=1)

    def close(self) -> None:
        self._holding.release()
        super().close()


@frozen
class _WindowsCursor:
    """Before one of the windows of a block, the first of which begins at this index of the input."""

    runs: InputRuns
    begin: int
    step: int
    end: int

    def advance(self, count: int) -> _WindowsCursor:
        return _WindowsCursor(self.runs, self.begin + count * self.step, self.step, self.end)

    def state(self) -> State:
        return position_in(self.runs, min(self.begin, self.end)).state()


@frozen
class _WindowsOrigin:
    """Windows, by what they hold of a payload."""

    elements: Origin
    windows: Sequence[Indices]

    def subset(self, indices: Indices) -> _WindowsOrigin:
        return _WindowsOrigin(self.elements, [self.windows[index] for index in indices])

    def describe(self, index: int) -> str:
        held = self.windows[index]
        return GroupOrigin([(self.elements.subset(held), len(held))]).describe(0)


@frozen
class WindowOrigin:
    """Where held elements came from."""

    elements: WindowElements
    indices: Indices

    def subset(self, indices: Indices) -> WindowOrigin:
        return WindowOrigin(self.elements, subset(self.indices, indices))

    def describe(self, index: int) -> str:
        return self.elements.origin(int(self.indices[index]))


class WindowContentsStage(Stage):
    """The elements that are held, by index."""

    by_index = True
    first_elements = FIRST_ELEMENTS

    def __init__(self, elements: WindowElements, meter: Meter, index: int) -> None:
        super().__init__(meter, (), IndexCursor(index))
        self._payload = elements.payload if isinstance(elements, WindowBlock) else Rows(list(elements.rows()))
        self._origin = WindowOrigin(elements, range(len(elements)))
        self._index = index

    def _is_spent(self) -> bool:
        return self._index >= len(self._payload)

    def _pull(self, limit: int) -> Item:
        part = range(self._index, min(self._index + limit, len(self._payload)))
        if not part:
            return None
        self._index = part.stop
        return Block(handed_out(self._payload.subset(part)), IndexCursor(part.start), self._origin.subset(part))


@lower.register
def _held(node: WindowContents, state: State | None, context: StageContext) -> Stage:
    return WindowContentsStage(node.elements, context.meter(node), state["index"] if state else 0)


@lower.register
def _window(node: Window, state: State | None, context: StageContext) -> Stage:
    # What a window holds is read again.
    upstream = lower(node.input, state, context.replaying())
    return WindowStage(node, upstream, context.meter(node), holding=context.holding(node, ""))
