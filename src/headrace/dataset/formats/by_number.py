"""What the datasets of indexed formats have in common: records that are read by their index."""

from __future__ import annotations

from typing import Any

from headrace.dataset.dataset import Dataset
from headrace.errors import InvalidArgumentError
from headrace.io.file_format import FileFormat
from headrace.io.files import paths_of_files
from headrace.io.indexing.formats import INDEXED_FORMATS
from headrace.io.indexing.records import IndexedRecords
from headrace.plan.by_number import Source
from headrace.plan.fetching import FetchMany, fetch_of
from headrace.plan.node import Node
from headrace.plan.sources import Range

__all__ = ["by_number"]


def by_number(
    filenames: Any,
    file_format: FileFormat,
    kind: str,
    *,
    num_parallel_reads: int | None = None,
    on_error: str = "raise",
    name: str | None = None,
) -> Node:
    """Returns the plan of the records of files that are named, by their index.

    Args:
        filenames: one name, or several.
        file_format: what the files are.
        kind: the kind of index, one of ``INDEXED_FORMATS``.
        num_parallel_reads: how many blocks of records are fetched at once.
        on_error: what becomes of records that cannot be read, ``"raise"`` or ``"skip"``.
        name: what the operation is called in messages and statistics.

    Raises:
        InvalidArgumentError: a dataset of names, which only a run could count, or compressed files.
    """
    if isinstance(filenames, Dataset):
        raise InvalidArgumentError(
            f"{file_format.op}: random_access=True needs the names themselves, not a dataset of names"
        )
    paths = paths_of_files(filenames, stage=file_format.op)
    stage = f"{file_format.op} '{name}'" if name else file_format.op
    compression = file_format.parameters().get("compression_type")
    # Elements of which nobody knows what they are may be unlike each other: no column holds them.
    fetch = fetch_of if file_format.spec() is not None else FetchMany
    records = IndexedRecords(paths, INDEXED_FORMATS[kind], compression_type=compression, stage=stage)
    return Source(
        input=Range(start=0, stop=len(records), step=1, name=name),
        function=fetch(records),
        num_parallel_calls=num_parallel_reads,
        on_error=on_error,
        name=name or file_format.op,
    )
