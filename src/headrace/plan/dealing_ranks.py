"""A plan as a rank runs it."""

from __future__ import annotations

import dataclasses
import math
from typing import Final

import numpy as np

from headrace.elements.structure import Element, flatten, unflatten
from headrace.errors import InvalidArgumentError
from headrace.plan.combining import Zip, ZipOfPlaces
from headrace.plan.dealing import DealtNumbers, DealtStreams, Filling, Masked, RankBatch
from headrace.plan.dealing_batch import DistributedBatch, divisors
from headrace.plan.dealing_parts import Part, part_of, stacked
from headrace.plan.dealt import dealing_of
from headrace.plan.elementwise import Map
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite
from headrace.plan.sources import Range
from headrace.ranks import Rank

__all__ = ["check_run", "dealt", "ends_together"]


def dealt(plan: Node, rank: Rank) -> Node:
    """Returns the plan as a rank runs it; the same object where it is not dealt.

    Raises:
        InvalidArgumentError: the number of ranks does not divide the number of streams.
    """
    if dealing_of(plan) is None:
        return plan

    def on_rank(node: Node) -> Node:
        return _on_rank(node, rank.rank, rank.world_size) if isinstance(node, DistributedBatch) else node

    return rewrite(plan, on_rank)


def ends_together(node: DistributedBatch, rank: Rank) -> bool:
    """Returns whether the ranks must tell each other, step by step, whether there is another."""
    return node.group is not None and rank.world_size > 1 and node.only_a_run_tells


def check_run(node: DistributedBatch, rank: Rank) -> None:
    """Refuses to run a plan as a rank of a job in which one could wait for another for ever.

    Raises:
        InvalidArgumentError: the number of ranks does not divide that of the streams; or ranks may end after different steps, and cannot
            tell each other.
    """
    if node.num_streams % rank.world_size:
        raise InvalidArgumentError(_unequal(node, rank.world_size), stage=node.label)
    if rank.world_size > 1 and node.only_a_run_tells and node.group is None:
        raise InvalidArgumentError(_NO_LENGTH, stage=node.label)


def _on_rank(node: DistributedBatch, rank: int, world_size: int) -> Node:
    size, streams = node.global_batch_size, node.num_streams
    if streams % world_size:
        raise InvalidArgumentError(_unequal(node, world_size), stage=node.label)
    part = part_of(node.input, streams)
    if part.is_whole:
        rows = _rows_of_numbers(node, part, rank, world_size)
    else:
        fills = node.end != "drop"
        rows = DealtStreams(
            input=Filling(input=part.of_stream(streams), tells=True) if fills else part.core,
            num_streams=streams,
            rank=rank,
            world_size=world_size,
            each=size // streams,
            steps=_steps(node),
            fills=fills,
            endless=fills and world_size > 1 and node.group is not None and node.only_a_run_tells,
            lends=node.end == "uneven",
        )
        rows = rows if fills else stacked(rows, part.maps)
    tells = node.end == "pad" or (node.end == "uneven" and not part.is_whole)
    batches: Node = RankBatch(
        input=rows,
        batch_size=size // world_size,
        drop_remainder=node.end != "uneven",
        name=node.name,
        operation=node.operation,
    )
    if not tells:
        return batches
    if node.end == "pad":
        return Masked(input=batches, function=_Masking(node.mask), name=node.name)
    return Masked(input=batches, function=_real_ones, name=node.name)


def _rows_of_numbers(node: DistributedBatch, part: Part, rank: int, world_size: int) -> Node:
    """Returns a rank's elements of what it can read whole; with which of them are real, where some may be filled in."""
    pads = node.end == "pad"
    own = DealtNumbers(
        input=part.core,
        rank=rank,
        world_size=world_size,
        batch=node.global_batch_size,
        drops=node.end == "drop",
        steps=_steps(node) if pads else node.steps,
        fills=pads,
    )
    count = part.core.cardinality()
    if pads and count < 0:  # the end is seen where it comes, and what functions make goes along with what is seen
        return own.with_inputs((Filling(input=part.whole(), tells=True),))
    rows = stacked(_in_branches(own, part.core), part.maps)
    if not pads:
        return rows
    places = Range(start=0, stop=node.cardinality() * node.global_batch_size, step=1)
    flags = Map(input=dataclasses.replace(own, input=places, fills=False), function=_Below(count), name="is real")
    return Zip(treedef=flatten((0, 0))[1], datasets=(rows, flags), name=node.name)


def _in_branches(own: DealtNumbers, plan: Node) -> Node:
    """Returns a rank's part of what every rank can read whole; functions inside a zip are called on that part alone."""
    match plan:
        case Map() if not plan.skips:
            return plan.with_inputs((_in_branches(own, plan.input),))
        # Where branches have other lengths, what each is filled up with is not what the last element has of it.
        case Zip() if not own.fills or isinstance(plan, ZipOfPlaces):
            return plan.with_inputs(tuple(_in_branches(own, branch) for branch in plan.inputs))
        case _:
            return own.with_inputs((Filling(input=plan, tells=False) if own.fills else plan,))


_NO_LENGTH: Final = (
    "only a run can tell how many elements each stream has, so that one rank may end before the others, which would wait for it: "
    "give group=, by which the ranks tell each other, or steps=, or repeat() the dataset before it"
)


def _steps(node: DistributedBatch) -> int | None:
    """Returns after how many steps the streams end, where all ranks know it alike."""
    count = node.cardinality()
    return count if count >= 0 else None


class _Below:
    """Tells the places before the first that is filled in."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, place: int) -> bool:
        return place < self.count


class _Masking:
    """Puts the mask into a batch under its name."""

    def __init__(self, name: str | None) -> None:
        self.name = name

    def __call__(self, batch: Element, is_real: np.ndarray) -> Element:
        if self.name is None:
            return batch, is_real
        if not isinstance(batch, dict):
            raise TypeError(
                f"mask={self.name!r} is put into dicts, and elements are {type(batch).__name__}: without mask= batches are pairs with it"
            )
        if self.name in batch:
            raise TypeError(f"elements have a {self.name!r} already: give the mask another name")
        return {**batch, self.name: is_real}


def _real_ones(batch: Element, is_real: np.ndarray) -> Element:
    """Returns a batch without what is filled in."""
    if is_real.all():
        return batch
    leaves, treedef = flatten(batch)
    return unflatten(treedef, [leaf[is_real] for leaf in leaves])


def _unequal(node: DistributedBatch, ranks: int) -> str:
    streams, size = node.num_streams, node.global_batch_size
    common = math.lcm(streams, ranks)
    words = f"{streams} streams cannot be dealt to {ranks} ranks alike: the number of ranks must divide them."
    if size % common == 0:
        few = max((number for number in divisors(size) if number % ranks == 0 and number <= streams), default=0)
        alone = f"; num_streams={few} for {ranks} ranks" if few else ""
        return f"{words} num_streams={common} would do for both {ranks} ranks and those that divide {streams}{alone}"
    if size % ranks == 0:
        return f"{words} num_streams={ranks}, or a multiple of it that divides the global batch of {size}, would do"
    whole = -(-size // common) * common
    of_ranks = -(-size // ranks) * ranks
    return (
        f"{words} A global batch that {common} divides, with num_streams={common}, would do for these and for those that divide {streams}: "
        f"{whole} in place of {size}; or one of {of_ranks} with num_streams={ranks} for {ranks} ranks"
    )
