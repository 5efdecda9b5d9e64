"""From plan nodes to stages: one case a node, each with the state that it had saved.

``lower(node, state, context)`` builds the stage of a node and of all that it reads. The state is the tree that
``Cursor.state`` wrote: nodes that add nothing to it pass on what they are given.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Final

from headrace.errors import DataLossError, InternalError
from headrace.physical.batching import BatchStage, UnbatchStage
from headrace.physical.block import Block, Failure
from headrace.physical.choosing import (
    ConcatenateStage,
    EnumerateStage,
    RepeatStage,
    ShardStage,
    SkipStage,
    TakeStage,
)
from headrace.physical.context import Context
from headrace.physical.cursor import Cursor, State
from headrace.physical.draws import Key
from headrace.physical.inner import AheadReader, InnerReader
from headrace.physical.keeping import CacheStage
from headrace.physical.mapping import PiecewiseStage, call_on, filter_block, map_block
from headrace.physical.nesting import InterleaveStage, open_failure
from headrace.physical.parallel import ParallelMapStage, UndeliveredStage, undelivered
from headrace.physical.prefetching import PrefetchStage
from headrace.physical.shuffling import ShuffleStage
from headrace.physical.sources import (
    ArraysSource,
    FilesStage,
    GeneratorStage,
    IndexedStage,
    OneSource,
    RandomNumbers,
    RangeSource,
)
from headrace.physical.stage import Pace, Stage
from headrace.physical.zipping import ZipStage
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.combining import FlatMap, Interleave, Zip
from headrace.plan.elementwise import Enumerate, Filter, Map, MapChain
from headrace.plan.grouping import Batch, Unbatch
from headrace.plan.node import AUTOTUNE, Node, plan_of
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Shuffle, Skip, Take
from headrace.plan.sources import Files, FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range

__all__ = ["changed_since", "index_source", "inner_plan", "lower", "shuffle_key"]

# What is read ahead may take longer than a block that somebody waits for: files are parsed by the megabyte, which is
# some milliseconds of work, and cutting it small would only hand over more often.
_READ_AHEAD_S: Final = 1e-2


@functools.singledispatch
def lower(node: Node, state: State | None, context: Context) -> Stage:
    """The stage of a node and of all that it reads, where the state says."""
    raise InternalError(f"no stage is known for {type(node).__name__}")


def _input(state: State | None) -> State | None:
    return state["input"] if state else None


# -------------------------------------------------------------------- sources


@lower.register(FromTensors)
@lower.register(FromTensorSlices)
@lower.register(Range)
@lower.register(RandomSource)
def _indexed(node: Node, state: State | None, context: Context) -> Stage:
    source, length = index_source(node, context)
    return IndexedStage(source, length, context.meter(node), state)


@lower.register
def _generator(node: FromGenerator, state: State | None, context: Context) -> Stage:
    return GeneratorStage(node, context.meter(node), state)


@lower.register
def _files(node: Files, state: State | None, context: Context) -> Stage:
    return FilesStage(node, context.meter(node), state)


def index_source(node: Node, context: Context) -> tuple[Any, int | None]:
    """The indexed source of a node that has one, and its length, None if it never ends."""
    match node:
        case FromTensors():
            return OneSource(node.element), 1
        case FromTensorSlices():
            return ArraysSource(node.treedef, node.columns), len(node.columns[0])
        case Range():
            return RangeSource(node.start, node.stop, node.step, node.dtype), (
                None if node.stop is None else node.cardinality()
            )
        case RandomSource():
            key = context.key(node.randomness, each_epoch=node.rerandomize_each_iteration)
            return RandomNumbers(key), None
    raise InternalError(f"{type(node).__name__} is not read by index")


# -------------------------------------------------- one element after the other


@lower.register
def _filter(node: Filter, state: State | None, context: Context) -> Stage:
    above = lower(node.input, state, context)
    return PiecewiseStage(functools.partial(filter_block, node), above, context.meter(node))


@lower.register
def _enumerate(node: Enumerate, state: State | None, context: Context) -> Stage:
    return EnumerateStage(node, lower(node.input, _input(state), context), context.meter(node), state)


@lower.register
def _batch(node: Batch, state: State | None, context: Context) -> Stage:
    return BatchStage(node, lower(node.input, state, context), context.meter(node))


@lower.register
def _unbatch(node: Unbatch, state: State | None, context: Context) -> Stage:
    # An element of which some slices were given is read again.
    above = lower(node.input, _input(state), context.replaying())
    return UnbatchStage(node.label, above, context.meter(node), state)


@lower.register
def _take(node: Take, state: State | None, context: Context) -> Stage:
    if node.count < 0:
        return lower(node.input, state, context)
    return TakeStage(node.count, lower(node.input, _input(state), context), context.meter(node), state)


def _nothing(node: Take | Skip | Repeat, context: Context) -> Stage:
    """No element at all; what would be read is not."""
    return TakeStage(0, lower(node.input, None, context), context.meter(node), None)


@lower.register
def _skip(node: Skip, state: State | None, context: Context) -> Stage:
    if node.count < 0:
        return _nothing(node, context)
    return SkipStage(node.count, lower(node.input, _input(state), context), context.meter(node), state)


@lower.register
def _shard(node: Shard, state: State | None, context: Context) -> Stage:
    return ShardStage(node, lower(node.input, _input(state), context), context.meter(node), state)


@lower.register
def _concatenate(node: Concatenate, state: State | None, context: Context) -> Stage:
    return ConcatenateStage(
        lambda part, saved: lower(node.inputs[part], saved, context.among(node.inputs, part)),
        context.meter(node),
        state,
    )


@lower.register
def _repeat(node: Repeat, state: State | None, context: Context) -> Stage:
    if node.count == 0:
        return _nothing(node, context)
    return RepeatStage(
        node.count,
        lambda turn, saved: lower(node.input, saved, context.turn(turn)),
        context.meter(node),
        state,
    )


@lower.register
def _zip(node: Zip, state: State | None, context: Context) -> Stage:
    # A turn for each, as in tf.data: the same shuffle twice in a plan gives two orders.
    parts = zip(node.inputs, state["inputs"] if state else [None] * len(node.inputs), strict=True)
    inputs = [lower(child, saved, context.among(node.inputs, part)) for part, (child, saved) in enumerate(parts)]
    return ZipStage(node.treedef, inputs, context.meter(node))


# ---------------------------------------------------- what holds elements back


def shuffle_key(node: Shuffle, context: Context) -> Key:
    """The stream of random numbers that orders a shuffle."""
    return context.key(node.randomness, each_epoch=node.reshuffle_each_iteration)


@lower.register
def _shuffle(node: Shuffle, state: State | None, context: Context) -> Stage:
    above = lower(node.input, _input(state), context.replaying())
    return ShuffleStage(node, shuffle_key(node, context), above, context.meter(node), state)


@lower.register
def _cache(node: Cache, state: State | None, context: Context) -> Stage:
    def build(epoch: tuple[int, ...]) -> Stage:
        return lower(node.input, None, dataclasses.replace(context.replaying(), epoch=epoch))

    return CacheStage(
        node.memory,
        build,
        context.meter(node),
        state,
        epoch=context.epoch,
        cardinality=node.input.cardinality(),
    )


@lower.register
def _prefetch(node: Prefetch, state: State | None, context: Context) -> Stage:
    above = lower(node.input, state, context)
    if context.pool is None or node.buffer_size == 0:
        return above
    size = None if node.buffer_size == AUTOTUNE else node.buffer_size
    return PrefetchStage(above, context.meter(node), buffer_size=size, buffer_bytes=context.buffer_bytes)


@lower.register
def _with_options(node: WithOptions, state: State | None, context: Context) -> Stage:
    return lower(node.input, state, context)


# ------------------------------------------------------------------------ map


@lower.register(Map)
@lower.register(MapChain)
def _map(node: Map | MapChain, state: State | None, context: Context) -> Stage:
    """The stages of a map; it has a state of its own only after unordered delivery."""
    meter = context.meter(node)
    maps = node.maps if isinstance(node, MapChain) else (node,)
    parallel = context.pool is not None and node.num_parallel_calls is not None
    ordered = not parallel or _ordered(node.deterministic, context)
    number = context.maps_behind + len(maps) - 1
    delivered, saved = undelivered(state, range(context.maps_behind, number + 1))
    inside = context.above_maps(len(maps))
    # What is missing is known by its number, so what comes in must come in the same order again.
    above = lower(node.input, saved, inside if ordered else inside.replaying())
    if delivered:
        above = UndeliveredStage(above, meter, delivered, number)
    if context.pool is None or node.num_parallel_calls is None:
        for link in maps:
            above = PiecewiseStage(functools.partial(map_block, link), above, meter)
        return above
    return ParallelMapStage(
        maps,
        above,
        meter,
        pool=context.pool,
        calls=_calls(node.num_parallel_calls, context),
        ordered=ordered,
        number=number,
        buffer_bytes=context.buffer_bytes,
    )


def _calls(wanted: int, context: Context) -> int:
    assert context.pool is not None  # who asks has looked
    return context.pool.workers if wanted == AUTOTUNE else wanted


def _ordered(deterministic: bool | None, context: Context) -> bool:
    return context.replayed or (context.deterministic if deterministic is None else deterministic)


# ------------------------------------------------------- flat_map, interleave


@dataclasses.dataclass(frozen=True, slots=True)
class _SavedPlace:
    """The place of an inner plan that was loaded and not read from yet."""

    saved: State

    def advance(self, count: int) -> Cursor:
        assert count == 0  # once it is read, its blocks say where they stand
        return self

    def state(self) -> State:
        return self.saved


def inner_plan(node: FlatMap, element: Any, number: int, context: Context) -> tuple[Node, Context]:
    """The plan that the user's function makes of an element, and the context in which it runs."""
    plan = plan_of(call_on(node.function, element), stage=node.label)
    return plan, context.inside(plan, opener=node, number=number)


