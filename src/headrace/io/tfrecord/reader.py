"""The framing of TFRecord files: byte strings of any length, each with two checksums.

    length (uint64) | masked CRC32C of the length | the bytes | masked CRC32C of the bytes      all little-endian

What always holds, beside the promise of ``RecordReader``:
- No length is believed before its checksum fits, and none above ``max_record_bytes`` at all: such a record is passed
  over in portions. What is held grows with the bytes that are there, never with the bytes that a length claims.
- A record whose bytes are corrupt is one bad record. Behind a corrupt length nobody knows where the next record begins:
  the file is then at its end. The same holds for a file that ends inside a record, which TensorFlow takes for complete
  when it ends inside a length.

The "line" of a record is its number, from 1. Checksums are computed by google-crc32c, in hardware.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from headrace.elements.structure import object_array
from headrace.errors import (
    DataLossError,
    HeadraceError,
    MissingExtraError,
    ResourceExhaustedError,
)
from headrace.frozen import frozen
from headrace.io.reader import Chunk, RecordPosition
from headrace.io.stream_reader import MAX_RECORD_BYTES, BufferedReader

__all__ = [
    "FRAME_BYTES",
    "HEAD_BYTES",
    "FrameReader",
    "corrupt_length",
    "crc32c_function",
    "cut_off",
    "length_in",
    "masked",
    "wrong_checksum",
]

_LENGTH: Final = struct.Struct("<Q")
_CRC: Final = struct.Struct("<I")
# What a record has before its bytes: their number, and its checksum.
HEAD_BYTES: Final = _LENGTH.size + _CRC.size
# What a record has around its bytes.
FRAME_BYTES: Final = HEAD_BYTES + _CRC.size
# A checksum of data that holds checksums is weak, so the format rotates it and adds this.
_MASK: Final = 0xA282EAD8
# Lengths whose checksums were found right: most files have no more, and their size does not matter.
_KNOWN_LENGTHS: Final = 4096
_CRC_OFFSETS: Final = np.arange(_CRC.size)


def crc32c_function() -> Callable[[bytes], int]:
    """Returns the function that computes a CRC32C.

    Raises:
        MissingExtraError: google-crc32c is not installed.
    """
    try:
        import google_crc32c
    except ImportError:
        raise MissingExtraError("TFRecord files need google-crc32c: pip install 'headrace[tfrecord]'") from None
    value: Callable[[bytes], int] = google_crc32c.value
    return value


def masked(crc: int) -> bytes:
    """Returns a checksum as it stands in the file."""
    return _CRC.pack(((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF)


def length_in(head: bytes, crc32c: Callable[[bytes], int]) -> int:
    """Returns the length that stands in the twelve bytes before a record, or -1 where they are fewer or corrupt."""
    length = head[: _LENGTH.size]
    if len(head) < HEAD_BYTES or head[_LENGTH.size :] != masked(crc32c(length)):
        return -1
    claimed: int = _LENGTH.unpack(length)[0]
    return claimed


def _count_of_good(data: bytes, ends: list[int], crcs: list[int]) -> int:
    """Returns how many records have the checksum that stands after them, up to the first that has not."""
    if not ends:
        return 0
    stored = np.frombuffer(data, np.uint8)[np.add.outer(ends, _CRC_OFFSETS)].view("<u4")[:, 0]
    computed = np.array(crcs, np.uint32)
    wrong = np.flatnonzero(((computed >> 15 | computed << 17) + np.uint32(_MASK)) != stored)
    return int(wrong[0]) if len(wrong) else len(ends)


@frozen
class _Frame:
    """What stands next in the buffer.

    Attributes:
        nbytes: how long it is with its checksums, as far as its length is known.
        fault: what is wrong with it.
        is_last: whether nothing after it can be read.
    """

    nbytes: int
    fault: HeadraceError | None = None
    is_last: bool = False


class FrameReader(BufferedReader):
    """Reads the records of one TFRecord file: a ``RecordReader`` with one component, an object array of bytes.

    Args:
        path: the file, local or with ``://``.
        compression_type: how the file is compressed, one of ``compression.COMPRESSION_TYPES``; None is none.
        buffer_size: bytes to read at once, or None for a good size.
        position: where to begin.
        max_record_bytes: the longest record that is read.

    Raises:
        MissingExtraError: google-crc32c is not installed.
        InvalidArgumentError: when an argument does not fit. The file is not touched before the first ``read``.
    """

    def __init__(
        self,
        path: str,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        position: RecordPosition | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self._position = position or RecordPosition()
        super().__init__(
            path,
            compression_type=compression_type,
            buffer_size=buffer_size,
            max_record_bytes=max_record_bytes,
            ended=self._position.ended,
        )
        self._crc32c = crc32c_function()
        self._lengths: dict[bytes, int] = {}  # by what stands before a record, which was found right
        self._at = 0  # where in _data the next record begins

    @property
    def position(self) -> RecordPosition:
        """Where the next record that ``read`` returns begins."""
        return self._position

    def _read(self, max_records: int) -> Chunk | None:
        position = self._position
        payloads = self._good_run(max_records)
        if not payloads:
            frame = self._next_frame()
            if frame is None:
                self.close()
                return None
            if frame.fault is not None:
                raise self._passed(frame, frame.fault)
            payloads = self._good_run(max_records)
        lines = range(position.line, position.line + len(payloads))
        is_last = self._at == len(self._data) and self._has_no_more
        return Chunk(arrays=(object_array(payloads),), matrix=None, position=position, lines=lines, is_last=is_last)

    def close(self) -> None:
        """Closes the file; ``read`` then returns None. May be called twice."""
        self._stop()
        self._at = 0

    # --- cutting the buffer into records ------------------------------------------------------------------------

    def _good_run(self, most: int) -> list[bytes]:
        """Returns the good records that are complete in the buffer, up to ``most``; stepped over.

        What is done for each of them is done in as few calls as can be: a length that was seen before is not checked
        again, and all checksums are compared at once.
        """
        data, lengths, length_of, at = self._data, self._lengths, self._length_of, self._at
        last_end = len(data) - _CRC.size
        payloads: list[bytes] = []
        ends: list[int] = []
        while len(payloads) < most:
            head = data[at : at + HEAD_BYTES]
            length = lengths[head] if head in lengths else length_of(head)
            begin = at + HEAD_BYTES
            end = begin + length
            if length < 0 or end > last_end:
                break
            payloads.append(data[begin:end])
            ends.append(end)
            at = end + _CRC.size
        good = _count_of_good(data, ends, list(map(self._crc32c, payloads)))
        if good:
            self._step_over(ends[good - 1] + _CRC.size - self._at, good)
        return payloads[:good] if good < len(payloads) else payloads

    def _length_of(self, head: bytes) -> int:
        """Returns the length that stands before a record, or -1 where it is corrupt, incomplete or above the limit."""
        length = length_in(head, self._crc32c)
        if not 0 <= length <= self._max_record_bytes:
            return -1
        if len(self._lengths) == _KNOWN_LENGTHS:
            self._lengths.clear()
        self._lengths[head] = length
        return length

    def _next_frame(self) -> _Frame | None:
        """Returns the next record, for which as much is read as is needed; None at the end of the file."""
        while (frame := self._frame()) is None:
            left = len(self._data) - self._at
            if self._failure is not None:
                return _Frame(left, fault=self._failure, is_last=True)
            if self._ended:
                return _Frame(left, fault=cut_off(left), is_last=True) if left else None
            self._extend()
        return frame

    def _frame(self) -> _Frame | None:
        """Returns the record that begins at ``_at``, or None where it is not complete."""
        body = self._at + HEAD_BYTES
        if len(self._data) < body:
            return None
        length = length_in(self._data[self._at : body], self._crc32c)
        if length < 0:
            return _Frame(0, fault=corrupt_length(), is_last=True)
        if length > self._max_record_bytes:
            return _Frame(FRAME_BYTES + length, fault=self._too_long(length))
        end = body + length
        if len(self._data) < end + _CRC.size:
            return None
        if self._data[end : end + _CRC.size] != masked(self._crc32c(self._data[body:end])):
            return _Frame(FRAME_BYTES + length, fault=wrong_checksum())
        return _Frame(FRAME_BYTES + length)

    def _step_over(self, nbytes: int, count: int = 1) -> None:
        self._at += nbytes
        position = self._position
        self._position = RecordPosition(position.offset + nbytes, position.line + count, position.record + count)

    def _extend(self) -> None:
        after = max(0, self._at - len(self._data))  # of a record that is passed over
        self._read_on(self._data[self._at :], self._position.offset)
        self._at = after

    # --- what goes wrong ----------------------------------------------------------------------------------------

    def _passed(self, frame: _Frame, fault: HeadraceError) -> HeadraceError:
        """Passes over the next record, and returns its error."""
        line = self._position.line
        if frame.is_last or not self._passes_over(frame):
            self._position = replace(self._position, ended=True)
            self.close()
        return self._told(fault, line)

    def _passes_over(self, frame: _Frame) -> bool:
        """Steps over a bad record, reading it in portions where it is too long; False when the file ends inside it."""
        self._step_over(frame.nbytes)
        while self._at > len(self._data) and not (self._ended or self._failure):
            self._extend()
        return self._at <= len(self._data)

    def _too_long(self, length: int) -> HeadraceError:
        return ResourceExhaustedError(
            f"the record has {length} bytes, and the limit is {self._max_record_bytes}; it is passed over"
        )


def wrong_checksum() -> HeadraceError:
    """Returns the error of a record whose checksum is wrong."""
    return DataLossError("the record is corrupt: its checksum is wrong")


def cut_off(left: int) -> HeadraceError:
    """Returns the error of a record of which only these bytes are there."""
    return DataLossError(f"the file ends {left} bytes into a record; it was cut short")


def corrupt_length() -> HeadraceError:
    """Returns the error of a length whose checksum is wrong."""
    return DataLossError(
        "the length of a record is corrupt, so that the rest cannot be read; is it a TFRecord file, and is "
        "compression_type right?"
    )
