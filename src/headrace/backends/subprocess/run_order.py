"""What another process is told of a run that it is to make."""

from __future__ import annotations

import dataclasses
from typing import Final

from headrace.physical.run_policy import RunPolicy
from headrace.plan.dealt import dealing_of
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import Options
from headrace.plan.timeouts import preparing_s
from headrace.processes.orders import Known, RunOrder
from headrace.semantics.run_context import Seeds

__all__ = ["NOTHING_KNOWN", "order_of_run"]

NOTHING_KNOWN: Final = Known(None, None, 0)


def order_of_run(
    plan: Node, options: Options, *, seeds: Seeds, epoch: int, feeds: int, policy: RunPolicy, most: int | None
) -> RunOrder:
    """Returns what the process is told, of a run that begins at the start."""
    return RunOrder(
        _as_there(plan, options),
        seeds,
        epoch,
        feeds,
        policy,
        NOTHING_KNOWN,
        is_resumed=False,
        skipped=0,
        most=most,
        is_ordered=_keeps_order(plan, options),
        preparing_s=preparing_s(plan, options.timeout_s),
    )


def _keeps_order(plan: Node, options: Options) -> bool:
    """Returns whether a run that begins again gives the same elements in the same order: no operation hands on what is ready first."""
    if dealing_of(plan) is not None:
        return True
    asked = [getattr(node, "deterministic", None) for node in nodes_of(plan)]
    return options.deterministic is not False and False not in asked


def _as_there(plan: Node, options: Options) -> Options:
    """Returns the options with which the plan runs in the other process."""
    from headrace.ranks import current

    there = dataclasses.replace(options, executor="thread", stall_warning_s=0, worker_init=None)
    if dealing_of(plan) is None:
        return there
    rank = current(options.rank, options.world_size)
    return dataclasses.replace(there, rank=rank.rank, world_size=rank.world_size)
