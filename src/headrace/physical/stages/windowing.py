"""The stage of window: runs of consecutive elements, each as a dataset.

The state is the position of the first element of the next window, and nothing else: what the window holds is read again from
there. A failure takes every window with it that would hold the element, as in tf.data; between windows it is passed over.
"""

from __future__ import annotations

import bisect

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import IndexCursor, State
from headrace.blocks.handing_out import handed_out, protected
from headrace.blocks.joining import join
from headrace.blocks.origin import Indices, Origin, subset
from headrace.blocks.payload import Payload, Rows
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.block_builder import BlockBuilder
from headrace.physical.context import StageContext
from headrace.physical.input_history import GroupOrigin, InputHistory
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.sources import FIRST_ELEMENTS
from headrace.plan.windowing import Window, WindowContents, WindowElements
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding
from headrace.semantics.window_contents import WindowBlock
from headrace.semantics.windowing import window_element
from headrace.structure import Element

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
        payload = protected(join(self._payloads)) if self._payloads else Rows([])
        begins = range(self._first, self._first + step * min(limit, self._begun()), step)
        made = BlockBuilder(payload.nbytes)
        for begin in begins:
            window = self._window(begin, payload)
            position, after = self._reads.position(begin), self._reads.position(min(begin + step, self._reads.index))
            if isinstance(window, HeadraceError):
                made.fail(Failure(window, position, after))
            else:
                made.add(*window, position, after)
        self._forget_before(begins.stop if begins else self._first, payload)
        return made.finish()

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

    def _window(self, begin: int, payload: Payload) -> tuple[Element, tuple[Origin, int]] | HeadraceError:
        """Makes a window, with its origins and their number; returns the first failure among its elements if there is one."""
        node = self._node
        indices = range(begin, min(begin + node.span, self._reads.index), node.stride)
        if self._failures:
            failure = next((self._failures[index] for index in indices if index in self._failures), None)
            if failure is not None:
                return failure
        origin = self._reads.origins(indices)
        held = WindowBlock(payload.subset(self._indices(indices)), origin)
        try:
            return window_element(node, held), (origin, len(indices))
        except Exception as error:  # noqa: BLE001 - an element's own methods may raise anything
            return as_element_error(error, stage=node.label, origin=GroupOrigin([(origin, len(indices))]).describe(0))

    def _indices(self, indices: range) -> Indices:
        """Returns where in the payload the elements with these indices are."""
        if not self._failures:
            return range(indices.start - self._first, indices.stop - self._first, indices.step)
        failed = sorted(self._failures)
        return np.array([index - self._first - bisect.bisect(failed, index) for index in indices], dtype=np.int64)

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
