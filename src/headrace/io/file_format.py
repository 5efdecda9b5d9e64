"""What a plan holds of files: a frozen description of their format, which makes a reader when the plan runs.

Each format has its own in ``io/<format>/format.py``, beside its reader. A description opens nothing before ``open``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from headrace.elements.tensor_spec import Spec
from headrace.frozen import frozen
from headrace.io.reader import AheadReader, Chunk, RecordPosition, RecordReader

__all__ = ["AheadFormat", "FileFormat", "Piece", "PiecedFormat"]


@frozen
class Piece:
    """A part of a file that is read without what is before it.

    Attributes:
        number: which of the file's parts it is, from 0.
        records: the numbers of its records in the file.
    """

    number: int
    records: range


class FileFormat(Protocol):
    """A format of files of records: what its records are, and a reader of one file."""

    @property
    def op(self) -> str:
        """What the operation is called."""
        ...

    def spec(self) -> Spec:
        """Returns the structure of one record; None where records differ: the one component is then the records themselves."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Returns what distinguishes this format from others of its kind, as plain data."""
        ...

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        """Returns the records' components as arrays; None where they are the columns of the chunk's matrix, one by one."""
        ...

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        """Returns a reader of one file from a position on."""
        ...


@runtime_checkable
class PiecedFormat(FileFormat, Protocol):
    """A format whose files have pieces that are read without what is before them, so that several can share one file."""

    def pieces(self, path: str) -> list[Piece] | None:
        """Returns the pieces of a file that have records; None where it does not say where they are.

        Raises:
            HeadraceError: the file cannot be opened.
        """
        ...

    def open_piece(self, path: str, piece: Piece, position: RecordPosition) -> RecordReader:
        """Returns a reader of one piece from a position on; one before it is its beginning."""
        ...


class AheadFormat(FileFormat, Protocol):
    """A format that is decoded without Python's lock, so that workers do it ahead of who reads."""

    def open_ahead(self, path: str, position: RecordPosition, piece: Piece | None = None) -> AheadReader:
        """Returns a reader of one file from a position on, or of a piece of it."""
        ...
