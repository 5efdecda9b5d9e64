"""What takes the place of an element on which a user's function failed."""

from __future__ import annotations

from headrace.blocks.block import Block, Failure
from headrace.blocks.payload import Rows
from headrace.elements.function_results import owned
from headrace.observe.frames import holds
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.semantics.calls import packed
from headrace.semantics.failures import as_element_error

__all__ = ["failure_of", "instead_of"]


def failure_of(
    error: Exception, node: Map | Filter | Enumerate, block: Block, index: int, *, takes_parts: bool = True
) -> Failure:
    """Returns the failure of an operation on an element of a block, whose parts its function gets as arguments."""
    placed = as_element_error(error, stage=node.label, origin=block.origin.describe(index), takes_parts=takes_parts)
    return Failure(placed, block.cursor.advance(index), block.cursor.advance(index + 1), node)


@holds(lambda at, _: (at["node"].label, at["block"].origin.describe(at["index"])))
def instead_of(node: Map, failure: Failure, block: Block, index: int) -> Rows | Failure:
    """Returns what ``on_error`` makes of a failure."""
    assert callable(node.on_error)  # the caller has looked
    try:
        instead = node.on_error(failure.error)
        instead = owned(instead)
        return Rows([packed(instead)])
    except Exception as another:  # noqa: BLE001 - a user's function may raise anything
        return failure_of(another, node, block, index, takes_parts=False)
