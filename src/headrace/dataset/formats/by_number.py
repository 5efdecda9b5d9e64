"""What the datasets of indexed formats have in common: records that are read by their number."""

from __future__ import annotations

from typing import Any

from headrace.dataset.dataset import Dataset
from headrace.errors import InvalidArgumentError
from headrace.io.file_format import FileFormat
from headrace.io.files import paths_of_files
from headrace.io.indexing.records import INDEXED_FORMATS, IndexedRecords
from headrace.plan.by_number import Source
from headrace.plan.fetching import FetchMany, fetch_of
from headrace.plan.sources import Range

__all__ = ["by_number"]


def by_number(
    filenames: Any,
    files: FileFormat,
    kind: str,
    *,
    num_parallel_reads: int | None = None,
    on_error: str = "raise",
    name: str | None = None,
) -> Dataset:
    """The records of files that are named, by their number.

    Raises:
        InvalidArgumentError: a dataset of names, which only a run could count, or compressed files.
    """
    if isinstance(filenames, Dataset):
        raise InvalidArgumentError(f"{files.op}: random_access=True needs the names themselves, not a dataset of names")
    paths = paths_of_files(filenames, stage=files.op)
    stage = f"{files.op} '{name}'" if name else files.op
    compression = files.parameters().get("compression_type")
    # Elements of which nobody knows what they are may be unlike each other: no column holds them.
    fetch = fetch_of if files.spec() is not None else FetchMany
    records = IndexedRecords(paths, INDEXED_FORMATS[kind], compression_type=compression, stage=stage)
    return Dataset(
        Source(
            input=Range(start=0, stop=len(records), step=1, name=name),
            function=fetch(records),
            num_parallel_calls=num_parallel_reads,
            on_error=on_error,
            name=name or files.op,
        )
    )
