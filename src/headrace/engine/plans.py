"""The plan that runs, of the plan that was written."""

from __future__ import annotations

from headrace.optimize.rules import optimized
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.plan.by_number import numbers_first
from headrace.plan.calling import prepared_alone
from headrace.plan.dealt import rank_of_run
from headrace.plan.node import Node
from headrace.plan.options import Options
from headrace.plan.timeouts import with_timeouts

__all__ = ["physical_plan", "unoptimised_plan"]


def physical_plan(plan: Node, options: Options, policy: RunPolicy = USUAL) -> Node:
    """Returns the plan as it will run."""
    plan = unoptimised_plan(plan, options)
    return plan if options.optimize is False or options.executor == "inline" else optimized(plan, policy.rules)


def unoptimised_plan(plan: Node, options: Options) -> Node:
    """Returns the plan as the rules of the optimizer get it: that of the rank, whose sources are asked for numbers."""
    plan = prepared_alone(with_timeouts(plan, options.timeout_s), options)
    if (rank := rank_of_run(plan, options)) is not None:
        from headrace.plan.dealing_ranks import dealt  # what few plans need

        plan = dealt(plan, rank)
    return numbers_first(plan)
