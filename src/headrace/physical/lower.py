"""From plan nodes to stages: one case a node, each with the state that it had saved.

``lower(node, state, context)`` builds the stage of a node and of all that it reads. The state is the tree that
``Cursor.state`` wrote: nodes that add nothing to it pass on what they are given. The cases stand beside their
stages, in ``stages``, and are imported when a plan first has such an operation: a program waits for none that it does not use.
"""

from __future__ import annotations

import importlib
from typing import Final

from headrace.blocks.cursor import State
from headrace.physical.context import StageContext
from headrace.physical.stage import Stage
from headrace.plan.cases import cases
from headrace.plan.node import Node
from headrace.semantics.failures import not_run

__all__ = ["is_ordered", "lower", "modules_of"]


# Families of operations that have stages, in the module of their name.
_FAMILIES: Final = frozenset({
    "buffering", "combining", "dealing", "elementwise", "files", "grouping", "mixing", "nesting", "packing", "querying", "sequencing", "shuffling",
    "skipping", "sources", "stateful", "storing", "windowing",
})  # fmt: skip
# Operations whose stages stand in a module of their own.
_ELSEWHERE: Final = {
    "Concatenate": "sequencing_turns",
    "CyclingBatch": "grouping_rebatch",
    "DealtStreams": "dealing_streams",
    "Filling": "dealing_filling",
    "FromGenerator": "sources_generator",
    "GroupByWindow": "windowing_groups",
    "Prefetch": "buffering_ahead",
    "RejectionResample": "mixing_resample",
    "Repeat": "sequencing_turns",
    "Unbatch": "grouping_unbatch",
    "Unique": "stateful_unique",
    "WithOptions": "buffering_ahead",
}


def modules_of(kind: type[Node]) -> list[str]:
    """Returns the modules that have the stage of an operation, or of one that it extends."""
    families = [(base.__name__, base.__module__.rpartition(".")) for base in kind.__mro__]
    ours = [(name, family) for name, (package, _, family) in families if package == "headrace.plan"]
    names = [_ELSEWHERE.get(name, family) for name, family in ours if family in _FAMILIES]
    return [f"headrace.physical.stages.{name}" for name in names]


def _import_stages(kind: type[Node]) -> None:
    for module in modules_of(kind):
        importlib.import_module(module)


@cases(learn=_import_stages)
def lower(node: Node, state: State | None, context: StageContext) -> Stage:
    """Makes the stage of a node and of all that it reads, at the position that the state says."""
    raise not_run(node)


def is_ordered(deterministic: bool | None, context: StageContext) -> bool:
    """Returns whether a parallel operation keeps the order of its input."""
    return context.replayed or (context.deterministic if deterministic is None else deterministic)
