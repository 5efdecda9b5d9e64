"""What the datasets of all formats have in common: the records of files that are named, or that a dataset names."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dataset.dataset import Dataset
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.io.file_format import FileFormat
from headrace.io.files import path_of, paths_of_files
from headrace.known_as import known_as
from headrace.plan.files import OPENS_A_NAMED_FILE, Files
from headrace.plan.nesting import FlatMap, Interleave
from headrace.plan.node import Node

__all__ = ["of_files"]


def of_files(
    filenames: Any,
    file_format: FileFormat,
    *,
    num_parallel_reads: int | None = None,
    on_error: str = "raise",
    name: str | None = None,
    indexed: str | None = None,
) -> Node:
    """Returns the plan of the records of files that are named, or that a dataset names.

    Args:
        filenames: one name, several, or a dataset of names.
        file_format: what the files are.
        num_parallel_reads: how many files are read at once, their records interleaved; None reads one after the other.
        on_error: what becomes of records that cannot be read, ``"raise"`` or ``"skip"``.
        name: what the operation is called in messages and statistics.
        indexed: the kind of index by which records are read by their index; None reads them in order.

    Raises:
        TypeError: a dataset of something else than names.
        InvalidArgumentError: arguments that exclude each other.
    """
    if indexed is not None:
        from headrace.dataset.formats.by_number import by_number

        return by_number(
            filenames, file_format, indexed, num_parallel_reads=num_parallel_reads, on_error=on_error, name=name
        )
    if isinstance(filenames, Dataset):
        names = filenames.__headrace_plan__()
        _check_names(names, stage=file_format.op)

        @known_as(OPENS_A_NAMED_FILE)
        def open_one(*element: Any) -> Dataset:
            try:
                path = path_of(element[0] if len(element) == 1 else element)  # type: ignore[arg-type]  # checked there
            except InvalidArgumentError as error:
                raise error.located(stage=file_format.op, origin=None) from None
            return Dataset(Files(paths=(path,), format=file_format, on_error=on_error, name=name))

        if num_parallel_reads is None:
            return FlatMap(input=names, function=open_one, name=name)
        return Interleave(input=names, function=open_one, num_parallel_calls=num_parallel_reads, name=name)
    paths = tuple(paths_of_files(filenames, stage=file_format.op))
    if num_parallel_reads is None:
        return Files(paths=paths, format=file_format, on_error=on_error, name=name)
    named = Dataset.from_tensor_slices(np.array(paths, dtype=object))
    return of_files(named, file_format, num_parallel_reads=num_parallel_reads, on_error=on_error, name=name)


def _check_names(names: Node, *, stage: str) -> None:
    """Refuses a dataset that is known to hold something else than names.

    Raises:
        TypeError: its elements are no scalar texts.
    """
    spec = names.spec()
    if spec is None or (
        isinstance(spec, TensorSpec) and spec.shape in ((), None) and spec.dtype in (str, bytes, object)
    ):
        return
    raise TypeError(f"{stage}: a dataset of filenames has one path as each element, and these are {spec}")
