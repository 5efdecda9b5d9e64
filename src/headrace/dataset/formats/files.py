"""What the datasets of all formats have in common: the records of files that are named, or that a dataset names."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dataset.dataset import Dataset
from headrace.errors import InvalidArgumentError
from headrace.io.file_format import FileFormat
from headrace.io.files import path_of, paths_of_files
from headrace.plan.sources import Files
from headrace.tensor_spec import TensorSpec

__all__ = ["of_files"]


def of_files(
    filenames: Any,
    make: FileFormat,
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
        _check_names(filenames, stage=make.op)

        def open_one(*element: Any) -> Dataset:
            try:
                path = path_of(element[0] if len(element) == 1 else element)  # type: ignore[arg-type]  # checked there
            except InvalidArgumentError as error:
                raise error.located(stage=make.op, origin=None) from None
            return Dataset(Files(paths=(path,), format=make, on_error=on_error, name=name))

        if num_parallel_reads is None:
            return filenames.flat_map(open_one, name=name)
        return filenames.interleave(open_one, num_parallel_calls=num_parallel_reads, name=name)
    paths = tuple(paths_of_files(filenames, stage=make.op))
    if num_parallel_reads is None:
        return Dataset(Files(paths=paths, format=make, on_error=on_error, name=name))
    named = Dataset.from_tensor_slices(np.array(paths, dtype=object))
    return of_files(named, make, num_parallel_reads=num_parallel_reads, on_error=on_error, name=name)


def _check_names(filenames: Dataset, *, stage: str) -> None:
    """Refuses a dataset of something else than names, as far as that is known.

    Raises:
        TypeError: its elements are no scalar texts.
    """
    spec = filenames.__headrace_plan__().spec()
    if spec is None or (
        isinstance(spec, TensorSpec) and spec.shape in ((), None) and spec.dtype in (str, bytes, object)
    ):
        return
    raise TypeError(f"{stage}: a dataset of filenames has one path as each element, and these are {spec}")
