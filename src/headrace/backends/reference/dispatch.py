"""From plan nodes to reference streams: the cases stand in the modules beside this one, a family of operations each."""

from __future__ import annotations

from headrace.backends.reference.counted import counted
from headrace.backends.reference.stream import Stream
from headrace.blocks.cursor import State
from headrace.plan.cases import cases
from headrace.plan.node import Node
from headrace.semantics.failures import not_run
from headrace.semantics.run_context import RunContext

__all__ = ["stream_of"]


def _counted(stream: Stream, node: Node, _: State | None, context: RunContext) -> Stream:
    meter = context.known_meter(node)
    return stream if meter is None else counted(stream, meter, context.meters.inside)


@cases(afterwards=_counted)
def stream_of(node: Node, state: State | None, context: RunContext) -> Stream:
    """Makes the stream of a node, at the position that the state says; what it gives is counted."""
    raise not_run(node)
