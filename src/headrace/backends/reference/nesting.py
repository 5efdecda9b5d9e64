"""The reference of operations whose function makes a dataset of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, called
from headrace.blocks.cursor import State, input_state
from headrace.coordination.closing import close_all
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.frozen import mutable
from headrace.observe import frames
from headrace.plan.nesting import FlatMap, Interleave
from headrace.semantics.failures import inside_element
from headrace.semantics.nesting import changed_since, inner_plan
from headrace.semantics.run_context import RunContext

__all__: list[str] = []

# Opens the plan that the function makes of an element: (element, its index, inner state) -> stream.
Open = Callable[[Any, int, State | None], Stream]


@mutable
class _Slot:
    index: int
    opener: State
    origin: str
    stream: Stream


class InterleaveStream:
    """Slots in turn, ``block_length`` elements each; flat_map is one slot whose turn never ends."""

    def __init__(
        self,
        node: FlatMap,
        input_stream: Stream,
        open_plan: Open,
        state: State | None,
    ) -> None:
        self.node = node
        self.label = node.label
        self.open_plan = open_plan
        self.block_length = node.block_length if isinstance(node, Interleave) else None
        cycle_length = node.cycle_length if isinstance(node, Interleave) else 1
        self.cycle = state["cycle"] if state else 0
        self.given = state["given"] if state else 0
        self.index = state["number"] if state else 0
        self.slots: list[_Slot | None] = [None] * (cycle_length or 1)
        self.input = input_stream
        self.input_ended = False

    def reopened(self, upstream: Stream, saved: State) -> _Slot:
        try:
            element, origin = upstream.next()
        except StopIteration:
            raise changed_since(self.node) from None
        upstream.close()
        stream = self.open_plan(element, saved["number"], saved["inner"])
        return _Slot(saved["number"], saved["opener"], origin, stream)

    def next(self) -> Given:
        while True:
            slot = self.slots[self.cycle] or self.filled()
            if slot is None:
                if not any(self.slots):
                    raise StopIteration
                self.visit_next()
                continue
            try:
                element, origin = self.inner(slot)
            except StopIteration:
                slot.stream.close()
                self.slots[self.cycle] = None
                self.visit_next()
                continue
            except HeadraceError as error:
                raise inside_element(error, slot.origin) from error.__cause__
            self.given += 1
            if self.given == self.block_length:
                self.visit_next()
            return element, origin if ":" in origin else f"{origin} of {slot.origin}"

    @frames.within(lambda at: at["slot"].origin)
    def inner(self, slot: _Slot) -> Given:
        """Returns the next element of a slot's dataset."""
        return slot.stream.next()

    def filled(self) -> _Slot | None:
        """Opens the next input's dataset in the slot whose turn it is."""
        if self.input_ended:
            return None
        opener = self.input.state()
        try:
            element, origin = self.input.next()
        except StopIteration:
            self.input_ended = True
            return None
        except HeadraceError:
            self.index += 1
            raise
        index, self.index = self.index, self.index + 1
        stream = called(self.label, origin, lambda: self.open_plan(element, index, None), takes_parts=True)
        slot = self.slots[self.cycle] = _Slot(index, opener, origin, stream)
        return slot

    def visit_next(self) -> None:
        self.cycle, self.given = (self.cycle + 1) % len(self.slots), 0

    def state(self) -> State:
        return {
            "cycle": self.cycle,
            "given": self.given,
            "number": self.index,
            "slots": [
                slot and {"number": slot.index, "opener": slot.opener, "inner": slot.stream.state()}
                for slot in self.slots
            ],
            "input": self.input.state(),
        }

    def close(self) -> None:
        close_all([*(slot.stream.close for slot in self.slots if slot is not None), self.input.close])


@stream_of.register
def _interleave(node: FlatMap, state: State | None, context: RunContext) -> Stream:
    above = stream_of(node.input, input_state(state), context)
    stream = InterleaveStream(node, above, _opener(node, context), state)
    for index, saved in enumerate(state["slots"] if state else ()):
        if saved is not None:
            stream.slots[index] = stream.reopened(stream_of(node.input, saved["opener"], context), saved)
    return stream


def _opener(node: FlatMap, context: RunContext) -> Open:
    def open_plan(element: Element, index: int, saved: State | None) -> Stream:
        plan, inside = inner_plan(node, element, index, context)
        return stream_of(plan, saved, inside)

    return open_plan
