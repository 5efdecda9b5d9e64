"""Limits of headrace's own that no generated plan would come to, and how small the laws set them."""

from __future__ import annotations

from typing import Final

__all__ = [
    "COMPUTED_ORDERS",
    "FEW_IDLE_DRAWS",
    "FEW_ROWS_AT_A_TIME",
    "FEW_WOVEN",
    "PARTS_OF_ONE_GROUP",
    "STACKED_BY_WORKERS",
    "TOLD_HOWEVER_SLIGHT",
]

# Mixtures that choose nothing end after few draws: each stream of one draws by itself.
FEW_IDLE_DRAWS: Final = {
    "headrace.semantics.mixing.IDLE_LIMIT": 50,
    "headrace.physical.stages.mixing.IDLE_LIMIT": 50,
    "headrace.backends.reference.mixing.IDLE_LIMIT": 50,
}
# A part of what is ready of all streams is woven, as of thousands of elements; and of what all read, few blocks are held for the last.
FEW_WOVEN: Final = {
    "headrace.physical.stages.dealing_streams._WOVEN_AT_ONCE": 9,
    "headrace.physical.stages.dealing_shared._MOST_BYTES": 150,
}
# Shuffles of more than a few elements compute their order, as those of millions do.
COMPUTED_ORDERS: Final = {"headrace.semantics.shuffling.COMPUTED_FROM": 9}
# Elements of any size are placed in their batch by the workers that make them, or as they come.
STACKED_BY_WORKERS: Final = {
    "headrace.physical.workers.batch_memory._FEWEST_BYTES": 0,
    "headrace.physical.stages.grouping_batches._HEAVY_BYTES": 0,
    "headrace.physical.stages.grouping_batches._FEW_ELEMENTS": 1,
}
# What is left of blocks of small elements is told as well.
TOLD_HOWEVER_SLIGHT: Final = {"headrace.physical.lookahead._SLIGHT_BYTES": 1}
# Rows for filters are made a few at a time in blocks of more than a few, as in those of hundreds.
FEW_ROWS_AT_A_TIME: Final = {"headrace.physical.loops.taken_rows._FEW": 3}
# A row group is worth a task however small, as those of megabytes are.
PARTS_OF_ONE_GROUP: Final = {
    "headrace.io.columnar.parquet._PART_BYTES": 1,
    "headrace.physical.workers.files_ahead._WORTH_BYTES": 0,
}
