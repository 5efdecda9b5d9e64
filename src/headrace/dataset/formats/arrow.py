"""Rows of Arrow files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.dataset.dataset import Dataset
from headrace.dataset.formats.columnar import of_columns
from headrace.io.columnar.format import ArrowFiles

__all__ = ["ArrowDataset"]


class ArrowDataset(Dataset):
    """The rows of Arrow files, as dicts of columns, file after file: IPC's file and stream formats, and Feather version 2.

    A local file is mapped into memory: numbers that are not compressed are used where they lie. From the second block of elements on,
    workers open the next files and look at what comes first in them, within the run's budget of bytes. What a column is in an
    element is as in ``ParquetDataset``.

    Args:
        filenames: a path (``str``, ``bytes`` or ``pathlib``), several in a list or an array, or a dataset of paths; local, or with ``://``.
        columns: the names of those that are read, in the order of the elements; all by default.
        filters: which rows: a list of ``(column, operator, value)`` that all hold, or a list of such lists of which one
            holds. These files have no statistics: every row is looked at.
        num_parallel_reads: how many files are read at once, their rows interleaved; None reads one after the other.
            With ``random_access``, how many blocks of rows are fetched at once.
        name: what the operation is called in messages and statistics.
        random_access: whether rows are read by index, so that ``shuffle``, ``take`` and ``shard`` after it move indices and
            the dataset has a length. Not for the stream format, which does not say where a record batch begins.
        record_defaults: what stands for a null, by column (``struct.field`` for a field of a struct, an empty list for a list).
            Without it a null is NaN in a column of floats, NaT in one of times, and an error elsewhere.
        cache_bytes: how many bytes of record batches ``random_access`` keeps; 512 MiB by default.
        on_error: ``"raise"`` gives the error of a row, of a record batch or of a file in its place; ``"skip"`` leaves what
            cannot be read out, counts and logs it (``Options(max_failures=)`` bounds how many).

    Raises:
        InvalidArgumentError: a column is not there, and those that are there are listed; filters or defaults do not fit.
            Or, while iterating, in place of a row with a null, or of a file whose columns differ from the first one's.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, a file or a record batch that is truncated or corrupt, or a file that was
            changed while it was read.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> import pyarrow as pa, pyarrow.feather
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.arrow"
        >>> pyarrow.feather.write_feather(pa.table({"x": [1.0, 2.0], "tag": ["a", "b"]}), path)
        >>> list(hr.ArrowDataset(path))
        [{'x': 1.0, 'tag': 'a'}, {'x': 2.0, 'tag': 'b'}]
        >>> len(hr.ArrowDataset(path, random_access=True))
        2
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
        from headrace.io.columnar.arrow_ipc import open_arrow

        plan = of_columns(
            filenames,
            ArrowFiles,
            open_arrow,
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
