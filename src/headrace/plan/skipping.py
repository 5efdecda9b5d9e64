"""The plan node that leaves out elements that failed."""

from __future__ import annotations

from typing import ClassVar

from headrace.arguments import check_flags
from headrace.frozen import frozen
from headrace.plan.node import UNKNOWN_CARDINALITY, UnaryNode

__all__ = ["IgnoreErrors"]


@frozen(kw_only=True, eq=False)
class IgnoreErrors(UnaryNode):
    """The elements that did not fail."""

    op: ClassVar[str] = "ignore_errors"
    log_warning: bool = False

    def __post_init__(self) -> None:
        check_flags(self, "log_warning")

    def _cardinality(self) -> int:
        """Returns UNKNOWN_CARDINALITY: only a run could tell."""
        return UNKNOWN_CARDINALITY
