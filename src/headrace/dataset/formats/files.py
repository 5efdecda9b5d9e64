"""What the datasets of all formats have in common: the records of files that are named, or that a dataset names."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from headrace.dataset.dataset import Dataset
from headrace.io.files import path_of
from headrace.plan.sources import Files, RecordFormat

__all__ = ["of_files"]


def of_files(
    filenames: Any,
    make: RecordFormat,
    *,
    num_parallel_reads: int | None = None,
    on_error: str = "raise",
    name: str | None = None,
    indexed: str | None = None,
) -> Dataset:
    """The records of files that are named, or that a dataset names; by their number where ``indexed`` says as what."""
    if indexed is not None:
        from headrace.dataset.formats.by_number import by_number

        return by_number(filenames, make, indexed, num_parallel_reads=num_parallel_reads, on_error=on_error, name=name)
    if isinstance(filenames, Dataset):

        def open_one(path: str) -> Dataset:
            return Dataset(Files(paths=(path,), format=make, on_error=on_error, name=name))

        if num_parallel_reads is None:
            return filenames.flat_map(open_one, name=name)
        return filenames.interleave(open_one, num_parallel_calls=num_parallel_reads, name=name)
    listed = [filenames] if isinstance(filenames, (str, os.PathLike)) else list(filenames)
    paths = tuple(path_of(path) for path in listed)
    if num_parallel_reads is None:
        return Dataset(Files(paths=paths, format=make, on_error=on_error, name=name))
    named = Dataset.from_tensor_slices(np.array(paths, dtype=object))
    return of_files(named, make, num_parallel_reads=num_parallel_reads, on_error=on_error, name=name)
