"""Stages of a small plan whose functions are called as elements are asked for, made without all that stages of a run can have.

What they read lies there, as none of it calls a function. None of them waits, reads ahead, holds what is to be given back, or begins at a state.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

from headrace.blocks.block import Block
from headrace.observe.meter import Meter
from headrace.physical.at_once import Done, whole
from headrace.physical.given import GivenStage
from headrace.physical.loop_policy import Loops
from headrace.physical.made import Pieces
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.at_once.calls import filter_block, map_block
from headrace.physical.stages.elementwise import EnumerateStage
from headrace.physical.stages.grouping_batches import BatchStage, CombinedBatchStage
from headrace.physical.stages.sequencing import SkipStage, TakeStage
from headrace.physical.stages.stateful import StatefulStage
from headrace.physical.stages.stateful_ops import ScanOp, TakeWhileOp
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.plan.node import Node
from headrace.plan.quiet import is_quiet
from headrace.plan.sequencing import Skip, Take
from headrace.plan.stateful import Scan, TakeWhile
from headrace.semantics.grouping import padded_batch, ragged_batch

__all__ = ["FewCalls"]

# As far as a filter lets nothing through, so many times as many elements are read as before.
_MORE: Final = 4


class FewCalls:
    """The stages of a plan.

    Args:
        plan: it.
        loops: how functions are called.

    Attributes:
        root: what gives its elements; None where it has operations for which this is no way.
        done: what was done for its elements that lie there.
        meters: what counts for each operation that has a stage.
    """

    def __init__(self, plan: Node, loops: Loops) -> None:
        self.done: list[Done] = []
        self._loops = loops
        self.meters: list[tuple[Node, Meter]] = []
        self.root = self._stage(plan)

    def _stage(self, node: Node) -> Stage | None:
        make = _STAGES.get(type(node))
        if make is None or (type(node) is Map and (node.on_error != "raise" or node.timeout_s is not None)):
            return None
        (input_node,) = node.inputs
        source = self._given(input_node) if is_quiet(input_node) else self._stage(input_node)
        if source is None:
            return None
        meter = Meter("")  # whose name is found when somebody asks, as that takes longer than some calls
        meter.cpu_due_s = math.inf  # and so does a look at the processor's time
        self.meters.append((node, meter))
        return make(node, source, meter, self._loops)

    def _given(self, node: Node) -> Stage | None:
        found = whole(node)
        if found is None:
            return None
        pieces, done = found
        self.done += done
        return _Lying(pieces)


class _Lying(GivenStage):
    """What lies there, which takes no time to be counted."""

    times_pulls = False

    def pull(self, limit: int) -> Item:
        left = self._left
        if not left:
            return None
        item = left.pop()
        if not isinstance(item, Block) or len(item) <= limit:
            return item
        left.append(item.slice(limit, len(item)))
        return item.slice(0, limit)


class _CallStage(Stage):
    """What a map or a filter makes, block by block."""

    def __init__(self, node: Map | Filter, source: Stage, meter: Meter, loops: Loops) -> None:
        super().__init__(meter, (source,), source.cursor)
        call: Any = map_block if isinstance(node, Map) else filter_block
        self._call = functools.partial(call, node)
        self._loops = loops
        self._left: Block | None = None  # of a block, that of which the function took long
        self._ready: Pieces = []  # the next one is last

    def _is_spent(self) -> bool:
        return not self._ready and self._left is None and self.inputs[0].is_spent

    def _pull(self, limit: int) -> Item:
        while not self._ready:
            block, self._left = self._left, None
            if block is None:
                item = self._read(self.inputs[0], limit)
                if not isinstance(item, Block):
                    return item
                block = item
            pieces, done = self._call(block, self._loops.patience())
            self._left = block.slice(done, len(block)) if done < len(block) else None
            self._ready = pieces[::-1]
            limit *= _MORE  # where nothing came, nothing waits for what comes next
        return self._ready.pop()


def _batched(node: Batch, source: Stage, meter: Meter, _: Loops) -> Stage:
    if isinstance(node, PaddedBatch):
        return CombinedBatchStage(node, functools.partial(padded_batch, node), source, meter)
    if isinstance(node, RaggedBatch):
        return CombinedBatchStage(node, functools.partial(ragged_batch, node), source, meter)
    return BatchStage(node, source, meter)


def _scanned(node: Scan, source: Stage, meter: Meter, loops: Loops) -> Stage:
    return StatefulStage(ScanOp(node, None, probed=loops.probed), node.label, source, meter, loops)


def _taken_while(node: TakeWhile, source: Stage, meter: Meter, loops: Loops) -> Stage:
    return StatefulStage(TakeWhileOp(node, None), node.label, source, meter, loops)


_STAGES: Final[dict[type[Node], Callable[[Any, Stage, Meter, Loops], Stage]]] = {
    Map: _CallStage,
    Filter: _CallStage,
    Take: lambda node, source, meter, _: TakeStage(node.count, source, meter, None) if node.count >= 0 else source,
    Skip: lambda node, source, meter, _: (
        SkipStage(node.count, source, meter, None) if node.count >= 0 else TakeStage(0, source, meter, None)
    ),
    Enumerate: lambda node, source, meter, _: EnumerateStage(node, source, meter, None),
    Batch: _batched,
    PaddedBatch: _batched,
    RaggedBatch: _batched,
    Scan: _scanned,
    TakeWhile: _taken_while,
}
