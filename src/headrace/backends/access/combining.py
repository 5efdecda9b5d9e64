"""The access to several datasets side by side."""

from __future__ import annotations

from headrace.backends.access.dispatch import Access, access_of
from headrace.backends.reference.stream import Given
from headrace.elements.structure import unflatten
from headrace.errors import HeadraceError
from headrace.plan.combining import Zip
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


class ZipAccess:
    """One element of each dataset; the shortest ends it."""

    def __init__(self, node: Zip, inputs: list[Access]) -> None:
        self.node = node
        self.inputs = inputs
        self.length = min((read.length for read in inputs if read.length is not None), default=None)

    def at(self, index: int) -> Given:
        given, failure = [], None
        for read in self.inputs:
            try:
                given.append(read.at(index))
            except HeadraceError as error:  # all are read, as in a run
                failure = error if failure is None else failure
        if failure is not None:
            raise failure
        return unflatten(self.node.treedef, [element for element, _ in given]), given[0][1]


@access_of.register
def _zip(node: Zip, context: RunContext) -> Access:
    return ZipAccess(
        node, [access_of(child, context.for_input(node.inputs, part)) for part, child in enumerate(node.inputs)]
    )
