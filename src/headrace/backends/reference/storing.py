"""The reference of elements that were saved."""

from __future__ import annotations

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.sources import IndexedStream
from headrace.backends.reference.stream import Stream
from headrace.blocks.cursor import State
from headrace.plan.storing import Stored
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


@stream_of.register
def _stored(node: Stored, state: State | None, context: RunContext) -> Stream:
    return IndexedStream(node, state, context)
