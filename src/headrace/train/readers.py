"""The readers: lines of text, whole files, records of a fixed length, records of TFRecord files.

reader                     a record is     its key
TextLineReader             a line          file:line, from 1, header lines counted
WholeFileReader            a file          file
FixedLengthRecordReader    n bytes         file:number, from 0
TFRecordReader             a byte string   file:offset, of its frame in the (decompressed) file
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from headrace.elements.structure import object_array
from headrace.errors import InvalidArgumentError, ResourceExhaustedError
from headrace.io.compression import checked_compression_type
from headrace.io.files import read_file
from headrace.io.fixed_length.reader import FixedLengthParser, FixedLengthReader
from headrace.io.reader import Chunk, RecordPosition, RecordReader
from headrace.io.text.reader import LineReader
from headrace.io.tfrecord.reader import FRAME_BYTES, FrameReader, crc32c_function
from headrace.train.reader_base import ReaderBase

__all__ = ["FixedLengthRecordReader", "TFRecordReader", "TextLineReader", "WholeFileReader"]


class TextLineReader(ReaderBase):
    r"""Reads the lines of text files, as str without their line breaks.

    Args:
        skip_header_lines: how many lines at the beginning of each file are passed over.
        name: how messages call it.

    Raises:
        InvalidArgumentError: ``skip_header_lines`` is negative.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> names = hr.queue.FIFOQueue(10)
        >>> reader = hr.train.TextLineReader(skip_header_lines=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.csv")
        ...     _ = path.write_text("x,y\n1,2\n3,4\n")
        ...     names.enqueue(str(path))
        ...     key, value = reader.read(names)
        >>> key.removeprefix(folder), value
        ('/a.csv:2', '1,2')
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self._skip_header_lines = skip_header_lines or 0
        if self._skip_header_lines < 0:
            raise InvalidArgumentError(f"{self._name}: skip_header_lines is at least 0, not {skip_header_lines}")

    def _open(self, path: str, position: RecordPosition | None) -> RecordReader:
        reader = LineReader(path, position=position)
        if position is None:
            _skip(reader, self._skip_header_lines)
        return reader

    def _keys(self, path: str, chunk: Chunk) -> Sequence[str]:
        return [f"{path}:{line}" for line in chunk.lines]


class WholeFileReader(ReaderBase):
    """Reads whole files, as bytes.

    Args:
        name: how messages call it.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> names = hr.queue.FIFOQueue(10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.txt")
        ...     _ = path.write_bytes(b"all of it")
        ...     names.enqueue(str(path))
        ...     hr.train.WholeFileReader().read(names)[1]
        b'all of it'
    """

    _is_one_record = True

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)

    def _open(self, path: str, position: RecordPosition | None) -> RecordReader:
        return _WholeFile(path)

    def _keys(self, path: str, chunk: Chunk) -> Sequence[str]:
        return [path]


class FixedLengthRecordReader(ReaderBase):
    """Reads records of a fixed length, as bytes; a file that ends inside a record is an error, in TensorFlow it is not.

    Args:
        record_bytes: the length of a record.
        header_bytes: what stands before the first record of each file.
        footer_bytes: what stands after the last one.
        hop_bytes: from one record's beginning to the next one's; None or 0 for ``record_bytes``.
        name: how messages call it.
        encoding: how the files are compressed: None, or a name as ``TextLineDataset`` takes it.

    Raises:
        InvalidArgumentError: an argument does not fit.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> names = hr.queue.FIFOQueue(10)
        >>> reader = hr.train.FixedLengthRecordReader(record_bytes=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.bin")
        ...     _ = path.write_bytes(b"aabbcc")
        ...     names.enqueue(str(path))
        ...     keys, values = reader.read_up_to(names, 10)
        >>> keys[0].removeprefix(folder), values
        ('/a.bin:0', array([b'aa', b'bb', b'cc'], dtype=object))
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(name)
        self._format = FixedLengthParser(record_bytes, header_bytes or 0, footer_bytes or 0, hop_bytes or record_bytes)
        self._encoding = checked_compression_type(encoding)

    def _open(self, path: str, position: RecordPosition | None) -> RecordReader:
        return FixedLengthReader(
            path,
            self._format.record_bytes,
            header_bytes=self._format.header_bytes,
            footer_bytes=self._format.footer_bytes,
            hop_bytes=self._format.hop_bytes,
            compression_type=self._encoding,
            position=position,
        )

    def _keys(self, path: str, chunk: Chunk) -> Sequence[str]:
        first = chunk.position.record
        return [f"{path}:{number}" for number in range(first, first + len(chunk))]


class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files, as bytes; checksums are checked.

    Args:
        name: how messages call it.
        options: how the files are compressed: None, or a name as ``TextLineDataset`` takes it (TensorFlow wraps it).

    Raises:
        MissingExtraError: google-crc32c is not installed.
        InvalidArgumentError: ``options`` is none of these.
    """

    def __init__(self, name: str | None = None, options: str | None = None) -> None:
        super().__init__(name)
        self._compression_type = checked_compression_type(options)
        crc32c_function()  # so that what is missing is told here, and not by a runner's thread

    def _open(self, path: str, position: RecordPosition | None) -> RecordReader:
        return FrameReader(path, self._compression_type, position=position)

    def _keys(self, path: str, chunk: Chunk) -> Sequence[str]:
        sizes = (FRAME_BYTES + len(record) for record in chunk.columns[0][:-1])
        return [f"{path}:{offset}" for offset in accumulate(sizes, initial=chunk.position.offset)]


class _WholeFile:
    """A file as a ``RecordReader`` of one record."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.position = RecordPosition()

    def read(self, max_records: int) -> Chunk | None:
        """Returns the record, or None after it. A file that cannot be read is at its end."""
        if self.position.ended or self.position.record:
            return None
        position, self.position = self.position, RecordPosition(ended=True)
        content = read_file(self.path)
        self.position = RecordPosition(offset=len(content), line=2, record=1)
        return Chunk(arrays=(object_array([content]),), matrix=None, position=position, lines=range(1, 2))

    def close(self) -> None:
        """Does nothing: the file is open only while it is read."""


def _skip(reader: LineReader, lines: int) -> None:
    """Pass over the first lines of a file, also where they cannot be read as text."""
    while reader.position.record < lines:
        try:
            if reader.read(lines - reader.position.record) is None:
                return
        except (InvalidArgumentError, ResourceExhaustedError):
            continue
