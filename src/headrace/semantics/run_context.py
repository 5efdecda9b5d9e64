"""What decides in a run which elements an operation gives: its randomness, its epoch, what its caches give."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final, Self, TypeVar

from headrace.blocks.cursor import State
from headrace.caching.store import Filled
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen, replaced
from headrace.observe.failures import Failures
from headrace.observe.meter import Meter
from headrace.plan.buffering import Cache
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import Options
from headrace.plan.randomness import Randomness, entropies_of, randomness_of
from headrace.plan.sequencing import Shard
from headrace.semantics.cache_fillings import Fillings, Pin
from headrace.semantics.held_bytes import HeldBytes, Holding
from headrace.semantics.meters import Meters, twin_of
from headrace.semantics.random_streams import Key, derived_seed
from headrace.semantics.shared_order import warn_of_own_order
from headrace.semantics.timed_calls import Callers

__all__ = ["OwnEnd", "RunContext", "Seeds", "SomeContext"]

_NO_SEED: Final = (
    "the plan is dealt to ranks, and this operation has no seed, so that every rank would draw numbers of its own: give it seed=, or "
    "all operations .with_options(Options(seed=…)), or initialise torch.distributed or JAX first, by which rank 0 tells the others"
)


@frozen
class Seeds:
    """The seed of every random operation of a run.

    Attributes:
        drawn: the seeds of operations that were given none, by their entropy.
        entropy: what operations inside functions draw theirs from.
        are_needed: whether a random operation without a seed must be refused, because each rank would draw its own numbers.
        are_given: whether they follow from ``Options(seed=)`` or a state, and so may be the same in several processes.
    """

    drawn: dict[int, int]
    entropy: int
    are_given: bool = False
    are_needed: bool = False

    @classmethod
    def of(cls, plan: Node, *, seed: int | None, entropy: int) -> Seeds:
        """Draws the seeds of a new run of the plan."""
        unseeded = _unseeded(plan)
        if seed is None:
            return cls({found.entropy: found.entropy for found in unseeded}, entropy)
        drawn = {found.entropy: derived_seed(seed, index) for index, found in enumerate(unseeded)}
        return cls(drawn, derived_seed(seed), are_given=True)

    @classmethod
    def restored(cls, plan: Node, *, drawn: list[int], entropy: int) -> Seeds:
        """Returns the seeds of a run that is resumed."""
        seeds = {found.entropy: seed for found, seed in zip(_unseeded(plan), drawn, strict=True)}
        return cls(seeds, entropy, are_given=True)

    def filling(self, node: Cache, filled: Filled) -> Seeds:
        """Returns the seeds with which a cache was filled."""
        drawn = dict(zip(node.above.unseeded, filled.seeds, strict=False))
        entropy = self.entropy if filled.entropy is None else filled.entropy
        return replaced(self, drawn=self.drawn | drawn, entropy=entropy)

    def within(self, plan: Node) -> Seeds:
        """Returns the seeds for a plan that a function made."""
        unseeded = _unseeded(plan)
        if not unseeded:
            return self
        fresh = {found.entropy: derived_seed(self.entropy, index) for index, found in enumerate(unseeded)}
        return replaced(self, drawn=self.drawn | fresh)

    def seed_of(self, drawing: Node) -> int:
        """Returns the seed of one random operation.

        Raises:
            InvalidArgumentError: it has none, and would draw other numbers on every rank.
        """
        randomness = randomness_of(drawing)
        assert randomness is not None  # of what draws
        if self.are_needed and randomness.seed is None:
            raise InvalidArgumentError(_NO_SEED, stage=drawing.label)
        return self.drawn[randomness.entropy] if randomness.seed is None else randomness.seed

    def listed(self, plan: Node) -> list[int]:
        """Lists the seeds of the operations that were given none, in the order of the plan, to be saved."""
        return [self.drawn[found.entropy] for found in _unseeded(plan)]


def _unseeded(plan: Node) -> list[Randomness]:
    found = (randomness_of(node) for node in nodes_of(plan))
    return [randomness for randomness in found if randomness and randomness.seed is None]


class OwnEnd:
    """After how many steps of its run a rank has no real element any more, and gives what is filled in; None is not known yet.

    It is set before any such step is given.
    """

    steps: int | None = None


@frozen(kw_only=True)
class RunContext:
    """Where an operation stands in a run: what of it decides which elements come.

    How stages run is in the context that they have of their own, which adds to this one.

    Attributes:
        seeds: the run's randomness.
        meters: the run's counters.
        budget: the bytes that the run may hold, and who holds them.
        epoch: the path of epochs: the iterator's index, then the turns of each repeat around the operation.
        within: the names of the operations whose function opened this plan.
        opened: this plan, where a function made it.
        downstream_maps: how many maps stand between here and the end of the plan. It tells maps apart in a state; fusing
            maps, or moving one after a shuffle, changes it for no other.
        max_failures: how many failures a map that skips them may skip.
        sharded_by: the shard that takes its part of what comes from here, if there is one.
        fillings: what each cache gives in this run.
        options: of the whole plan, which hold for the plans that functions make too.
        stream: the stream of a dealt plan that this is; None in front of the dealing and behind it.
        rank: the rank that runs a dealt plan; None in a stream of it, and in all that is the same for all ranks.
        own_end: where a rank ends by itself, in a job whose ranks end together.
        callers: the threads that call functions which have a timeout.
        failures: where it is noted what fails.
        tells_of_unkept: whether a cache that keeps nothing of an epoch that was left says so in the log.
    """

    seeds: Seeds
    meters: Meters
    budget: HeldBytes
    epoch: tuple[int, ...] = (0,)
    within: tuple[object, ...] = ()
    opened: Node | None = None
    downstream_maps: int = 0
    max_failures: int | None = None
    sharded_by: Shard | None = None
    fillings: Fillings = dataclasses.field(default_factory=Fillings)
    options: Options = dataclasses.field(default_factory=Options)
    stream: int | None = None
    rank: int | None = None
    own_end: OwnEnd = dataclasses.field(default_factory=OwnEnd)
    callers: Callers = dataclasses.field(default_factory=Callers)
    failures: Failures = dataclasses.field(default_factory=Failures)
    tells_of_unkept: bool = True

    def for_stream(self, stream: int) -> Self:
        """Returns the context of one stream of a plan that is dealt to ranks: what is random there is its own."""
        return replaced(self, stream=stream, rank=None)

    def of_all_streams(self) -> Self:
        """Returns the context of what all streams read alike."""
        return replaced(self, stream=None)

    def for_repeat(self, turn: int) -> Self:
        """Returns the context of one turn of a repeat."""
        return replaced(self, epoch=(*self.epoch, turn))

    def for_input(self, inputs: Sequence[Node], index: int) -> Self:
        """Returns the context of one dataset among several.

        One that has a random operation in common with a dataset before it is another epoch of that operation. Two
        operations with equal seeds have nothing in common: features and labels can be shuffled alike.
        """
        own = entropies_of(inputs[index])
        is_shared = bool(own) and any(not own.isdisjoint(entropies_of(node)) for node in inputs[:index])
        return self.for_repeat(index) if is_shared else self

    def upstream_of_shard(self, shard: Shard) -> Self:
        """Returns the context of what a shard reads, which all shards must have in one order."""
        return self if shard.num_shards == 1 else replaced(self, sharded_by=shard)

    def for_cache(self, node: Cache, filled: Filled) -> Self:
        """Returns the context of what a cache is filled with."""
        return replaced(
            self,
            epoch=filled.epoch,
            seeds=self.seeds.filling(node, filled),
            fillings=self.fillings.above(node, filled),
            stream=None,  # streams that read the same cache read the same
            rank=None,  # and so do ranks
        )

    def pin(self, node: Cache, state: State | None) -> Pin:
        """Returns what a cache gives in this run, or from a state on."""
        return self.fillings.pin(node, self.seeds, self.iterator_epoch, within=self.within, state=state)

    @property
    def iterator_epoch(self) -> tuple[int, ...]:
        """The epoch of the whole iterator: what is the same wherever in the plan one stands."""
        return self.epoch[:1]

    def upstream_of_maps(self, count: int) -> Self:
        """Returns the context of the input of ``count`` maps in a row."""
        return replaced(self, downstream_maps=self.downstream_maps + count)

    def for_subplan(self, plan: Node, *, opener: Node, index: int) -> Self:
        """Returns the context of the plan that ``opener`` made of its element with that index."""
        return replaced(
            self,
            seeds=self.seeds.within(plan),
            epoch=(*self.epoch, index),
            within=(*self.within, opener.label),
            opened=plan,
        )

    def holding(self, node: Node, remedy: str) -> Holding:
        """Returns where an operation says what it must hold, and how its user makes that less."""
        return self.budget.holding(node.label, remedy, self.meter(node))

    def gathering(self, node: Node, remedy: str) -> Holding:
        """Returns where an operation says what it holds of elements that it makes one of, or looks at before they are taken."""
        return self.budget.gathering(node.label, remedy, self.meter(node))

    def meter(self, node: Node) -> Meter:
        """Returns the counters of a node."""
        return self.meters.of(node, self.within, self._twin(node))

    def known_meter(self, node: Node) -> Meter | None:
        """Returns the counters of a node that stands in a plan; None of one that only helps to run it."""
        return self.meters.known(node, self.within, self._twin(node))

    def _twin(self, node: Node) -> int:
        return 0 if self.opened is None else twin_of(self.opened, node)

    def key(self, drawing: Node, *, each_epoch: bool = True, of_rank: bool = False) -> Key:
        """Returns the random stream of one operation in this epoch, or in all of them.

        Args:
            drawing: the operation.
            each_epoch: whether each epoch has another.
            of_rank: whether each rank has another, for its batches; of none but this is an order, which ranks must have alike.
        """
        seed = self.seeds.seed_of(drawing)
        path = self.epoch if each_epoch else ()
        own = self.rank if of_rank and self.rank is not None else self.stream  # a rank's is that of its first stream
        return Key(seed if own is None else derived_seed(seed, own), path)

    def expect_one_order(self, drawing: Node) -> None:
        """Warns where the node draws which elements come, or in what order, and other processes of a shard draw others."""
        randomness = randomness_of(drawing)
        if self.sharded_by is not None and randomness and randomness.seed is None and not self.seeds.are_given:
            warn_of_own_order(drawing, self.sharded_by)


# A context of one of its kinds: who runs stages gets back one of stages.
SomeContext = TypeVar("SomeContext", bound=RunContext)
