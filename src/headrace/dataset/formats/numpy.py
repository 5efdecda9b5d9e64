"""Rows of NumPy's files."""

from __future__ import annotations

from typing import Any

from headrace.dataset.dataset import Dataset
from headrace.io.files import paths_of_files
from headrace.io.npy.rows import NumpyRows
from headrace.plan.by_number import Source

__all__ = ["NumpyDataset"]


class NumpyDataset(Dataset):
    """The slices of arrays in NumPy's files along their first axis, file after file, read by index.

    An ``.npy`` file is mapped into memory, and so are the members of an ``.npz`` archive that are not compressed; the
    others are read whole. A shuffle after it moves indices, and a batch gathers its rows out of the file at once.

    Args:
        filenames: a path, or several whose arrays are alike; local, or with ``://``.
        name: what the operation is called in messages and statistics.
        num_parallel_reads: how many blocks of rows may be gathered at once in the pipeline's workers.

    Elements are slices of the array; dicts by name for an archive, and dicts by field for a structured dtype. Texts of a
    fixed length become ``str`` or ``bytes``, and numbers have this machine's order of bytes.

    Raises:
        NotFoundError: a file is not there.
        DataLossError: a file is truncated, corrupt or not NumPy's; or while iterating, it was changed.
        InvalidArgumentError: an array holds Python objects (a pickle is never loaded) or has no axis, the lengths in an
            archive differ, or two files differ in their arrays; both are named.

    Example:
        >>> import headrace as hr
        >>> import numpy as np
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.npz"
        >>> np.savez(path, x=np.arange(6.0).reshape(3, 2), label=np.array([0, 1, 0]))
        >>> ds = hr.NumpyDataset(path)
        >>> len(ds), next(iter(ds.batch(3)))["label"]
        (3, array([0, 1, 0]))
    """

    __slots__ = ()

    def __init__(self, filenames: Any, name: str | None = None, *, num_parallel_reads: int | None = None) -> None:
        rows = NumpyRows(paths_of_files(filenames, stage="NumpyDataset"))
        super().__init__(Source.of(rows, num_parallel_calls=num_parallel_reads, name=name or "NumpyDataset"))
