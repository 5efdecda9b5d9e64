"""What plan nodes have in common that ask a function of the user's of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.arguments import check_function
from headrace.frozen import frozen
from headrace.plan.node import UNKNOWN_CARDINALITY, UnaryNode, function_name

__all__ = ["Predicated"]


@frozen(kw_only=True, eq=False)
class Predicated(UnaryNode):
    """Some of the elements, as a function says."""

    predicate: Callable[..., Any]

    def __post_init__(self) -> None:
        check_function(self.predicate, stage=self.op)

    def _cardinality(self) -> int:
        """Returns UNKNOWN_CARDINALITY: only a run could tell."""
        return UNKNOWN_CARDINALITY

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the user's predicate."""
        return (self.predicate,)

    def parameters(self) -> dict[str, Any]:
        """Returns the predicate's name."""
        return {"predicate": function_name(self.predicate)}
