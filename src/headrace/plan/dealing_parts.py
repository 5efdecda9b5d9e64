"""How far a plan can be dealt: what of it every rank reads whole, and what runs once per stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

from headrace.frozen import frozen
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.combining import Zip
from headrace.plan.dealing import Share
from headrace.plan.dealing_files import refused, shared_files, shared_pieces, too_few
from headrace.plan.dealing_zips import by_places, moved, numbered_places
from headrace.plan.elementwise import Enumerate, Filter, Map, RandomMap
from headrace.plan.files import Files
from headrace.plan.grouping import Batch, CyclingBatch, Unbatch
from headrace.plan.looking import Known
from headrace.plan.mixing import Mixture, RejectionResample
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, nodes_of
from headrace.plan.packing import Pack
from headrace.plan.querying import QueryRows
from headrace.plan.rewriting import rewrite
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take
from headrace.plan.shuffling import WHOLE_DATASET, Shuffle
from headrace.plan.skipping import IgnoreErrors
from headrace.plan.sources import FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile, Unique
from headrace.plan.storing import Stored
from headrace.plan.windowing import GroupByWindow, Window

__all__ = ["Part", "lengths_of_streams", "part_of", "stacked"]


@frozen
class Part:
    """How far a part of a plan can be dealt.

    Attributes:
        maps: the functions of one element to one that wait until after the dealing, the first one first.
        core: what they read: the plan as it was written where it ``is_whole``, else the plan of a stream.
        is_whole: whether each rank can read all of it.
    """

    core: Node
    is_whole: bool
    maps: tuple[Node, ...] = ()

    def whole(self) -> Node:
        """Returns the plan with its functions."""
        return stacked(self.core, self.maps)

    def of_stream(self, streams: int) -> Node:
        """Returns the plan of a stream with its functions."""
        return stacked(shared(self.core, streams) if self.is_whole else self.core, self.maps)


def stacked(core: Node, maps: tuple[Node, ...]) -> Node:
    """Returns a plan with these operations after it, the first one first."""
    for node in maps:
        core = node.with_inputs((core,))
    return core


def part_of(plan: Node, streams: int) -> Part:
    """Returns how a plan is dealt to so many streams.

    Raises:
        InvalidArgumentError: an operation means a place in the whole where there is none any more.
    """
    return plan.recall(("part", streams), lambda: _part_of(plan, streams))


def _part_of(plan: Node, streams: int) -> Part:
    parts: list[Part] = []
    for node in nodes_of(plan):
        first = len(parts) - len(node.inputs)
        inputs = parts[first:]
        parts[first:] = [_dealt_source(node, streams) if not inputs else _dealt_node(node, inputs, streams)]
    return parts[0]


# What every rank reads whole: in order where it is not read by number.
_READ_BY_EACH: Final = (Range, FromTensors, FromTensorSlices, RandomSource, Stored, FromGenerator, QueryRows, Known)
# What chooses or orders elements by their place in the whole, and can go before functions of one element.
_MOVING: Final = (Take, Skip, Shard)
# What means the whole, and must see what functions make.
_WHOLE: Final = (Enumerate, Unique, Scan, TakeWhile, AssertCardinality, Cache)
_PER_STREAM: Final = (
    Filter, RandomMap, FlatMap, Batch, CyclingBatch, Unbatch, Pack, Window, GroupByWindow, RejectionResample, IgnoreErrors, Mixture, Map,
)  # fmt: skip


def _dealt_source(node: Node, streams: int) -> Part:
    if isinstance(node, Files):
        return Part(shared_files(node, streams), is_whole=False)
    if isinstance(node, _READ_BY_EACH):
        return Part(node, is_whole=True)
    raise refused(node, "it cannot be dealt to ranks")


def _dealt_node(node: Node, parts: list[Part], streams: int) -> Part:
    if isinstance(node, (Zip, Concatenate)):
        return _dealt_together(node, parts, streams)
    part = parts[0]
    if isinstance(node, (Prefetch, WithOptions)):
        return part
    if isinstance(node, Map) and not node.skips:
        return dataclasses.replace(part, maps=(*part.maps, node))
    if isinstance(node, (Shuffle, Repeat)):
        return _reordered(node, part, streams)
    if isinstance(node, FlatMap) and (pieces := shared_pieces(node, part.whole(), streams)) is not None:
        return Part(pieces, is_whole=False)
    if isinstance(node, _PER_STREAM):
        return Part(node.with_inputs(tuple(one.of_stream(streams) for one in parts)), is_whole=False)
    if not part.is_whole:
        raise refused(node, _after_dealing(node))
    if isinstance(node, _MOVING):
        return dataclasses.replace(part, core=moved(node, part.core))
    if isinstance(node, _WHOLE):
        whole = part.whole()
        seen = numbered_places(node, whole) if isinstance(node, Enumerate) else node.with_inputs((whole,))
        return Part(seen, is_whole=True)
    raise refused(node, "it cannot be dealt to ranks")


def _reordered(node: Shuffle | Repeat, part: Part, streams: int) -> Part:
    """Deals what changes no element: it goes before the functions, which then work on fewer elements."""
    if part.is_whole:
        return dataclasses.replace(part, core=moved(node, part.core))
    if isinstance(node, Shuffle) and node.buffer_size != WHOLE_DATASET:
        node = dataclasses.replace(node, buffer_size=-(-node.buffer_size // streams))
    return dataclasses.replace(part, core=node.with_inputs((part.core,)))


def _dealt_together(node: Zip | Concatenate, parts: list[Part], streams: int) -> Part:
    if all(part.is_whole for part in parts):
        whole = node.with_inputs(tuple(part.whole() for part in parts))
        return Part(by_places(whole) if isinstance(whole, Zip) else whole, is_whole=True)
    if isinstance(node, Zip):
        raise refused(
            node,
            "it ties elements together by their place in the whole, and behind a filter, a reader of files or a mixture each "
            "stream has places of its own. Zip what is read by number, or the names of the files, and open them inside "
            "an interleave: files.interleave(lambda x, y: Dataset.zip((open(x), open(y))))",
        )
    return Part(node.with_inputs(tuple(part.of_stream(streams) for part in parts)), is_whole=False)


def _after_dealing(node: Node) -> str:
    return (
        "it means the place of an element in the whole dataset, and stands behind what runs once per stream (a filter, a reader of "
        f"files, a mixture, pack). Put the {node.op} before that, where elements have numbers, or after distributed_batch, where it is "
        "about the rank's batches"
    )


def shared(plan: Node, streams: int) -> Node:
    """Returns a stream's part of what every rank can read whole: functions inside are called on that part alone."""
    return _shared(plan, streams, 0)


