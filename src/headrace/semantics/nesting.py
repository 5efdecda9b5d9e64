"""The plan that the function of flat_map or interleave makes of an element."""

from __future__ import annotations

from typing import Any

from headrace.errors import InputChangedError
from headrace.observe.frames import holds
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, no_dataset, plan_of
from headrace.semantics.calls import call_on
from headrace.semantics.inner_plans import in_run
from headrace.semantics.run_context import SomeContext

__all__ = ["changed_since", "inner_plan", "made_plan"]


def inner_plan(node: FlatMap, element: Any, index: int, context: SomeContext) -> tuple[Node, SomeContext]:
    """Calls the user's function with an element; returns the plan that it made, and the context in which that runs."""
    return in_run(made_plan(node, element), node, index, context)


@holds(lambda at, _: (at["node"].label, None))
def made_plan(node: FlatMap, element: Any) -> Node:
    """Calls the user's function with an element; returns the plan that it made, as it was written."""
    made = call_on(node.function, element)
    plan = plan_of(made)
    if plan is None:
        raise no_dataset(made)
    return plan


def changed_since(node: FlatMap) -> InputChangedError:
    """Makes the error of a resumed run that does not find the element that had opened a dataset."""
    message = "the element that opened a dataset is not there any more: the data changed since the state was saved"
    return InputChangedError(message, stage=node.label)
