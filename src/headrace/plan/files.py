"""The plan node of the records of files."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Final, Self, cast

from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.file_format import AheadFormat, FileFormat, Piece, PiecedFormat
from headrace.io.reader import AheadReader, RecordPosition, RecordReader
from headrace.io.streamed_files import StreamedFiles
from headrace.plan.node import Node, Spec

__all__ = ["OPENS_A_NAMED_FILE", "Files"]

# What is known of the function by which the files of a dataset of names are opened.
OPENS_A_NAMED_FILE: Final = "opens a file that is named"


@frozen(kw_only=True, eq=False)
class Files(Node):
    """The records of files, one file after the other."""

    op: ClassVar[str] = "files"
    changeable: ClassVar[str | None] = "paths"
    reads_files: ClassVar[bool] = True
    paths: tuple[str, ...]
    format: FileFormat
    on_error: str = "raise"
    pieces: tuple[Piece | None, ...] | None = None  # which part of each of the paths is read; None is all of it

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise InvalidArgumentError(f"on_error must be 'raise' or 'skip', not {self.on_error!r}", stage=self.label)

    @property
    def skips(self) -> bool:
        """Whether records that cannot be read are skipped."""
        return self.on_error == "skip"

    def open(self, file: int, position: RecordPosition) -> RecordReader:
        """Returns a reader of one of the files, or of its piece, from a position on."""
        piece = None if self.pieces is None else self.pieces[file]
        if piece is None:
            return self.format.open(self.paths[file], position)
        assert isinstance(self.format, PiecedFormat)  # or there would be no pieces
        return self.format.open_piece(self.paths[file], piece, position)

    def open_ahead(self, file: int, position: RecordPosition) -> AheadReader:
        """Returns a reader of one of the files, or of its piece, that can decode ahead; where it ``reads_ahead``."""
        format_ = cast(AheadFormat, self.format)
        return format_.open_ahead(self.paths[file], position, None if self.pieces is None else self.pieces[file])

    def side_by_side(self, lists: int) -> Self:
        """Returns the same with less memory for each file, where so many such lists are read in turns."""
        if not isinstance(self.format, StreamedFiles):
            return self
        format_ = self.format.side_by_side(lists)
        return self if format_ is self.format else dataclasses.replace(self, format=format_)

    def _spec(self) -> Spec:
        """Returns what the format says."""
        return self.format.spec()

    def parameters(self) -> dict[str, Any]:
        """Returns the files and how they are read."""
        on_error = {"on_error": self.on_error} if self.skips else {}
        return {"paths": list(self.paths), **self.format.parameters(), **on_error}

    @property
    def label(self) -> str:
        """The format's name."""
        return f"{self.format.op} '{self.name}'" if self.name else self.format.op
