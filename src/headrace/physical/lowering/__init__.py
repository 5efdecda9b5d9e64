"""From plan nodes to stages; importing the modules is what makes their cases known."""

from __future__ import annotations

from headrace.physical.lower import lower
from headrace.physical.lowering import (
    buffering,
    combining,
    elementwise,
    grouping,
    mixing,
    nesting,
    querying,
    sequencing,
    sources,
    stateful,
    windowing,
)

__all__ = [
    "buffering",
    "combining",
    "elementwise",
    "grouping",
    "lower",
    "mixing",
    "nesting",
    "querying",
    "sequencing",
    "sources",
    "stateful",
    "windowing",
]
