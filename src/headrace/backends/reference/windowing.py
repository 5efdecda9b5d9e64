"""The reference of operations that make datasets of runs and of groups of elements."""

from __future__ import annotations

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary, called
from headrace.errors import HeadraceError
from headrace.physical.context import Context
from headrace.physical.cursor import State
from headrace.physical.holding import HeldRows
from headrace.physical.origin import grouped
from headrace.physical.windowing import window_element
from headrace.plan.windowing import Held, Window
from headrace.structure import read_only

__all__: list[str] = []


class HeldStream:
    """Elements at hand."""

    def __init__(self, node: Held, state: State | None) -> None:
        self.elements = node.elements
        self.index = state["index"] if state else 0

    def next(self) -> Given:
        if self.index >= len(self.elements):
            raise StopIteration
        self.index += 1
        return self.elements.rows()[self.index - 1], self.elements.origin(self.index - 1)

    def state(self) -> State:
        return {"index": self.index}

    def close(self) -> None: ...


class WindowStream(Unary):
    """Every ``shift`` elements a window begins; a failure takes the windows with it that would hold the element."""

    def __init__(self, node: Window, input_stream: Stream) -> None:
        super().__init__(input_stream)
        self.node = node
        self.read: list[tuple[Given | HeadraceError, State]] = []  # from the next window's first element on

    def next(self) -> Given:
        node = self.node
        self.read_up_to(max(node.span, node.step))
        window = [item for item, _ in self.read[: node.span : node.stride]]
        if not window or (node.drop_remainder and len(window) < node.size):
            raise StopIteration
        del self.read[: node.step]
        members: list[Given] = []
        for item in window:
            if isinstance(item, HeadraceError):
                raise item
            members.append(item)
        held = HeldRows([read_only(element) for element, _ in members], [origin for _, origin in members])
        origin = grouped(held.origins[0], held.origins[-1], len(held))
        return called(node.label, origin, lambda: window_element(node, held)), origin

    def read_up_to(self, count: int) -> None:
        while len(self.read) < count:
            place = self.input.state()
            try:
                item: Given | HeadraceError = self.input.next()
            except StopIteration:
                return
            except HeadraceError as error:
                item = error
            self.read.append((item, place))

    def state(self) -> State:
        return self.read[0][1] if self.read else self.input.state()


@stream_of.register
def _held(node: Held, state: State | None, context: Context) -> Stream:
    return HeldStream(node, state)


@stream_of.register
def _window(node: Window, state: State | None, context: Context) -> Stream:
    return WindowStream(node, stream_of(node.input, state, context))
