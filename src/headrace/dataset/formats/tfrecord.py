"""Records of TFRecord files."""

from __future__ import annotations

from typing import Any

from headrace.arguments import check_flag
from headrace.dataset.dataset import Dataset
from headrace.dataset.formats.files import of_files
from headrace.io.tfrecord.format import TFRecordFiles

__all__ = ["TFRecordDataset"]


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as ``bytes``, file after file; both checksums of every record are checked.

    Args:
        filenames: a path (``str``, ``bytes`` or ``pathlib``), several in a list or an array, or a dataset of paths.
        compression_type: ``None`` for none, ``"GZIP"``, ``"ZLIB"``, ``"BZ2"``, ``"XZ"``, ``"ZSTD"`` or ``"LZ4"``;
            ``"INFER"`` goes by each file's suffix.
        buffer_size: how many bytes are read at once; None and 0 are the default, two megabytes.
        num_parallel_reads: how many files are read at once, their records interleaved; None reads one after the other.
        name: what the operation is called in messages and statistics.
        on_error: ``"raise"`` gives the error of a record in its place; ``"skip"`` leaves records and files out that
            cannot be read, counts and logs them (``Options(max_failures=)`` bounds how many).
        random_access: True reads by index: the number of records is known, ``shuffle`` moves indices and needs no buffer of
            records, and a resumed run reads nothing in vain. Where no index lies beside a file, the file is looked through
            once to build it (``hr.io.build_index``). The files are named and not compressed, and
            ``num_parallel_reads`` is how many blocks of records are fetched at once, in order.

    Raises:
        MissingExtraError: while iterating, google-crc32c is not installed.
        InvalidArgumentError: an unknown compression; or, with ``random_access``, compressed files or a dataset of paths.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, in place of a record whose checksum is wrong, or of the rest of a file that was
            cut short or has a corrupt length.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.tfrecord"
        >>> with hr.io.TFRecordWriter(path) as writer:
        ...     writer.write(b"one")
        ...     writer.write(b"two")
        >>> list(hr.TFRecordDataset(path))
        [b'one', b'two']
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        on_error: str = "raise",
        random_access: bool = False,
    ) -> None:
        frames = TFRecordFiles(compression_type=compression_type, buffer_size=buffer_size)
        plan = of_files(
            filenames,
            frames,
            num_parallel_reads=num_parallel_reads,
            on_error=on_error,
            name=name,
            indexed="tfrecord" if check_flag(random_access, field="random_access", stage="TFRecordDataset") else None,
        )
        super().__init__(plan)
