"""Where the records of plain files begin and end: lines of text, and frames of TFRecord files.

What always holds: they are the records that reading in order gives, up to where the file breaks off, which is raised. No
record is held as a whole, and the records of TFRecord files are passed over, not read, where that is cheaper.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import closing
from typing import BinaryIO, Final

import numpy as np

from headrace.io.compression import open_stream
from headrace.io.files import open_at, says_which_file
from headrace.io.reader import Array
from headrace.io.tfrecord.reader import FRAME_BYTES, HEAD_BYTES, corrupt_length, crc32c_function, cut_off, length_in

__all__ = ["scan_frames", "scan_lines"]

_PORTION_BYTES: Final = 1 << 20
# Of a file of long records, only what stands before each is of interest: a page of it.
_HEADS_BYTES: Final = 1 << 12
# Lengths whose checksums were compared: most files have no more.
_KNOWN_LENGTHS: Final = 4096
_LINE_FEED: Final = ord("\n")
_RETURN: Final = ord("\r")


def scan_lines(path: str) -> Iterator[Array]:
    """Yields the lines of a text file, without their line ends.

    Yields:
        For each line its offset and its length, in runs of shape (lines, 2).
    """
    at = begin = 0
    last = 0
    with closing(open_stream(path)) as stream:
        while portion := stream.read(_PORTION_BYTES):
            data = np.frombuffer(portion, np.uint8)
            breaks = np.flatnonzero(data == _LINE_FEED)
            if len(breaks):
                before = data[breaks - 1]
                if breaks[0] == 0:
                    before[0] = last
                begins = np.concatenate([[begin], at + breaks[:-1] + 1])
                yield np.stack([begins, at + breaks - (before == _RETURN) - begins], axis=1)
                begin = at + int(breaks[-1]) + 1
            at += len(portion)
            last = portion[-1]
    if at > begin:
        yield np.array([[begin, at - begin]])


def scan_frames(path: str) -> Iterator[Array]:
    """Yields the records of a TFRecord file, without what stands around them.

    Yields:
        For each record its offset and its length, in runs of shape (records, 2).

    Raises:
        MissingExtraError: google-crc32c is not installed.
        DataLossError: after the last good record, where a length is corrupt or the file is cut short.
    """
    known = _Lengths()
    data, at, wanted = b"", 0, _PORTION_BYTES
    with says_which_file(path), closing(open_at(path)) as file:
        while portion := file.read(wanted):
            data += portion
            spans, end, is_corrupt = _walk(data, known)
            missing = end - len(data)
            passed = _pass_over(file, missing)
            complete = spans if passed >= missing else spans[:-1]
            if complete:
                yield np.array(complete) + np.array([at, 0])
            if passed < missing:
                raise cut_off(FRAME_BYTES + spans[-1][1] - missing + passed)
            if is_corrupt:
                raise corrupt_length()
            data, at = data[end:], at + end
            wanted = _PORTION_BYTES if missing < _PORTION_BYTES else _HEADS_BYTES
    if data:
        raise cut_off(len(data))


class _Lengths(dict[bytes, int]):
    """The length that each of the twelve bytes before a record stand for; -1 where they are corrupt."""

    def __init__(self) -> None:
        super().__init__()
        self._crc32c = crc32c_function()

    def __missing__(self, head: bytes) -> int:
        if len(self) >= _KNOWN_LENGTHS:
            self.clear()
        self[head] = length = length_in(head, self._crc32c)
        return length


def _walk(data: bytes, known: _Lengths) -> tuple[list[tuple[int, int]], int, bool]:
    """Returns the records that begin in the data, where the next one does, and whether its length is corrupt.

    The last record may end after the data.
    """
    spans: list[tuple[int, int]] = []
    begin, last_begin = 0, len(data) - HEAD_BYTES
    while begin <= last_begin:
        length = known[data[begin : begin + HEAD_BYTES]]
        if length < 0:
            return spans, begin, True
        spans.append((begin + HEAD_BYTES, length))
        begin += FRAME_BYTES + length
    return spans, begin, False


def _pass_over(file: BinaryIO, count: int) -> int:
    """Steps over bytes, none if ``count`` is negative; how many there were."""
    if count <= 0:
        return count
    if isinstance(file, io.FileIO):
        here = file.tell()
        return file.seek(min(here + count, max(here, os.fstat(file.fileno()).st_size))) - here
    left = count
    while left and (portion := file.read(min(left, _PORTION_BYTES))):
        left -= len(portion)
    return count - left
