"""The stages of every operation, a family of operations each; importing the modules is what makes their cases of ``lower`` known."""

from __future__ import annotations

from headrace.physical.lower import lower
from headrace.physical.stages import (
    buffering,
    combining,
    elementwise,
    files,
    grouping,
    grouping_rebatch,
    mixing,
    mixing_resample,
    nesting,
    packing,
    querying,
    sequencing,
    shuffling,
    skipping,
    sources,
    sources_generator,
    stateful,
    stateful_unique,
    storing,
    windowing,
    windowing_groups,
)

__all__ = [
    "buffering",
    "combining",
    "elementwise",
    "files",
    "grouping",
    "grouping_rebatch",
    "lower",
    "mixing",
    "mixing_resample",
    "nesting",
    "packing",
    "querying",
    "sequencing",
    "shuffling",
    "skipping",
    "sources",
    "sources_generator",
    "stateful",
    "stateful_unique",
    "storing",
    "windowing",
    "windowing_groups",
]
