"""From plan nodes to stages; importing the modules is what makes their cases known."""

from __future__ import annotations

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
from headrace.physical.lowering.dispatch import lower
from headrace.physical.lowering.nesting import changed_since, inner_plan
from headrace.physical.lowering.sequencing import shuffle_key
from headrace.physical.lowering.sources import index_source

__all__ = [
    "buffering",
    "changed_since",
    "combining",
    "elementwise",
    "grouping",
    "index_source",
    "inner_plan",
    "lower",
    "mixing",
    "nesting",
    "querying",
    "sequencing",
    "shuffle_key",
    "sources",
    "stateful",
    "windowing",
]
