"""The figures of the model, as the statistics of a run and the plan that ran tell them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

from headrace.analysis.figures import (
    BESIDE,
    CONSUMER,
    OWN,
    TRAINER,
    Kind,
    MachineFigures,
    PipelineFigures,
    StageFigures,
)
from headrace.arguments import AUTOTUNE
from headrace.observe.stats import IteratorStats, StageStats
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.elementwise import Filter, Map, MapChain, RandomMap
from headrace.plan.nesting import FlatMap, Interleave
from headrace.plan.node import INFINITE_CARDINALITY, Node, nodes_of, parallel_calls_of, reads_ahead
from headrace.plan.options import Options
from headrace.plan.randomness import randomness_of
from headrace.profiling.contention import IDLE, Contention

__all__ = ["figures_of", "told_nodes"]

# The thread that reads a plan in a process beside the trainer.
_READER: Final = -3
# A stage that waits for memory for so much of the time has as many calls as there is memory for.
_SHORT: Final = 0.3
# What is as short is mostly the interpreter's own work.
_AT_ONCE_S: Final = 5e-5
# Work that has a processor for so much of its time computes: what is left is how the clocks are read, and hand-overs.
_COMPUTES: Final = 0.85
_MAPS: Final = (Map, MapChain, RandomMap, Filter)


def told_nodes(plan: Node) -> list[Node]:
    """Returns the nodes of which statistics tell, in their order: its place there is the number of a stage."""
    return list({id(node): node for node in nodes_of(plan) if not isinstance(node, WithOptions)}.values())


def figures_of(
    plan: Node,
    options: Options,
    stats: IteratorStats,
    machine: MachineFigures,
    *,
    is_first: bool = True,
    step_nbytes: float = 0.0,
    contention: Contention = IDLE,
) -> PipelineFigures:
    """Returns what the stages did for a step.

    Args:
        plan: the plan as it ran.
        options: of the plan.
        stats: of the iterator that ran it.
        machine: what it may use.
        step_nbytes: how many bytes an element has that comes out; 0 where it is not known.
        is_first: whether caches are to be filled yet; not so in an epoch after another.
        contention: how long what could run waited for a core.
    """
    nodes = told_nodes(plan)
    keys = {id(node): key for key, node in enumerate(nodes)}
    if options.executor == "inline":
        segments = dict.fromkeys(keys, CONSUMER)
    else:
        segments = _segments(plan, _READER if options.executor == "subprocess" else CONSUMER, keys)
    steps_per_s = stats.stages[len(nodes) - 1].elements_per_s if stats.stages else 0.0
    made = {id(node): told.elements for node, told in zip(nodes, stats.stages, strict=False)}
    stages = [
        dataclasses.replace(
            _stage(node, keys, told, steps_per_s, options, contention),
            segment=segments[id(node)],
            fits=_fits(node, told, stats),
            misses=_misses(node, told, made, is_first=is_first),
        )
        for node, told in zip(nodes, stats.stages, strict=False)
    ]
    stages = _with_opened(stages, nodes, stats.stages, contention)
    stages = _weighed(stages, nodes, step_nbytes)
    machine = dataclasses.replace(machine, ram_budget_bytes=stats.ram_budget_bytes)
    return PipelineFigures(stages=tuple(stages), machine=machine)


def _stage(
    node: Node, keys: dict[int, int], told: StageStats, steps_per_s: float, options: Options, contention: Contention
) -> StageFigures:
    calls = _calls(node, told, options)
    made = told.service.count / told.window_s if told.window_s > 0 else 0.0
    process = _process(node, options, calls)
    at_work = _at_work(told, _stretch(contention, process))
    visits = (made or told.elements_per_s) / steps_per_s if steps_per_s > 0 else 0.0
    return StageFigures(
        key=keys[id(node)],
        name=told.name,
        kind=_kind(node),
        reads=tuple(dict.fromkeys(keys[id(read)] for read in _read_by(node))),
        visits=visits,
        service_s=told.service.mean_s,
        cpu_s=told.service.mean_s * at_work,
        lock_share=_lock_share(told, at_work),
        calls=None if calls is None else max(told.max_parallelism, calls),
        in_use=told.parallelism,
        most_calls=calls if reads_ahead(node) else _most_calls(node),
        is_tuned=calls == AUTOTUNE,
        process=process,
        p50_s=told.service.p50_s,
        longest_s=told.service.max_s,
        nbytes=told.element_nbytes,
        may_be_cached=_is_same_each_epoch(node),
        depth=node.buffer_size if isinstance(node, Prefetch) and node.buffer_size >= 0 else None,
    )


def _calls(node: Node, told: StageStats, options: Options) -> int | None:
    """Returns how many calls at once it has, or AUTOTUNE; None where it has no workers."""
    if options.executor == "inline":
        return None
    if reads_ahead(node) and told.max_parallelism > 1:
        return told.max_parallelism
    return parallel_calls_of(node)


def _with_opened(
    stages: Sequence[StageFigures], nodes: Sequence[Node], stats: Sequence[StageStats], contention: Contention
) -> list[StageFigures]:
    """Returns the stages with what the datasets take that their functions make, whose own stages are in no plan.

    Of a stage that waited in its own thread for them, it is the rest of its wait: what it reads took the other part.
    """
    found: list[StageFigures] = []
    for stage, node, told in zip(stages, nodes, stats, strict=False):
        made = told.service.count
        if node.opens_plans and stage.calls is None and made:
            inside_s = max(0.0, told.input_wait_share - sum(_span(stages[key], stats[key]) for key in stage.reads))
            more_s = inside_s * told.window_s / made
            at_work = _at_work(told, _stretch(contention, stage.process))
            service_s = stage.service_s + more_s
            held_s = stage.service_s * stage.lock_share + more_s * _lock_share_inside(told, stats)
            stage = dataclasses.replace(  # noqa: PLW2901 - the same stage, with more
                stage,
                service_s=service_s,
                cpu_s=stage.cpu_s + more_s * at_work,
                lock_share=held_s / service_s if service_s > 0 else 0.0,
            )
        found.append(stage)
    return found


def _lock_share_inside(opener: StageStats, stats: Sequence[StageStats]) -> float:
    """Returns the part of their work in which stages hold the lock that stand in the datasets of one operation."""
    inside = [told for told in stats if told.within == opener.name]
    work = sum(told.parallelism for told in inside)
    held = sum(told.parallelism * _lock_share(told, told.cpu_share or 0.0) for told in inside)
    return held / work if work > 0 else 0.0


def _span(stage: StageFigures, told: StageStats) -> float:
    """Returns the part of the time for which a stage keeps the thread that reads it."""
    if stage.kind is Kind.PREFETCH or stage.calls is not None:
        return told.wait_share
    return told.parallelism + told.wait_share + told.input_wait_share


def _weighed(stages: list[StageFigures], nodes: Sequence[Node], step_nbytes: float) -> list[StageFigures]:
    """Returns the stages with the bytes of their elements; where nobody looked, what reads them has as many in a step."""
    of_step = {stage.key: stage.nbytes * stage.visits for stage in stages if stage.nbytes}
    if stages:
        of_step.setdefault(stages[-1].key, step_nbytes * stages[-1].visits)
    weighed: list[StageFigures] = []
    for stage, node in zip(reversed(stages), reversed(nodes[: len(stages)]), strict=True):
        in_step = of_step.get(stage.key, 0.0)
        for read in stage.reads:
            of_step.setdefault(read, in_step / len(stage.reads))
        nbytes, count = in_step / stage.visits if stage.visits else 0.0, node.cardinality()
        weighed.append(dataclasses.replace(stage, nbytes=nbytes, epoch_nbytes=nbytes * count if count >= 0 else None))
    return weighed[::-1]


def _most_calls(node: Node) -> int | None:
    """Returns how many calls at once there may be at most: datasets that are read side by side, or one, as of a filter; None where as many as there are."""
    if isinstance(node, Interleave):
        return node.cycle_length
    return None if hasattr(node, "num_parallel_calls") else 1


def _process(node: Node, options: Options, calls: int | None) -> str:
    if calls is not None and (getattr(node, "executor", None) or options.executor) == "process":
        return OWN
    return BESIDE if options.executor == "subprocess" else TRAINER


def _fits(node: Node, told: StageStats, stats: IteratorStats) -> float | None:
    """Returns how many calls at once there is memory for; None where that holds up nothing."""
    is_short = parallel_calls_of(node) is not None and told.budget_wait_s > _SHORT * stats.elapsed_s
    return told.parallelism if is_short else None


def _misses(node: Node, told: StageStats, made: dict[int, int], *, is_first: bool) -> bool:
    """Returns whether a cache kept nothing of an epoch that it was to keep."""
    if not isinstance(node, Cache):
        return False
    is_made_again = not is_first and any(made.get(id(read), 0) for read in _read_by(node))
    return told.unkept > 0 or is_made_again


def _is_same_each_epoch(node: Node) -> bool:
    """Returns whether all epochs have the same elements, as far as it is known, and an end."""
    nodes = list(nodes_of(node))
    is_random = any(randomness_of(other) is not None or other.opens_plans for other in nodes)
    return not is_random and node.cardinality() != INFINITE_CARDINALITY


def _lock_share(told: StageStats, at_work: float) -> float:
    """Returns the part of the work in which it holds the lock; of what was not looked at, all of what is done at once."""
    if told.gil_share is not None:
        return told.gil_share
    return at_work if told.service.mean_s < _AT_ONCE_S else 0.0


def _at_work(told: StageStats, stretch: float) -> float:
    """Returns the part of the work for which a processor is needed.

    To wait for one on a busy machine is no wait of the stage's own, so its time with a processor counts as often as all that could run took longer, and
    the part in which it was not seen blocked counts. That is seen at few moments; a processor worked for no less than it was counted to.
    """
    counted = None if told.cpu_share is None else stretch * told.cpu_share
    seen = [counted] if told.blocked_share is None else [counted, 1 - told.blocked_share]
    at_work = min(1.0, max((share for share in seen if share is not None), default=1.0))
    return 1.0 if at_work >= _COMPUTES else at_work


def _stretch(contention: Contention, process: str) -> float:
    return contention.here if process == TRAINER else contention.elsewhere


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
