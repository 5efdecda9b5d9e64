"""Rows of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.dataset.dataset import Dataset
from headrace.dataset.formats.columnar import of_columns
from headrace.io.columnar.format import ParquetFiles

__all__ = ["ParquetDataset"]


class ParquetDataset(Dataset):
    """The rows of Parquet files, as dicts of columns, file after file.

    From the second block of elements on, workers open and decode what comes next, a few megabytes each, within the run's budget of
    bytes; small files only where those are waited for.
    Numbers are NumPy's on the memory that they were decoded into, and a batch is a slice of it. Text is ``str``, binary
    ``bytes``; timestamps and dates are ``datetime64`` (in UTC, where they have a time zone), a fixed-size list an array,
    a list an array whose length varies, a struct a dict.

    Args:
        filenames: a path (``str``, ``bytes`` or ``pathlib``), several in a list or an array, or a dataset of paths; local, or with ``://``.
        columns: the names of those that are read, in the order of the elements; all by default. Nothing of the others
            is read.
        filters: which rows: a list of ``(column, operator, value)`` that all hold, or a list of such lists of which one
            holds, as pyarrow takes it, with ``= != < > <= >= in`` and ``not in``. A row group is not read if its
            statistics exclude them.
        num_parallel_reads: how many files are read at once, their rows interleaved; None reads one after the other.
            With ``random_access``, how many blocks of rows are fetched at once.
        name: what the operation is called in messages and statistics.
        random_access: whether rows are read by index, so that ``shuffle``, ``take`` and ``shard`` after it move indices and
            the dataset has a length. Row groups are kept for a while, decoded; there should be room for those that a
            shuffle goes back and forth between.
        record_defaults: what stands for a null, by column (``struct.field`` for a field of a struct, an empty list for a list).
            Without it a null is NaN in a column of floats, NaT in one of times, and an error elsewhere.
        cache_bytes: how many bytes of row groups ``random_access`` keeps; 512 MiB by default.
        on_error: ``"raise"`` gives the error of a row, of a row group or of a file in its place; ``"skip"`` leaves what cannot
            be read out, counts and logs it (``Options(max_failures=)`` bounds how many).

    Raises:
        InvalidArgumentError: a column is not there, and those that are there are listed; filters or defaults do not fit.
            Or, while iterating, in place of a row with a null, or of a file whose columns differ from the first one's.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, a file or a row group that is truncated or corrupt, or a file that was changed
            while it was read.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.parquet"
        >>> table = pa.table({"name": ["Ada", "Carl", "Emmy"], "born": [1815, 1777, 1882]})
        >>> pq.write_table(table, path)
        >>> for person in hr.ParquetDataset(path, filters=[("born", ">", 1800)]):
        ...     print(person)
        {'name': 'Ada', 'born': 1815}
        {'name': 'Emmy', 'born': 1882}
        >>> next(iter(hr.ParquetDataset(path, columns=["born"]).batch(3)))
        {'born': array([1815, 1777, 1882])}
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        columns: Sequence[str] | None = None,
        filters: Any = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        random_access: bool = False,
        record_defaults: Mapping[str, Any] | None = None,
        cache_bytes: int | None = None,
        on_error: str = "raise",
    ) -> None:
        from headrace.io.columnar.parquet import ParquetGroups

        plan = of_columns(
            filenames,
            ParquetFiles,
            ParquetGroups,
            columns=columns,
            filters=filters,
            record_defaults=record_defaults,
            num_parallel_reads=num_parallel_reads,
            random_access=random_access,
            cache_bytes=cache_bytes,
            on_error=on_error,
            name=name,
        )
        super().__init__(plan)
