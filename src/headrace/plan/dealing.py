"""The nodes that a plan has where it is dealt to ranks; the rewriting for a rank makes them, and nobody else.

What they are for stands in ``dealing_batch``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.frozen import frozen
from headrace.plan.dealing_places import PlacesOfStream
from headrace.plan.elementwise import Map
from headrace.plan.files import Files
from headrace.plan.grouping import Batch
from headrace.plan.node import UNKNOWN_CARDINALITY, Spec, UnaryNode

__all__ = ["DealtNumbers", "DealtStreams", "Filling", "Masked", "RankBatch", "Share", "SharedFiles"]


@frozen(kw_only=True, eq=False)
class Share(UnaryNode):
    """The part of a stream of what every rank can read whole. Failures have a place, as numbers have.

    Args:
        num_streams: among how many streams it is dealt.
        before: how many elements come before these, of a concatenation.
        stream: of which stream this is; None where the run says so.
    """

    op: ClassVar[str] = "part of the stream"
    num_streams: int
    before: int = 0
    stream: int | None = None

    def places_of(self, stream: int) -> PlacesOfStream:
        """Returns which elements are those of a stream."""
        return PlacesOfStream(self.num_streams, stream, self.before)

    def _cardinality(self) -> int:
        """Returns that of the stream, or of the shortest."""
        count = self.input.cardinality()
        streams = range(self.num_streams) if self.stream is None else (self.stream,)
        return count if count < 0 else min(self.places_of(stream).count(count) for stream in streams)

    def parameters(self) -> dict[str, Any]:
        """Returns of how many streams."""
        return {"num_streams": self.num_streams}


@frozen(kw_only=True, eq=False)
class SharedFiles(Files):
    """The files of a stream, or its pieces of files."""

    num_streams: int

    def of_stream(self, stream: int) -> Files:
        """Returns the files of one stream."""
        places = PlacesOfStream(self.num_streams, stream)
        own = places.among(0, places.count(len(self.paths)))
        return Files(
            paths=tuple([self.paths[place] for place in own]),
            pieces=None if self.pieces is None else tuple([self.pieces[place] for place in own]),
            format=self.format,
            on_error=self.on_error,
            name=self.name,
            operation=self.operation,
        )

    def parameters(self) -> dict[str, Any]:
        """Returns the files, how they are read, and among how many streams they are shared."""
        pieces = {} if self.pieces is None else {"pieces": len(self.pieces)}
        return {**Files.parameters(self), **pieces, "num_streams": self.num_streams}


@frozen(kw_only=True, eq=False)
class Filling(UnaryNode):
    """The same elements, and after them the last one again and again.

    Args:
        tells: whether each is a pair with whether it is no such filling.
    """

    op: ClassVar[str] = "padding"
    tells: bool

    def _cardinality(self) -> int:
        """Returns UNKNOWN_CARDINALITY: who reads it knows where to end."""
        return UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Returns that of its input."""
        return None if self.tells else self.input.spec()


@frozen(kw_only=True, eq=False)
class DealtNumbers(UnaryNode):
    """A rank's elements of what every rank can read whole: those at the places rank, rank + world_size and so on.

    Args:
        batch: how many elements a global batch has.
        drops: whether a last global batch that is not whole is left out.
        steps: after how many of them it ends; None is not before its input.
        fills: whether its input never ends, because a Filling goes on with its last element; it ends with the last global batch that has a
            real one.
    """

    op: ClassVar[str] = "part of the rank"
    rank: int
    world_size: int
    batch: int
    drops: bool
    steps: int | None
    fills: bool = False

    def _cardinality(self) -> int:
        """Returns how many elements the rank gets."""
        count = self.input.cardinality()
        if self.fills:
            return UNKNOWN_CARDINALITY if self.steps is None else self.steps * self.batch // self.world_size
        if self.steps is not None:
            count = self.steps * self.batch if count < 0 else min(count, self.steps * self.batch)
        if count < 0:
            return count
        return len(range(self.rank, count - count % self.batch if self.drops else count, self.world_size))

    def _spec(self) -> Spec:
        """Returns that of what it deals."""
        return self.input.spec()

    def parameters(self) -> dict[str, Any]:
        """Returns which rank of how many."""
        return {"rank": f"{self.rank} of {self.world_size}", "steps": self.steps}


@frozen(kw_only=True, eq=False)
class DealtStreams(UnaryNode):
    """A rank's elements of streams: one of each of its streams in turn; its input is the plan of each stream.

    Args:
        each: how many elements a global batch takes of a stream.
        steps: after how many global batches it ends; None is when a stream does.
        fills: whether its inputs never end, as above.
        endless: whether it never ends either, because other ranks may have real elements still.
        lends: whether a stream that has no element goes on with another's, because what is filled in is left out again.
    """

    op: ClassVar[str] = "streams of the rank"
    num_streams: int
    rank: int
    world_size: int
    each: int
    steps: int | None
    fills: bool = False
    endless: bool = False
    lends: bool = False

    @property
    def owned(self) -> range:
        """The numbers of the rank's streams."""
        return range(self.rank, self.num_streams, self.world_size)

    def _cardinality(self) -> int:
        """Returns UNKNOWN_CARDINALITY: only a run could tell."""
        return UNKNOWN_CARDINALITY if self.steps is None else self.steps * self.each * len(self.owned)

    def _spec(self) -> Spec:
        """Returns that of its streams."""
        return self.input.spec()

    def parameters(self) -> dict[str, Any]:
        """Returns which rank of how many, and how many of the streams it has."""
        return {
            "rank": f"{self.rank} of {self.world_size}",
            "streams": f"{len(self.owned)} of {self.num_streams}",
            "steps": self.steps,
        }


@frozen(kw_only=True, eq=False)
class RankBatch(Batch):
    """The batches of a rank."""

    op: ClassVar[str] = "distributed_batch"
    drops_failed: ClassVar[bool] = True  # or one rank had an error where the others end


@frozen(kw_only=True, eq=False)
class Masked(Map):
    """The batches of a rank, with which of their elements are real."""

    op: ClassVar[str] = "distributed_batch"

    def _label(self) -> str:
        """Returns what tells it from the batches themselves; its function is none of the user's."""
        return f"{self.op} '{self.name}' (mask)" if self.name else f"{self.op} (mask)"
