"""The plan node of ``distributed_batch``, and how a plan is dealt to ranks.

What a global batch holds must not depend on how many ranks there are, so it is not ranks that a plan is dealt to, but streams,
whose number is fixed. Each stream has one of every S elements, and no operation crosses streams. A global batch takes as many
elements of each stream, one of each in turn; rank r of N has the streams whose number leaves r when divided by N, and so the
rows ``[r::N]`` of every global batch.

A plan is gone through from its sources on, and each part of it is one of two things:

- *whole*: each rank can read all of it in order, or knows the order as numbers. Sources that are read by number, and what only
  moves numbers; functions of one element to one wait until after the dealing, as they need no other element.
- *per stream*: what keeps fewer or other elements than it reads (filter, mixtures, pack, batches, datasets inside). Below the
  first such operation the plan is dealt (``dealing_places``): each stream goes through a plan of its own from there on, with the
  stream's number in the path of its randomness.

What means the place of an element in the whole (take, skip, enumerate, zip, unique, scan, a cache) is exact where the plan is
whole, and refused behind what runs per stream.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

import numpy as np

from headrace.arguments import check_int
from headrace.elements.structure import flatten, unflatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.dealing_parts import lengths_of_streams, part_of
from headrace.plan.dealt import dealing_of
from headrace.plan.elementwise import Filter, Map, RandomMap
from headrace.plan.facts import fact
from headrace.plan.grouping import Batch, CyclingBatch, Unbatch
from headrace.plan.mixing import Mixture
from headrace.plan.nesting import FlatMap
from headrace.plan.node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Node, Spec, UnaryNode
from headrace.plan.packing import Pack
from headrace.plan.sequencing import Repeat
from headrace.plan.shuffling import Shuffle
from headrace.plan.skipping import IgnoreErrors
from headrace.plan.windowing import GroupByWindow, Window
from headrace.ranks.telling import is_group, left_to_torch

__all__ = ["ENDS", "DistributedBatch", "divisors", "nearest"]


ENDS: Final = ("drop", "pad", "uneven")
# Streams that nobody asked for by number: as many ranks as most jobs have, and few enough to cost little.
_MOST_STREAMS: Final = 64


@frozen(kw_only=True, eq=False)
class DistributedBatch(UnaryNode):
    """Global batches, of which each rank has its part."""

    op: ClassVar[str] = "distributed_batch"
    deals: ClassVar[bool] = True
    changeable: ClassVar[str | None] = "global_batch_size"
    tuning: ClassVar[frozenset[str]] = frozenset({"steps", "group"})
    global_batch_size: int
    num_streams: int = 0  # 0 stands for the default, until it is known
    end: str = "drop"
    steps: int | None = None
    mask: str | None = None
    group: Any = None

    def __post_init__(self) -> None:
        size = check_int(self.global_batch_size, field="global_batch_size", stage=self.op)
        if size < 1:
            raise InvalidArgumentError(f"global_batch_size must be at least 1, not {size}", stage=self.op)
        object.__setattr__(self, "global_batch_size", size)
        object.__setattr__(self, "num_streams", self._checked_streams(size))
        if self.end not in ENDS:
            raise InvalidArgumentError(
                f"end must be one of {', '.join(map(repr, ENDS))}, not {self.end!r}", stage=self.op
            )
        if self.steps is not None and check_int(self.steps, field="steps", stage=self.op) < 0:
            raise InvalidArgumentError(f"steps must be at least 0, not {self.steps}", stage=self.op)
        if self.mask is not None and (self.end != "pad" or not isinstance(self.mask, str)):
            raise InvalidArgumentError(
                f"mask names which elements of a padded batch are real: a text, with end='pad', not {self.mask!r} with end={self.end!r}",
                stage=self.op,
            )
        self._check_group()
        if dealing_of(self.input) is not None:
            raise InvalidArgumentError(
                "there is a distributed_batch before this one: a plan is dealt once", stage=self.op
            )
        part_of(self.input, self.num_streams)  # what cannot be dealt is refused where it is written

    def _check_group(self) -> None:
        if self.group is None:
            return
        if not is_group(self.group):
            raise InvalidArgumentError(
                "group must be a group of torch.distributed, which is initialised and has this process, a mesh of JAX's, True for all "
                f"processes, or a function of a number, not {self.group!r}",
                stage=self.op,
            )
        if self.end == "uneven" or self.steps is not None:
            reason = (
                "with steps= all ranks know their end"
                if self.end != "uneven"
                else "with end='uneven' each rank ends by itself"
            )
            raise InvalidArgumentError(f"{reason}: leave out group=", stage=self.op)
        object.__setattr__(self, "group", left_to_torch(self.group))

    def _checked_streams(self, size: int) -> int:
        streams = check_int(self.num_streams, field="num_streams", stage=self.op)
        if not streams:
            return max(number for number in divisors(size) if number <= _MOST_STREAMS)
        if streams < 1 or size % streams:
            near = nearest(divisors(size), streams)
            raise InvalidArgumentError(
                f"num_streams must divide global_batch_size ({size}), which {streams} does not: {near} would do",
                stage=self.op,
            )
        return streams

    @property
    def is_whole(self) -> bool:
        """Whether every rank can read all that it deals, so that one position says where all are."""
        return part_of(self.input, self.num_streams).is_whole

    @property
    def only_a_run_tells(self) -> bool:
        """Whether ranks may end after different steps, and nobody knows after how many."""
        is_unknown = self.end != "uneven" and not self.is_whole and self.cardinality() == UNKNOWN_CARDINALITY
        return is_unknown and not _never_ends(self.input)

    def _cardinality(self) -> int:
        """Returns how many steps every rank has, where it is known without running."""
        part = part_of(self.input, self.num_streams)
        if self.steps is not None and (self.end == "pad" or not part.is_whole):
            return self.steps
        if part.is_whole:
            counts, each = [part.core.cardinality()], self.global_batch_size
        else:
            counts, each = lengths_of_streams(part, self.num_streams), self.global_batch_size // self.num_streams
        if min(counts) < 0:
            return self.steps if self.steps is not None and min(counts) == INFINITE_CARDINALITY else min(counts)
        count = min(counts) // each if self.end == "drop" else -(-max(counts) // each)
        return count if self.steps is None else min(self.steps, count)

    def _spec(self) -> Spec:
        """Returns the spec of its input with an axis more, whose size depends on the number of ranks."""
        inner = self.input.spec()
        if inner is None:
            return None
        leaves, treedef = flatten(inner)
        shapes = [None if leaf.shape is None else (None, *leaf.shape) for leaf in leaves]
        batch = unflatten(treedef, [leaf.with_shape(shape) for leaf, shape in zip(leaves, shapes, strict=True)])
        if self.end != "pad":
            return batch
        flags = TensorSpec((None,), np.dtype(np.bool_))
        return (batch, flags) if self.mask is None or not isinstance(batch, dict) else {**batch, self.mask: flags}

    def parameters(self) -> dict[str, Any]:
        """Returns what decides which elements a global batch has; the number of ranks does not."""
        return {
            "global_batch_size": self.global_batch_size,
            "num_streams": self.num_streams,
            "end": None if self.end == "drop" else self.end,
            "steps": self.steps,
            "mask": self.mask,
        }


# What ends where all that it reads has ended, and not before, whatever its functions say.
_GOING_ON: Final = (
    Filter, Map, RandomMap, FlatMap, Batch, CyclingBatch, Unbatch, Pack, Window, GroupByWindow, IgnoreErrors, Shuffle, Mixture, Repeat,
    Prefetch, WithOptions,
)  # fmt: skip


@fact
def _never_ends(node: Node, inputs: list[bool]) -> bool:
    """Returns whether a plan goes on for ever, also where only a run tells how much it leaves out."""
    count = node.cardinality()
    return count == INFINITE_CARDINALITY or (count != 0 and isinstance(node, _GOING_ON) and all(inputs))


def divisors(number: int) -> list[int]:
    """Returns the divisors of a number, the smallest first."""
    small = [low for low in range(1, math.isqrt(number) + 1) if number % low == 0]
    return sorted({*small, *(number // low for low in small)})


def nearest(numbers: list[int], wanted: int) -> str:
    """Returns, in words, the numbers on both sides of one that would not do."""
    below, above = [n for n in numbers if n < wanted], [n for n in numbers if n > wanted]
    return " or ".join(map(str, below[-1:] + above[:1]))
