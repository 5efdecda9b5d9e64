"""The reference of zip."""

from __future__ import annotations

import contextlib

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream
from headrace.blocks.cursor import State
from headrace.coordination.closing import close_all
from headrace.elements.structure import unflatten
from headrace.errors import HeadraceError
from headrace.plan.buffering import reads_cache
from headrace.plan.combining import Zip
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


class ZipStream:
    """One element of each input; a failure of one takes the others' elements with it.

    In a row with a failure and an end, the first of the two decides; after a failure the end still ends it. At the end, inputs
    that read a cache are asked for one element more: a cache is whole when its end was seen.
    """

    def __init__(self, node: Zip, inputs: list[Stream], *, ended: bool) -> None:
        self.node = node
        self.inputs = inputs
        self.ended = ended
        self.keeping = [part for part, child in enumerate(node.inputs) if reads_cache(child)]

    def next(self) -> Given:
        if self.ended:
            self._end(after=-1)
            raise StopIteration
        elements, origins, failure = [], [], None
        for part, stream in enumerate(self.inputs):
            try:
                element, origin = stream.next()
            except StopIteration:
                self.ended = True
                if failure is None:
                    self._end(after=part)
                    raise
                break
            except HeadraceError as error:
                failure = error if failure is None else failure
            else:
                elements.append(element)
                origins.append(origin)
        if failure is not None:
            raise failure
        return unflatten(self.node.treedef, elements), origins[0]

    def _end(self, after: int) -> None:
        keeping, self.keeping = self.keeping, []
        for part in keeping:
            if part > after:
                with contextlib.suppress(StopIteration, HeadraceError):
                    self.inputs[part].next()

    def state(self) -> State:
        state: State = {"inputs": [stream.state() for stream in self.inputs]}
        return state | {"ended": True} if self.ended else state

    def close(self) -> None:
        close_all([stream.close for stream in self.inputs])


@stream_of.register
def _zip(node: Zip, state: State | None, context: RunContext) -> Stream:
    parts = zip(node.inputs, state["inputs"] if state else [None] * len(node.inputs), strict=True)
    inputs = [
        stream_of(child, saved, context if node.draws_alike else context.for_input(node.inputs, part))
        for part, (child, saved) in enumerate(parts)
    ]
    return ZipStream(node, inputs, ended=bool(state and state.get("ended")))
