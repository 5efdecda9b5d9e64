"""What every reader of records promises, and the two things that it hands out: runs of records, and positions.

The promise. ``read`` returns consecutive records of one file, and None at the end. A bad record does not hide the
good ones: those before it come first, as a run of their own; then one ``read`` raises, with ``path:line`` as the
error's origin; the next goes on after it. A failure of the file itself (missing, truncated, corrupt) is raised once,
and the file is then at its end. So no ``read`` raises for ever, and memory is bounded by the buffer or by the longest
record, for which there is a stated limit.

A reader belongs to one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol, Self

import numpy as np

from headrace.elements.structure import Element, TreeDef
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen

__all__ = ["AheadReader", "Array", "Chunk", "RecordPosition", "RecordReader"]

# Not numpy.typing.NDArray: importing that module takes half as long as NumPy itself.
Array = np.ndarray[Any, np.dtype[Any]]


@frozen
class RecordPosition:
    """Where the next record of one file begins.

    Attributes:
        offset: bytes before it in the file, after decompression.
        line: its line as an editor counts, from 1.
        record: how many records of the file come before it, bad ones included.
        ended: whether reading ended here because the file itself failed: nothing more is read, and the failure, which
            was told, is not told again.

    Example:
        >>> from headrace.io.reader import RecordPosition
        >>> RecordPosition.from_json(RecordPosition(offset=120, line=4, record=3).to_json())
        RecordPosition(offset=120, line=4, record=3, ended=False)
    """

    offset: int = 0
    line: int = 1
    record: int = 0
    ended: bool = False

    def to_json(self) -> dict[str, int]:
        """Returns the position as plain data, for a saved state."""
        return {"offset": self.offset, "line": self.line, "record": self.record, "ended": self.ended}

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Self:
        """Makes the position that ``to_json`` described.

        Raises:
            InvalidArgumentError: when ``state`` is no such description.
        """
        known = {field.name: type(field.default) for field in fields(cls)}
        if {name: type(value) for name, value in state.items()} != known or min(state.values()) < 0:
            raise InvalidArgumentError(f"a position in a file has {sorted(known)}, and this is {dict(state)}")
        return cls(**state)


@frozen(eq=False)
class Chunk:
    """A run of consecutive records of one file, as columns.

    Attributes:
        arrays: one array a component, its leading axis the records; text columns are object arrays of str. Empty
            where ``matrix`` holds them all.
        matrix: the records as the rows of one (records, components) array in C order, when all components are
            numbers of one dtype; a gather of rows is then one copy.
        position: of the first record.
        lines: the line at which each record begins, from 1; a range where they are consecutive.
        structure: of each record, where the file itself says it and not the format.
        rows: the records one by one, where no arrays hold them.
        positions: the position of each of these records by its index, and after the last, where the format tells it; None where a
            position is found only by reading on.
        at_hand: how many records after these the reader holds already, so that to read as many takes no time.
        is_last: whether the reader knows that nothing comes after these, not even an error; False says nothing.
    """

    arrays: tuple[Array, ...]
    matrix: Array | None
    position: RecordPosition
    lines: range | Array
    structure: TreeDef | None = None
    rows: Sequence[Element] | None = None
    positions: Callable[[int], RecordPosition] | None = None
    at_hand: int = 0
    is_last: bool = False

    @property
    def columns(self) -> tuple[Array, ...]:
        """One array a component, views of ``matrix`` where there is one (made at each call: a microsecond for ten)."""
        return self.arrays if self.matrix is None else tuple(self.matrix.T)

    def __len__(self) -> int:
        return len(self.lines)


class RecordReader(Protocol):
    """Reads the records of one file in order; the promise stands at the head of this file."""

    @property
    def path(self) -> str:
        """The file, as the caller named it."""
        ...

    @property
    def position(self) -> RecordPosition:
        """Where the next record that ``read`` returns begins."""
        ...

    def read(self, max_records: int) -> Chunk | None:
        """Returns the next 1 to ``max_records`` records, or None at the end of the file."""
        ...

    def close(self) -> None:
        """Closes the file; ``read`` then returns None. May be called twice."""
        ...


class AheadReader(RecordReader, Protocol):
    """A reader that can decode before it is read, in a thread of its own, and leave a part of its file to others."""

    @property
    def rest(self) -> Sequence[AheadReader]:
        """Who reads what is after the first part of the file, once that was loaded: in order, each before the next."""
        ...

    def load(self, *, alone: bool) -> int:
        """Opens the file and decodes what comes first, which ``read`` then gives, and returns about how many bytes that has.

        It raises nothing: what fails is raised by ``read``, in its place. ``alone`` says that no other thread does the same
        for its own part, so that those of a library may help.
        """
        ...
