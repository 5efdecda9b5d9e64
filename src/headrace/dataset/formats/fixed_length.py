"""Records of a fixed length."""

from __future__ import annotations

from typing import Any

from headrace.dataset.dataset import Dataset
from headrace.dataset.formats.files import of_files
from headrace.io.fixed_length.format import FixedLengthFiles
from headrace.io.fixed_length.reader import FixedLengthParser

__all__ = ["FixedLengthRecordDataset"]


class FixedLengthRecordDataset(Dataset):
    """The records of binary files, each of one length, as ``bytes``, file after file.

    Args:
        filenames: a path (``str``, ``bytes`` or ``pathlib``), several in a list or an array, or a dataset of paths.
        record_bytes: how long a record is.
        header_bytes: how much is passed over at the beginning of each file; None is nothing.
        footer_bytes: how much is skipped at its end; None is nothing.
        buffer_size: how many bytes are read at once; None and 0 are the default, two megabytes.
        compression_type: ``None`` for none, ``"GZIP"``, ``"ZLIB"``, ``"BZ2"``, ``"XZ"``, ``"ZSTD"`` or ``"LZ4"``;
            ``"INFER"`` goes by each file's suffix. Header and footer are those of the content.
        num_parallel_reads: how many files are read at once, their records interleaved; None reads one after the other.
        name: what the operation is called in messages and statistics.
        on_error: ``"raise"`` gives the error of a record in its place; ``"skip"`` leaves files out that cannot be read,
            and records that were cut off, counts and logs them (``Options(max_failures=)`` bounds how many).

    Raises:
        InvalidArgumentError: an invalid length, or an unknown compression.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, after the last whole record: a file that ends inside a record, is shorter than
            header and footer, or is compressed and truncated or corrupt. (For files that are not compressed, tf.data tells
            the first two before any record, as an InvalidArgumentError.)

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.bin"
        >>> _ = path.write_bytes(b"HEAD" + b"aabbcc")
        >>> list(hr.FixedLengthRecordDataset(path, record_bytes=2, header_bytes=4))
        [b'aa', b'bb', b'cc']
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: int | None = None,
        compression_type: str | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        on_error: str = "raise",
    ) -> None:
        files = FixedLengthFiles(
            layout=FixedLengthParser(record_bytes, header_bytes or 0, footer_bytes or 0, record_bytes),
            compression_type=compression_type,
            buffer_size=buffer_size,
        )
        plan = of_files(filenames, files, num_parallel_reads=num_parallel_reads, on_error=on_error, name=name)
        super().__init__(plan)
