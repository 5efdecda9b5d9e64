"""The elements of tar archives by number: where each begins is found by one pass over the headers.

What always holds: an archive that was changed since is noticed before an element of it is given (by size and time of the
last change), and the error of an element names the archive and the element's number in it, from 1.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, SupportsIndex

import numpy as np

from headrace.errors import DataLossError
from headrace.io.block_reader import DEFAULT_BUFFER_BYTES
from headrace.io.files import path_of, version_of
from headrace.io.reader import Place
from headrace.io.tar import TarReader
from headrace.io.tar_header import BLOCK_BYTES
from headrace.io.tar_members import TarMembers, split_name

__all__ = ["TarElements", "offsets_of"]

# Headers are small and far apart.
_HEADER_BUFFER_BYTES: Final = 1 << 16
# The header behind an element is read as well, since it says that the element has no further file; a long name needs three.
_BEHIND_BYTES: Final = 4 * BLOCK_BYTES


class TarElements:
    """Elements of uncompressed archives, to be got by number.

    Args:
        paths: the archives; their elements are counted through in this order.

    Raises:
        NotFoundError: an archive is not there.
        DataLossError: an archive is cut short or corrupt.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> from headrace.io.tar_elements import TarElements
        >>> path = str(pathlib.Path(tempfile.mkdtemp(), "a.tar"))
        >>> with hr.io.TarWriter(path) as writer:
        ...     for number in range(3):
        ...         writer.write({"__key__": f"{number:04}", "cls": number})
        >>> elements = TarElements([path])
        >>> len(elements), elements[2]["cls"]
        (3, b'2')
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = [path_of(path) for path in paths]
        self._versions = [version_of(path) for path in self._paths]
        # One more than the elements: the end of the last one.
        self._bounds = [offsets_of(path) for path in self._paths]
        self._starts = np.cumsum([0, *(len(bounds) - 1 for bounds in self._bounds)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: SupportsIndex) -> dict[str, Any]:
        """One element.

        Raises:
            IndexError: there is no such element.
            HeadraceError: it cannot be read.
        """
        return self.__getitems__([operator.index(index)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        """Several elements; those that follow each other are read in one go.

        Raises:
            IndexError: there is no such element.
            HeadraceError: one of them cannot be read.
        """
        given: list[dict[str, Any]] = []
        for run in _runs(indices, len(self)):
            for shard in range(self._shard_of(run.start), self._shard_of(run.stop - 1) + 1):
                first = int(self._starts[shard])
                part = range(max(run.start, first), min(run.stop, int(self._starts[shard + 1])))
                given += self._read(shard, part.start - first, len(part)) if part else []
        return given

    def __headrace_fingerprint__(self) -> Any:
        return list(zip(self._paths, self._versions, strict=True))

    def _shard_of(self, index: int) -> int:
        # To the right: a shard without elements begins where the next one does.
        return int(np.searchsorted(self._starts, index, side="right")) - 1

    def _read(self, shard: int, start: int, count: int) -> list[dict[str, Any]]:
        path, bounds = self._paths[shard], self._bounds[shard]
        if version_of(path) != self._versions[shard]:
            raise DataLossError(f"{path} was changed after its elements were counted; make the dataset anew")
        begin, end = int(bounds[start]), int(bounds[start + count])
        buffer_size = min(end - begin + _BEHIND_BYTES, DEFAULT_BUFFER_BYTES)
        reader = TarReader(path, buffer_size=buffer_size, place=Place(begin, start + 1, start))
        try:
            return list(_elements(reader, count))
        finally:
            reader.close()


def offsets_of(path: str) -> np.ndarray:
    """Where each element of an uncompressed archive begins, and where the last one ends (int64).

    Raises:
        HeadraceError: the archive cannot be read to its end.
    """
    members = TarMembers(path, "", _HEADER_BUFFER_BYTES)
    offsets: list[int] = []
    last = None
    try:
        while (member := members.next()) is not None:
            names = split_name(member.header.name)
            if names is None or member.header.is_folder:
                continue
            if names[0] != last:
                offsets.append(member.offset)
                last = names[0]
    except DataLossError as error:
        raise error.located(stage=None, origin=f"{path}:{len(offsets) or 1}") from None
    finally:
        members.close()
    return np.array([*offsets, members.offset], np.int64)


def _elements(reader: TarReader, count: int) -> Iterator[dict[str, Any]]:
    while count:
        chunk = reader.read(count)
        assert chunk is not None  # the archive is the one that was counted
        yield from chunk.columns[0].tolist()
        count -= len(chunk)


def _runs(indices: Sequence[int], length: int) -> Iterator[range]:
    """Numbers as runs of consecutive ones."""
    for index in indices:
        if not 0 <= index < length:
            raise IndexError(f"element {index} of {length}")
    breaks = [at for at, (one, other) in enumerate(pairwise(indices), 1) if other != one + 1]
    for begin, end in pairwise([0, *breaks, len(indices)]):
        if end > begin:
            yield range(indices[begin], indices[begin] + end - begin)
