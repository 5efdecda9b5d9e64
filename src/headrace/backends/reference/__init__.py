"""The reference: what a plan means, element by element, in the caller's thread.

Each operation is one small class, and reads as its specification; what all of them promise stands in ``stream``. Every
other way of running a plan must give the same elements in the same order, and must take and give the same states.
Nothing here is fast, and nothing here is optimised. Importing the modules is what makes their cases known.
"""

from __future__ import annotations

from headrace.backends.reference import (
    buffering,
    combining,
    dealing,
    elementwise,
    files,
    grouping,
    looking,
    mixing,
    nesting,
    packing,
    querying,
    sequencing,
    shuffling,
    skipping,
    sources,
    stateful,
    storing,
    windowing,
)
from headrace.backends.reference.dispatch import stream_of

__all__ = [
    "buffering",
    "combining",
    "dealing",
    "elementwise",
    "files",
    "grouping",
    "looking",
    "mixing",
    "nesting",
    "packing",
    "querying",
    "sequencing",
    "shuffling",
    "skipping",
    "sources",
    "stateful",
    "storing",
    "stream_of",
    "windowing",
]
