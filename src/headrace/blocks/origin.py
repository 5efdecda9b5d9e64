"""Where the elements of a block came from, for messages: cheap to carry, put into words only when asked for."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from headrace.frozen import frozen

__all__ = [
    "FileOrigin",
    "GroupedOrigin",
    "IndexOrigin",
    "Indices",
    "JoinedOrigin",
    "Origin",
    "Within",
    "WordedOrigin",
    "as_array",
    "grouped",
    "is_long",
    "named",
    "numbered",
    "slice_of",
    "subset",
    "words_of",
]

Indices = range | np.ndarray


def subset(base: Indices, indices: Indices) -> Indices:
    """Returns the items of ``base`` at these indices."""
    if isinstance(indices, range):
        return base[indices.start : indices.stop : indices.step] if len(indices) else base[:0]
    if isinstance(base, range):
        # Of a whole dataset in index space, the most common case, the items are the indices.
        return indices if base.start == 0 and base.step == 1 else base.start + base.step * indices
    return base[indices]


def as_array(indices: Indices) -> np.ndarray:
    """Returns the indices in an array (int64); ``np.asarray`` would ask a range for them one by one."""
    if isinstance(indices, range):
        return np.arange(indices.start, indices.stop, indices.step, dtype=np.int64)
    return indices


_ELEMENT: Final = "element "
_LONGEST_TEXT: Final = 100  # of an element that is shown whole
# Groups of slices of groups and so on: of thousands of operations the first ones, next to the source, say where to look.
_LONG: Final = 200


def is_long(origin: str) -> bool:
    """Returns whether an origin is so long in words that further operations add nothing to it."""
    return len(origin) > _LONG


def slice_of(whole: str) -> str:
    """Says where a slice of an element came from."""
    return whole if is_long(whole) else f"a slice of {whole}"


def grouped(first: str, last: str, count: int) -> str:
    """Says where an element came from that was made of several, of which these are the first and the last."""
    if count == 1 or is_long(first):
        return first
    if is_long(last):
        last = f"{last[:_LONG]}…"
    if first.startswith("element ") and last.startswith("element "):
        return f"elements {first.removeprefix('element ')} … {last.removeprefix('element ')}"
    return f"{count} elements, {first} … {last}"


class Origin(Protocol):
    """Where each element of a block came from."""

    def subset(self, indices: Indices) -> Origin:
        """Returns the origins of the elements at these indices."""
        ...

    def describe(self, index: int) -> str:
        """Returns the origin of one element, in words."""
        ...


@frozen
class IndexOrigin:
    """Elements of a source that is read by index."""

    indices: Indices

    def subset(self, indices: Indices) -> IndexOrigin:
        return IndexOrigin(subset(self.indices, indices))

    def describe(self, index: int) -> str:
        return f"{_ELEMENT}{self.indices[index]}"


@frozen
class FileOrigin:
    """Records of a file, by the line at which each begins."""

    path: str
    lines: Indices

    def subset(self, indices: Indices) -> FileOrigin:
        return FileOrigin(self.path, subset(self.lines, indices))

    def describe(self, index: int) -> str:
        return f"{self.path}:{self.lines[index]}"


def numbered(origin: Origin) -> tuple[str, range] | None:
    """Returns what stands before the number in the words of each origin, and the numbers, where these are a run."""
    match origin:
        case IndexOrigin(indices=range(step=1) as numbers):
            return _ELEMENT, numbers
        case FileOrigin(path=path, lines=range(step=1) as numbers):
            return f"{path}:", numbers
    return None


def words_of(origin: Origin, count: int) -> list[str]:
    """Returns the origins of ``count`` elements in words."""
    match origin:
        case IndexOrigin():
            return [f"{_ELEMENT}{index}" for index in as_array(origin.indices).tolist()]
        case FileOrigin():
            return [f"{origin.path}:{line}" for line in as_array(origin.lines).tolist()]
    return [origin.describe(index) for index in range(count)]


@frozen
class WordedOrigin:
    """Elements whose origins are in words already."""

    words: Sequence[str]

    def subset(self, indices: Indices) -> WordedOrigin:
        return WordedOrigin([self.words[index] for index in indices])

    def describe(self, index: int) -> str:
        return self.words[index]


@frozen
class GroupedOrigin:
    """Elements that were each made of several: the i-th of those from ``bounds[i]`` to ``bounds[i + 1]``."""

    base: Origin
    bounds: tuple[tuple[int, int], ...]

    def subset(self, indices: Indices) -> GroupedOrigin:
        return GroupedOrigin(self.base, tuple(self.bounds[index] for index in indices))

    def describe(self, index: int) -> str:
        start, stop = self.bounds[index]
        count = stop - start
        first = self.base.describe(start)
        return first if is_long(first) else grouped(first, self.base.describe(stop - 1), count)


@frozen
class JoinedOrigin:
    """Elements that came in several pieces, each with origins of its own."""

    starts: Sequence[int]
    pieces: Sequence[Origin]
    picked: Indices

    @classmethod
    def of(cls, lengths: Sequence[int], pieces: Sequence[Origin]) -> Origin:
        """Joins the origins of pieces of these lengths."""
        if len(pieces) == 1:
            return pieces[0]
        starts = [*itertools.accumulate(lengths, initial=0)]
        return cls(starts, pieces, range(starts[-1]))

    def subset(self, indices: Indices) -> JoinedOrigin:
        return JoinedOrigin(self.starts, self.pieces, subset(self.picked, indices))

    def describe(self, index: int) -> str:
        position = int(self.picked[index])
        piece = bisect.bisect_right(self.starts, position) - 1
        return self.pieces[piece].describe(position - self.starts[piece])


@frozen
class Within:
    """Elements of a dataset that a function made of one outer element."""

    inner: Origin
    outer: Origin
    outer_index: int

    def subset(self, indices: Indices) -> Within:
        return Within(self.inner.subset(indices), self.outer, self.outer_index)

    def describe(self, index: int) -> str:
        inner = self.inner.describe(index)
        # A file and a line need no further word; an index means nothing without the element it lies in.
        return inner if ":" in inner else f"{inner} of {self.outer.describe(self.outer_index)}"


def named(origin: str, element: object) -> str:
    """Returns the words of an element's origin with the text that it has, such as the name of its file, where no file is in them."""
    if ":" in origin:
        return origin
    parts = element.values() if type(element) is dict else element if type(element) is tuple else (element,)
    text = next((str(part) for part in parts if isinstance(part, str)), "").partition("\n")[0]
    shown = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
    return f"{origin} ({shown})" if shown else origin
