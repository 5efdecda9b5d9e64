"""Records of a fixed length, one after the other, between a header and a footer.

    header_bytes | record | record | … | footer_bytes

A record begins every ``hop_bytes``: a longer hop than the record leaves gaps, a shorter one makes records overlap. What
is left after the last record is a cut-off record and an error, as in tf.data (TensorFlow's old reader drops it in
silence), unless records overlap: then there is always something left. A file too short for its header and footer is an
error (for the old reader it is the end of all files). The "line" of a record is its number, from 1.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.elements.structure import object_array
from headrace.errors import DataLossError, InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.block_reader import NO_RECORDS, BlockReader, Header, Records
from headrace.io.reader import RecordPosition
from headrace.io.stream_reader import MAX_RECORD_BYTES
from headrace.known_as import known_as

__all__ = ["FixedLengthParser", "FixedLengthReader"]

_NONE_CUT: Final[list[bytes]] = []


class FixedLengthReader(BlockReader):
    """Reads the records of one file: a ``RecordReader`` with one component, an object array of bytes.

    Args:
        path: the file, local or with ``://``.
        record_bytes: the length of a record, at least 1.
        header_bytes: what stands before the first record.
        footer_bytes: what stands after the last record.
        hop_bytes: from one record's beginning to the next one's; 0 for ``record_bytes``.
        compression_type: how the file is compressed, one of ``compression.COMPRESSION_TYPES``; None is none.
        buffer_size: bytes to read at once, or None for a good size.
        position: where to begin.

    Raises:
        InvalidArgumentError: when an argument does not fit.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.io.fixed_length.reader import FixedLengthReader
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "pairs.bin")
        ...     _ = path.write_bytes(b"HEADaabbcc")
        ...     FixedLengthReader(str(path), record_bytes=2, header_bytes=4).read(max_records=10).columns
        (array([b'aa', b'bb', b'cc'], dtype=object),)
    """

    def __init__(
        self,
        path: str,
        record_bytes: int,
        *,
        header_bytes: int = 0,
        footer_bytes: int = 0,
        hop_bytes: int = 0,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        position: RecordPosition | None = None,
    ) -> None:
        super().__init__(
            path,
            FixedLengthParser(record_bytes, header_bytes, footer_bytes, hop_bytes or record_bytes),
            compression_type=compression_type,
            buffer_size=buffer_size,
            position=position,
            # A record's length is known; the file cannot claim another, so only its caller bounds it.
            max_record_bytes=max(MAX_RECORD_BYTES, record_bytes, hop_bytes) + footer_bytes,
        )


@known_as("format of fixed-length records")
@frozen
class FixedLengthParser:
    """A record is a fixed number of bytes. The arguments are those of ``FixedLengthReader``; ``hop_bytes`` is not 0."""

    record_bytes: int
    header_bytes: int
    footer_bytes: int
    hop_bytes: int

    def __post_init__(self) -> None:
        if self.record_bytes < 1 or self.hop_bytes < 1:
            raise InvalidArgumentError(
                f"record_bytes is at least 1 and hop_bytes at least 0, not {self.record_bytes} and {self.hop_bytes}"
            )
        if self.header_bytes < 0 or self.footer_bytes < 0:
            raise InvalidArgumentError(
                f"header_bytes and footer_bytes are at least 0, not {self.header_bytes} and {self.footer_bytes}"
            )

    @property
    def has_header(self) -> bool:
        """Whether there is a header to skip, or a length to check before the first record."""
        return self.header_bytes + self.footer_bytes > 0

    def header(self, data: bytes, *, last: bool) -> Header | None:
        """Returns the header; a file that is too short for header and footer is told here."""
        wanted = self.header_bytes + self.footer_bytes
        if len(data) >= wanted:
            return Header(self.header_bytes, 0)
        if not last:
            return None
        fault = DataLossError(f"the file has {len(data)} bytes, but header and footer alone have {wanted}")
        return Header(len(data), 0, fault)

    def parse(self, data: bytes, *, last: bool) -> Records:
        """Returns the records that end before what may be the footer."""
        count = self._complete(len(data), last=last)
        starts = range(0, count * self.hop_bytes, self.hop_bytes)
        records = [data[start : start + self.record_bytes] for start in starts]
        left = len(data) - self.footer_bytes - count * self.hop_bytes if last else 0
        cut = left > 0 and self.hop_bytes >= self.record_bytes
        records += [b""] if cut else _NONE_CUT
        if not records:
            return NO_RECORDS
        ends = np.arange(1, len(records) + 1) * self.hop_bytes
        if last:
            ends[-1] = len(data)  # the footer goes with the last record
        faults = {count: self._cut_off(left)} if cut else {}
        return Records((object_array(records),), None, ends, range(len(records)), len(records), faults)

    def _complete(self, size: int, *, last: bool) -> int:
        """Returns how many records are complete in ``size`` bytes; where more may follow, with the gap after them."""
        body = size - self.footer_bytes
        complete = max(0, (body - self.record_bytes) // self.hop_bytes + 1)
        return complete if last else min(complete, size // self.hop_bytes)

    def _cut_off(self, left: int) -> DataLossError:
        return DataLossError(
            f"the file ends {left} bytes into a record of {self.record_bytes}; it was cut short, or record_bytes, "
            "header_bytes or footer_bytes is wrong"
        )
