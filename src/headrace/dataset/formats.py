"""Datasets of what files hold, one class a format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.dataset.dataset import Dataset
from headrace.io.csv_components import CsvComponents
from headrace.io.files import path_of
from headrace.plan.formats import CsvFiles, TextFiles
from headrace.plan.sources import Files, RecordFormat

__all__ = ["CsvDataset", "TextLineDataset"]


def _of_files(filenames: Any, make: RecordFormat, num_parallel_reads: int | None, name: str | None) -> Dataset:
    """The records of files that are named, or that a dataset names."""
    if isinstance(filenames, Dataset):

        def open_one(path: str) -> Dataset:
            return Dataset(Files(paths=(path,), format=make, name=name))

        if num_parallel_reads is None:
            return filenames.flat_map(open_one, name=name)
        return filenames.interleave(open_one, num_parallel_calls=num_parallel_reads, name=name)
    listed = [filenames] if isinstance(filenames, (str, os.PathLike)) else list(filenames)
    paths = tuple(path_of(path) for path in listed)
    if num_parallel_reads is None:
        return Dataset(Files(paths=paths, format=make, name=name))
    return _of_files(Dataset.from_tensor_slices(np.array(paths, dtype=object)), make, num_parallel_reads, name)


class TextLineDataset(Dataset):
    r"""The lines of text files, as ``str`` without their line ends, file after file.

    Args:
        filenames: a path, several, or a dataset of paths.
        compression_type: ``None``, ``"GZIP"`` or ``"ZLIB"``.
        buffer_size: how many bytes are read at once; two megabytes by default.
        num_parallel_reads: how many files are read at once, their lines interleaved; None reads one after the other.
        name: how messages and statistics call the operation.

    Raises:
        InvalidArgumentError: an unknown compression; or, while iterating, a line that is not UTF-8.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, a compressed file that is truncated or corrupt.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "lines.txt"
        >>> _ = path.write_text("one\ntwo\n")
        >>> list(hr.TextLineDataset(path))
        ['one', 'two']
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        text = TextFiles(compression_type=compression_type, buffer_size=buffer_size)
        super().__init__(_of_files(filenames, text, num_parallel_reads, name).__headrace_plan__())


class CsvDataset(Dataset):
    r"""The rows of CSV files, as tuples of columns.

    Args:
        filenames: a path, several, or a dataset of paths.
        record_defaults: one entry a column: a default value for empty fields, which also gives the type (a Python
            float is float32, an int is int32, as in TensorFlow), or a type for a field that must be there. An array
            of n defaults reads the next n columns as one array: ``[np.zeros(1024, np.float32), 0.0]`` makes pairs of
            1,024 features and a label out of rows of 1,025 numbers.
        compression_type: ``None``, ``"GZIP"`` or ``"ZLIB"``.
        buffer_size: how many bytes are read at once; two megabytes by default.
        header: whether the first line of each file is left out.
        field_delim: the character between fields.
        use_quote_delim: whether double quotes enclose fields.
        na_value: a text that means that the field is empty.
        select_cols: the numbers of the columns to be read, increasing; all by default.
        exclude_cols: the numbers of the columns not to be read, increasing.
        name: how messages and statistics call the operation.

    Raises:
        InvalidArgumentError: arguments that do not fit; or, while iterating, in place of each row that has a missing
            or wrong field: file, line and column are named.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, a compressed file that is truncated or corrupt.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
        >>> _ = path.write_text("1,a\n2,\n")
        >>> [(int(number), text) for number, text in hr.CsvDataset(path, [int, "none"])]
        [(1, 'a'), (2, 'none')]
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
        name: str | None = None,
    ) -> None:
        csv = CsvComponents.of(
            record_defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=select_cols,
            exclude_cols=exclude_cols,
        )
        files = CsvFiles(csv=csv, header=header, compression_type=compression_type, buffer_size=buffer_size)
        super().__init__(_of_files(filenames, files, None, name).__headrace_plan__())
