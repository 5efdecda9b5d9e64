"""A batch of columns that lie one after the other is a reshape: where its number of calls is left to headrace, it has no workers.

Who reads the columns joins them to whole batches in any case, and of what is left to be done a batch takes a microsecond. A plan without
other parallel work then has no workers, and nothing that tries them.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from headrace.arguments import AUTOTUNE
from headrace.plan.buffering import Prefetch
from headrace.plan.facts import fact
from headrace.plan.grouping import Batch
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite
from headrace.plan.sequencing import Concatenate, Repeat, Skip, Take
from headrace.plan.sources import FromTensorSlices, Range

__all__ = ["stack_columns_here"]

# What hands on what it reads as it lies; a shuffle or a shard does not.
_PASSING: Final = (Take, Skip, Repeat, Concatenate, Prefetch)


def stack_columns_here(plan: Node) -> Node:
    """Takes the workers from batches that are left to headrace and would have nothing for them to do."""
    return rewrite(plan, _without_workers)


def _without_workers(node: Node) -> Node:
    if type(node) is not Batch or node.num_parallel_calls != AUTOTUNE or not _lies_in_order(node.input):
        return node
    return dataclasses.replace(node, num_parallel_calls=None)


@fact
def _lies_in_order(node: Node, inputs: list[bool]) -> bool:
    """Returns whether elements are columns, and consecutive ones lie behind each other."""
    match node:
        case FromTensorSlices():
            return all(column.flags.c_contiguous and not column.dtype.hasobject for column in node.columns)
        case Range():
            return True
        case _ if node.reads_files:
            return node.spec() is not None  # else each record has a structure of its own
        case _:
            return isinstance(node, _PASSING) and all(inputs)
