"""How the plans run that functions make of elements, windows and groups."""

from __future__ import annotations

from headrace.plan.by_number import numbers_first
from headrace.plan.node import Node
from headrace.plan.timeouts import with_timeouts
from headrace.semantics.cache_keys import with_keys_of_run
from headrace.semantics.noting import noted
from headrace.semantics.run_context import SomeContext

__all__ = ["in_run"]


def in_run(plan: Node, opener: Node, index: int, context: SomeContext) -> tuple[Node, SomeContext]:
    """Returns the plan that an operation made of its element with that index as it runs, and the context in which it does."""
    plan = numbers_first(with_timeouts(plan, context.options.timeout_s))
    inner = context.for_subplan(plan, opener=opener, index=index)
    return noted(with_keys_of_run(plan, inner.seeds, inner.options), inner.failures), inner
