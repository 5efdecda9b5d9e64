"""The figures of the model, as the statistics of a run and the plan that ran tell them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.analysis.figures import CONSUMER, Kind, MachineFigures, PipelineFigures, StageFigures
from headrace.arguments import AUTOTUNE
from headrace.durations import Times
from headrace.observe.stats import IteratorStats, StageStats
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.elementwise import Filter, Map, MapChain, RandomMap
from headrace.plan.nesting import FlatMap
from headrace.plan.node import INFINITE_CARDINALITY, Node, nodes_of, parallel_calls_of
from headrace.plan.options import Options
from headrace.plan.randomness import randomness_of

__all__ = ["figures_of", "told_nodes"]

# The thread that reads a plan in a process beside the trainer.
_BESIDE: Final = -3
# So many times the median is slow.
_SLOW: Final = 20
_MAPS: Final = (Map, MapChain, RandomMap, Filter)


def told_nodes(plan: Node) -> list[Node]:
    """Returns the nodes of which statistics tell, in their order: its place there is the number of a stage."""
    return list({id(node): node for node in nodes_of(plan) if not isinstance(node, WithOptions)}.values())


def figures_of(plan: Node, options: Options, stats: IteratorStats, machine: MachineFigures) -> PipelineFigures:
    """Returns what the stages did for a step.

    Args:
        plan: the plan as it ran.
        options: of the plan.
        stats: of the iterator that ran it.
        machine: what it may use.
    """
    nodes = told_nodes(plan)
    keys = {id(node): key for key, node in enumerate(nodes)}
    is_beside = options.executor == "subprocess"
    segments = _segments(plan, _BESIDE if is_beside else CONSUMER, keys)
    steps_per_s = stats.stages[len(nodes) - 1].elements_per_s if stats.stages else 0.0
    share_bytes = stats.ram_budget_bytes / max(1, sum(_reads_ahead(node) for node in nodes))
    stages = [
        _stage(node, keys, segments[id(node)], told, steps_per_s=steps_per_s, share_bytes=share_bytes, options=options)
        for node, told in zip(nodes, stats.stages, strict=False)
    ]
    return PipelineFigures(stages=tuple(stages), machine=machine)


def _stage(
    node: Node,
    keys: dict[int, int],
    segment: int,
    told: StageStats,
    *,
    steps_per_s: float,
    share_bytes: float,
    options: Options,
) -> StageFigures:
    calls = parallel_calls_of(node)
    made = told.service.count / told.window_s if told.window_s > 0 else 0.0
    visits = (made or told.elements_per_s) / steps_per_s if steps_per_s > 0 else 0.0
    executor = (
        options.executor if options.executor == "subprocess" else getattr(node, "executor", None) or options.executor
    )
    held = told.buffered_bytes / share_bytes if share_bytes > 0 and _reads_ahead(node) else 0.0
    return StageFigures(
        key=keys[id(node)],
        name=told.name,
        kind=_kind(node),
        reads=tuple(dict.fromkeys(keys[id(read)] for read in _read_by(node))),
        segment=segment,
        visits=visits,
        service_s=told.service.mean_s,
        cpu_s=told.service.mean_s * _at_work(told),
        lock_share=told.gil_share or 0.0,
        calls=None if calls is None else told.max_parallelism,
        is_tuned=calls == AUTOTUNE,
        is_elsewhere=executor == "subprocess" or (calls is not None and executor == "process"),
        p50_s=told.service.p50_s,
        longest_s=told.service.max_s,
        slow_visits=visits * _slow_share(told.service),
        nbytes=told.buffered_bytes / told.buffered if told.buffered else 0.0,
        may_be_cached=_is_same_each_epoch(node),
        held_share=min(1.0, held),
    )


def _is_same_each_epoch(node: Node) -> bool:
    """Returns whether all epochs have the same elements, as far as it is known, and an end."""
    nodes = list(nodes_of(node))
    is_random = any(randomness_of(other) is not None or other.opens_plans for other in nodes)
    return not is_random and node.cardinality() != INFINITE_CARDINALITY


def _at_work(told: StageStats) -> float:
    """Returns the part of the work for which a processor is needed: to wait for one on a busy machine is no wait of the stage's own."""
    if told.blocked_share is not None:
        return 1 - told.blocked_share
    return 1.0 if told.cpu_share is None else told.cpu_share


def _kind(node: Node) -> Kind:
    if isinstance(node, FlatMap):
        return Kind.INTERLEAVE
    if isinstance(node, _MAPS):
        return Kind.MAP
    if isinstance(node, Cache):
        return Kind.CACHE
    if isinstance(node, Prefetch):
        return Kind.PREFETCH
    return Kind.OTHER if node.inputs else Kind.SOURCE


def _segments(plan: Node, outermost: int, keys: dict[int, int]) -> dict[int, int]:
    """Returns the thread in which each node is read, of which the outermost reads the whole."""
    segments: dict[int, int] = {}
    waiting = [(plan, outermost)]
    while waiting:
        node, segment = waiting.pop()
        segments[id(node)] = segment
        behind = keys[id(node)] if isinstance(node, Prefetch) else segment
        waiting += [(read, behind) for read in node.inputs]
    return segments


def _read_by(node: Node) -> Iterator[Node]:
    """Yields the nodes that a node reads, settings left out."""
    for read in node.inputs:
        if isinstance(read, WithOptions):
            yield from _read_by(read)
        else:
            yield read


def _reads_ahead(node: Node) -> bool:
    return isinstance(node, Prefetch) or parallel_calls_of(node) is not None


def _slow_share(service: Times) -> float:
    """Returns about what part of the elements took far longer than the others."""
    slow_s = _SLOW * service.p50_s
    if not service.count or service.max_s <= slow_s:
        return 0.0
    if service.p95_s > slow_s:
        return 0.05
    return 0.01 if service.p99_s > slow_s else 1 / service.count
