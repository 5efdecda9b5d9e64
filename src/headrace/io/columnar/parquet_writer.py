"""Writes Parquet files, batch by batch.

What always holds.
- The file is whole or it is not there under its name (``atomic_file``).
- Every page has a checksum, which ``ParquetDataset`` compares.
- What waits for its row group is bounded in rows and in bytes.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any, Final, Self

from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.io.atomic_file import AtomicFile

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ParquetWriter"]

# Small enough that a resumed run decodes little twice and a shuffle by number finds room for several, large enough that
# a row group's own cost (a call and a seek for each column) does not count.
_ROW_GROUP_ROWS: Final = 1 << 16
# Of images, fewer rows fill a row group.
_ROW_GROUP_BYTES: Final = 128 << 20


class ParquetWriter:
    """Writes one Parquet file, which appears under its name when it is complete.

    A batch is what ``ds.batch(n)`` delivers, a dict of columns: arrays become columns of numbers, texts, times or lists of fixed
    size; a ``RaggedTensor``, or an object array of arrays, a column of lists; a dict a struct.

    Args:
        path: where it will stand: a local path, whose folder is made, or an address with ``://``.
        row_group_size: how many rows a row group has; fewer where they exceed 128 MiB.
        compression: ``"zstd"``, ``"snappy"``, ``"lz4"``, ``"gzip"``, ``"brotli"``, or None.

    Raises:
        FailedPreconditionError: nothing can be written there.
        InvalidArgumentError: an argument does not fit; from ``write``, for a batch that is no dict of columns, or whose columns
            are not those of the first one; from ``close``, when no batch says what the columns are.

    Example:
        >>> import headrace as hr
        >>> import numpy as np
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "squares.parquet"
        >>> ds = hr.Dataset.range(5).map(lambda x: {"x": x, "square": x * x})
        >>> with hr.io.ParquetWriter(path) as writer:
        ...     for batch in ds.batch(2):
        ...         writer.write(batch)
        >>> list(hr.ParquetDataset(path, filters=[("square", ">", 5)]))
        [{'x': 3, 'square': 9}, {'x': 4, 'square': 16}]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        row_group_size: int = _ROW_GROUP_ROWS,
        compression: str | None = "zstd",
    ) -> None:
        if row_group_size < 1:
            raise InvalidArgumentError(f"row_group_size is at least 1, and not {row_group_size}")
        self._compression = _checked_compression(compression)
        self._row_group_size = row_group_size
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._writer: Any = None
        self._file = AtomicFile(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._abandon()

    def write(self, batch: Any) -> None:
        """Writes the rows of a batch.

        Args:
            batch: columns by name, arrays whose first axes have one length.

        Raises:
            InvalidArgumentError: it is no such batch, or its columns are not those of the first one. Nothing of it is
                written.
            FailedPreconditionError: the writer is closed, or nothing more can be written.
        """
        from headrace.io.columnar.arrow_encoding import record_batch_of

        if not self._file.is_open:
            raise FailedPreconditionError(f"{self._file.path}: this writer is closed; make another one")
        self._file.check_owner()
        rows = record_batch_of(batch)
        self._begin(rows.schema)
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= self._row_group_size or self._bytes >= _ROW_GROUP_BYTES:
            self._write_groups(keep=self._rows % self._row_group_size if self._bytes < _ROW_GROUP_BYTES else 0)

    def close(self) -> None:
        """Completes the file, which then has its name; called again, it does nothing.

        Raises:
            InvalidArgumentError: no batch was written. There is no file then.
            FailedPreconditionError: it cannot be written.
        """
        if not self._file.is_open:
            return
        try:
            self._file.check_owner()
            if self._writer is None:
                raise InvalidArgumentError(f"{self._file.path}: no batch was written that says what the columns are")
            self._write_groups(keep=0)
            self._writer.close()
        except BaseException:
            self._abandon()
            raise
        self._file.complete()

    def _begin(self, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(
                _Sink(self._file), schema, compression=self._compression, write_page_checksum=True
            )
        elif schema != self._writer.schema:
            raise InvalidArgumentError(f"{self._file.path}: {_difference(self._writer.schema, schema)}")

    def _write_groups(self, *, keep: int) -> None:
        """Writes what waits as row groups, but for the last rows."""
        import pyarrow as pa

        if not self._rows:
            return
        table = pa.Table.from_batches(self._waiting)
        whole = self._rows - keep
        self._writer.write_table(table.slice(0, whole), row_group_size=self._row_group_size)
        rest = table.slice(whole)
        self._waiting, self._rows, self._bytes = rest.to_batches(), rest.num_rows, rest.nbytes

    def _abandon(self) -> None:
        self._file.abandon()
        if self._writer is not None:
            self._writer.is_open = False  # it would write its footer when it is collected


class _Sink(io.RawIOBase):
    """Where pyarrow writes to; closing it completes nothing."""

    def __init__(self, file: AtomicFile) -> None:
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        """Returns True: it is open for writing."""
        return True

    def tell(self) -> int:
        """Returns how many bytes were written."""
        return self._file.tell()

    def write(self, data: Any) -> int:
        """Writes all of it."""
        # In a forked process pyarrow ends the file when it is collected. Whoever writes there is told before.
        if not self._file.is_parents:
            self._file.write(data)
        return len(data)


def _checked_compression(compression: str | None) -> str:
    known = ("zstd", "snappy", "lz4", "gzip", "brotli")
    if compression is not None and compression not in known:
        raise InvalidArgumentError(f"compression must be None or one of {', '.join(known)}, not {compression!r}")
    return compression or "none"


def _difference(first: pa.Schema, other: pa.Schema) -> str:
    if first.names != other.names:
        return f"this batch has the columns {other.names}, and the first one had {first.names}"
    name = next(name for name in first.names if first.field(name) != other.field(name))
    return (
        f"column '{name}' is {other.field(name).type} in this batch, and was {first.field(name).type} in the first one"
    )
