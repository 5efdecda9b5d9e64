"""A plan as it ran: on the line of each operation what it did, a mark where the time goes, and which rule changed what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from headrace.analysis.figures import CONSUMER, MachineFigures
from headrace.analysis.model import Limit, Resource, bottleneck
from headrace.errors import InvalidArgumentError
from headrace.machine import current_share
from headrace.observe.decisions import decision_lines
from headrace.observe.stats import IteratorStats, StageStats, stage_columns
from headrace.observe.tables import Table, data_size, quantity, screen_width
from headrace.optimize.rules import rewritings
from headrace.plan.explain import plan_lines
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import Options
from headrace.profiling.telling import figures_of, told_nodes

__all__ = ["explained_rules", "explained_run", "limit_of", "told"]

# Beside the lines of a plan there is room for few figures; stats() has them all.
_SHOWN: Final = ("elements", "per_s", "p50", "p99", "at_work", "input", "wait", "held")
# A consumer that waits for less than this part of its time is the slower side.
_HARDLY: Final = 0.05
# From this part of the budget on it is said who holds it: what reads ahead stops one block below its own.
_NEARLY: Final = 0.8


def explained_run(plan: Node, options: Options, stats: IteratorStats) -> str:
    """Returns the plan with figures on each line.

    Args:
        plan: as it ran.
        options: of it.
        stats: of the iterator that ran it.
    """
    _check(plan, stats)
    limit = limit_of(plan, options, stats)
    return "\n".join([*_lines(plan, stats, limit), "", *told(stats, limit), *decision_lines(stats.decisions)])


def _check(plan: Node, stats: object) -> None:
    """Refuses figures of another plan, which would stand on the wrong lines."""
    if not isinstance(stats, IteratorStats):
        message = f"stats must be what stats() of an iterator of this dataset returned, not {type(stats).__name__}"
        raise InvalidArgumentError(message, stage="explain")
    nodes = told_nodes(plan)
    names = [stage.name for stage in stats.stages[: len(nodes)]]
    if names and names != [node.label for node in nodes]:
        message = f"stats are of another dataset, which ran as {', '.join(names)}"
        raise InvalidArgumentError(message, stage="explain")


def limit_of(plan: Node, options: Options, stats: IteratorStats) -> Limit | None:
    """Returns what holds the pipeline up; None where its consumer is slower."""
    if stats.step.waited.count and stats.step.wait_share < _HARDLY:
        return None
    return bottleneck(figures_of(plan, options, stats, MachineFigures(cores=current_share().cores)))


def _lines(plan: Node, stats: IteratorStats, limit: Limit | None) -> list[str]:
    nodes = told_nodes(plan)
    stages = {id(node): stage for node, stage in zip(nodes, stats.stages, strict=False)}
    marked = id(nodes[limit.key]) if limit is not None and limit.key != CONSUMER else None
    rows: list[tuple[str, StageStats | None, str]] = [
        (line, stages.get(id(node)), "← bottleneck" if id(node) == marked else "") for line, node in plan_lines(plan)
    ]
    if inner := stats.stages[len(nodes) :]:
        rows.append(("in the datasets that functions made", None, ""))
        rows += [(f"  {stage.name}", stage, "") for stage in inner]
    shown = [column for column in stage_columns(stats.stages) if column.title in _SHOWN]
    blank = [""] * len(shown)
    table = Table(
        ["operation", *(column.title for column in shown), ""],
        [
            [name, *(blank if stage is None else [column.text(stage) for column in shown]), mark]
            for name, stage, mark in rows
        ],
    )
    return table.lines(screen_width())


def told(stats: IteratorStats, limit: Limit | None) -> Iterator[str]:
    """Yields what holds the pipeline up, in words, and what would help."""
    if limit is None:
        yield f"the caller waits {stats.step.wait_share:.0%} of its time: nothing here holds it up"
    elif limit.key != CONSUMER:
        stage = stats.stages[limit.key]
        what = {
            Resource.THREAD: "its thread allows",
            Resource.WORKERS: f"its {stage.max_parallelism} calls at once allow",
            Resource.LOCK: "Python's lock allows",
            Resource.CORES: f"{limit.capacity:.0f} cores allow",
            Resource.STEP: "the step allows",
        }[limit.resource]
        yield f"{stage.name} takes most: {what} about {quantity(limit.rate)} elements a second at the end of the plan"
    if stats.highest_held_bytes >= _NEARLY * stats.ram_budget_bytes > 0:
        yield _held_most(stats)
    yield from filter(None, (stage.advice for stage in stats.stages))


def _held_most(stats: IteratorStats) -> str:
    """Says who holds most of a budget that is nearly used."""
    most = max(stats.stages, key=lambda stage: stage.held_bytes)
    return (
        f"the ram_budget of {data_size(stats.ram_budget_bytes)} was nearly used ({data_size(stats.highest_held_bytes)}): "
        f"{most.name} holds {data_size(most.held_bytes)}"
    )


def explained_rules(plan: Node) -> list[str]:
    """Returns a line for each rule of the optimizer that changes the plan: what of it is no longer there, and what has come."""
    return [f"{rule}: {_changed(before, after)}" for rule, before, after in rewritings(plan)]


def _changed(before: Node, after: Node) -> str:
    was, is_now = (Counter(node.label for node in nodes_of(plan)) for plan in (before, after))
    gone, come = ", ".join((was - is_now).elements()), ", ".join((is_now - was).elements())
    if gone and come:
        return f"{gone} → {come}"
    if come:
        return f"adds {come}"
    return f"takes out {gone}" if gone else "the same operations in another order, or told more"
