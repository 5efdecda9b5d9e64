"""The reference of what notes the elements that pass."""

from __future__ import annotations

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary
from headrace.blocks.cursor import State
from headrace.plan.looking import Noted, Tap
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


class TapStream(Unary):
    """The same elements, noted."""

    def __init__(self, noted: Noted, input_stream: Stream) -> None:
        super().__init__(input_stream)
        self.noted = noted

    def next(self) -> Given:
        given = self.input.next()
        self.noted.note(given[0])
        return given


@stream_of.register
def _tap(node: Tap, state: State | None, context: RunContext) -> Stream:
    return TapStream(node.noted, stream_of(node.input, state, context))
