"""Rows of CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.arguments import check_flag
from headrace.dataset.dataset import Dataset
from headrace.dataset.formats.files import of_files
from headrace.io.csv.components import CsvComponents
from headrace.io.csv.format import CsvFiles

__all__ = ["CsvDataset"]


class CsvDataset(Dataset):
    r"""The rows of CSV files, as tuples of columns.

    Args:
        filenames: a path (``str``, ``bytes`` or ``pathlib``), several in a list or an array, or a dataset of paths.
        record_defaults: one entry a column: a default value for empty fields, which also gives the type (a Python
            float is float32, an int is int32, as in TensorFlow), or a type for a field that must be there. An array
            of n defaults reads the next n columns as one array, also where n is 1 (a list of one value is a scalar): ``[np.zeros(1024, np.float32), 0.0]`` makes pairs of
            1,024 features and a label out of rows of 1,025 numbers.
        compression_type: ``None`` for none, ``"GZIP"``, ``"ZLIB"``, ``"BZ2"``, ``"XZ"``, ``"ZSTD"`` or ``"LZ4"``;
            ``"INFER"`` goes by each file's suffix.
        buffer_size: how many bytes are read at once; two megabytes by default.
        header: whether the first line of each file is skipped.
        field_delim: the character between fields.
        use_quote_delim: whether double quotes enclose fields.
        na_value: a text that means that the field is empty.
        select_cols: the indices of the columns to be read, increasing; all by default.
        exclude_cols: the indices of the columns not to be read, increasing.
        name: what the operation is called in messages and statistics.
        on_error: ``"raise"`` gives the error of a row in its place; ``"skip"`` leaves rows and files out that cannot be
            read, counts and logs them (``Options(max_failures=)`` bounds how many).

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
        *,
        on_error: str = "raise",
    ) -> None:
        csv = CsvComponents.of(
            record_defaults,
            field_delim=field_delim,
            use_quote_delim=check_flag(use_quote_delim, field="use_quote_delim", stage="CsvDataset"),
            na_value=na_value,
            select_cols=select_cols,
            exclude_cols=exclude_cols,
        )
        header = check_flag(header, field="header", stage="CsvDataset")
        files = CsvFiles(csv=csv, header=header, compression_type=compression_type, buffer_size=buffer_size)
        super().__init__(of_files(filenames, files, on_error=on_error, name=name))