def changed_since(node: FlatMap) -> DataLossError:
    """What is raised where a resumed run does not find the element that had opened a dataset."""
    message = "the element that opened a dataset is not there any more: the data changed since the state was saved"
    return DataLossError(message, stage=node.label)


@lower.register
def _interleave(node: FlatMap, state: State | None, context: Context) -> Stage:
    cycle, block, calls = 1, 1 << 62, None
    deterministic = None
    if isinstance(node, Interleave):
        cycle, block, calls = node.cycle_length or 1, node.block_length, node.num_parallel_calls
        deterministic = node.deterministic
    meter = context.meter(node)
    pace = Pace(bytes_limit=max(1, context.buffer_bytes // (4 * cycle)), target_s=_READ_AHEAD_S)
    parallel = context.pool is not None and calls is not None

    def open_plan(opener: Block, number: int, saved: State | None) -> InnerReader:
        def open_stage() -> Stage | Failure:
            try:
                plan, inside = inner_plan(node, opener.payload.rows()[0], number, context)
                return lower(plan, saved, inside)
            except Exception as error:  # noqa: BLE001 - a user's function may raise anything
                return open_failure(error, node.label, opener)

        place = None if saved is None else _SavedPlace(saved)
        if not parallel or context.pool is None:
            return InnerReader(open_stage, place)
        return AheadReader(open_stage, place, pool=context.pool, pace=pace, meter=meter)

    def reopen(opener: State) -> Block:
        """The element that opened a slot, read again from the place before it."""
        above = lower(node.input, opener, context.alone())
        item = above.pull(1)
        above.close()
        if not isinstance(item, Block):
            raise changed_since(node)
        return item

    return InterleaveStage(
        node.label,
        lower(node.input, _input(state), context.replaying()),  # elements that opened datasets are read again
        meter,
        state,
        cycle_length=cycle,
        block_length=block,
        open_plan=open_plan,
        reopen=reopen,
        ahead=_calls(calls, context) if parallel and calls is not None else 0,
        ordered=not parallel or _ordered(deterministic, context),
    )
