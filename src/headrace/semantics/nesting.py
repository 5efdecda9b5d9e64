"""The plan that the function of flat_map or interleave makes of an element."""

from __future__ import annotations

from typing import Any

from headrace.errors import DataLossError
from headrace.observe.frames import holds
from headrace.plan.by_number import numbers_first
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, plan_of
from headrace.semantics.cache_keys import with_keys_of_run
from headrace.semantics.calls import call_on
from headrace.semantics.run_context import SomeContext

__all__ = ["changed_since", "inner_plan"]


@holds(lambda at, _: (at["node"].label, None))
def inner_plan(node: FlatMap, element: Any, index: int, context: SomeContext) -> tuple[Node, SomeContext]:
    """Calls the user's function with an element; returns the plan that it made, and the context in which that runs."""
    plan = numbers_first(plan_of(call_on(node.function, element), stage=node.label))
    inner = context.for_subplan(plan, opener=node, index=index)
    return with_keys_of_run(plan, inner.seeds, inner.options), inner


def changed_since(node: FlatMap) -> DataLossError:
    """Makes the error of a resumed run that does not find the element that had opened a dataset."""
    message = "the element that opened a dataset is not there any more: the data changed since the state was saved"
    return DataLossError(message, stage=node.label)