def _shared(plan: Node, streams: int, before: int) -> Node:
    match plan:
        case Map() if not plan.skips:
            return plan.with_inputs((_shared(plan.input, streams, before),))
        case Zip():
            return plan.with_inputs(tuple(_shared(branch, streams, before) for branch in plan.inputs))
        case Concatenate() if all(branch.cardinality() >= 0 for branch in plan.datasets):
            branches, first = [], before
            for branch in plan.datasets:
                branches.append(_shared(branch, streams, first))
                first += branch.cardinality()
            return plan.with_inputs(tuple(branches))
        case _:
            _check_pieces(plan, streams)
            return Share(input=plan, num_streams=streams, before=before)


def _check_pieces(plan: Node, streams: int) -> None:
    for node in nodes_of(plan):
        if isinstance(node, Cache):
            raise refused(
                node,
                "each stream would fill it by itself, because what follows it runs once per stream. Put it before the first "
                "function and the batch alone, or keep the elements with save and load",
            )
    count = plan.cardinality()
    if 0 <= count < streams:
        source = next(iter(nodes_of(plan)))
        raise too_few(source.label, count, "elements", streams)


def lengths_of_streams(part: Part, streams: int) -> list[int]:
    """Returns how many elements each stream has; negative where only a run could tell, or where none ends."""
    plan = part.of_stream(streams)
    if plan.cardinality() < 0:
        return [plan.cardinality()]

    def of(stream: int) -> Callable[[Node], Node]:
        return lambda node: dataclasses.replace(node, stream=stream) if isinstance(node, Share) else node

    return [rewrite(plan, of(stream)).cardinality() for stream in range(streams)]
