"""How files are dealt to streams: whole, or where there are too few of them by their pieces, such as row groups."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.file_format import Piece, PiecedFormat
from headrace.known_as import known_name
from headrace.plan.dealing import Share, SharedFiles
from headrace.plan.files import OPENS_A_NAMED_FILE, Files
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, plan_of
from headrace.plan.sources import FromTensorSlices, Range

__all__ = ["refused", "shared_files", "shared_pieces", "too_few"]

# Formats whose records can be read by number.
_INDEXED: Final = frozenset({"ArrowDataset", "ParquetDataset", "TFRecordDataset", "TarDataset", "TextLineDataset"})
_OF_FEW_FILES: Final = {
    True: "; or read the records by number (random_access=True), of however few files, where they are not compressed",
    False: "; or write the records into more files, or into a format that is read by number (TextLineDataset, TFRecordDataset, "
    "TarDataset, ParquetDataset, ArrowDataset with random_access=True)",
}


def shared_files(node: Files, streams: int) -> SharedFiles:
    """Returns the files of a list, or their pieces, as streams have them.

    Raises:
        InvalidArgumentError: there are too few of both.
    """
    paths, pieces = node.paths, None
    if len(paths) < streams:
        paths, pieces = _pieces_of(node, streams)
    return SharedFiles(
        paths=paths,
        pieces=pieces,
        format=node.format,
        on_error=node.on_error,
        name=node.name,
        operation=node.operation,
        num_streams=streams,
    )


def shared_pieces(node: FlatMap, names: Node, streams: int) -> FlatMap | None:
    """Returns what opens the files of that many names with pieces of the files in their place; None where names are enough, or not known.

    Raises:
        InvalidArgumentError: there are too few of both.
    """
    if known_name(node.function) != f"headrace: {OPENS_A_NAMED_FILE}" or not isinstance(names, FromTensorSlices):
        return None
    if not 0 < names.cardinality() < streams or len(names.columns) > 1:
        return None
    each = [plan_of(node.function(name)) for name in names.columns[0].tolist()]
    one = each[0]
    assert isinstance(one, Files)  # which is what it makes
    named = dataclasses.replace(
        one, paths=tuple([path for plan in each if isinstance(plan, Files) for path in plan.paths])
    )
    paths, pieces = _pieces_of(named, streams)
    files = dataclasses.replace(one, paths=paths, pieces=pieces)
    numbers = Share(input=Range(start=0, stop=len(paths), step=1), num_streams=streams)
    return dataclasses.replace(node, input=numbers, function=_OnePiece(files))


@frozen
class _OnePiece:
    """Opens a piece of a file by its number."""

    files: Files

    def __call__(self, number: Any) -> _Opened:
        part = slice(int(number), int(number) + 1)
        assert self.files.pieces is not None  # as it was made with some
        return _Opened(dataclasses.replace(self.files, paths=self.files.paths[part], pieces=self.files.pieces[part]))


@frozen
class _Opened:
    """A dataset, known by its plan alone."""

    plan: Files

    def __headrace_plan__(self) -> Node:
        return self.plan


def _pieces_of(node: Files, streams: int) -> tuple[tuple[str, ...], tuple[Piece | None, ...]]:
    """Returns the pieces of all files, where there are enough: the file of each, and which of it; None is all of a file."""
    found: list[tuple[str, Piece | None]] = [(path, None) for path in node.paths]
    way_out = _OF_FEW_FILES[node.format.op in _INDEXED]
    fewer = too_few(node.label, len(found), "files", streams, way_out)
    if isinstance(node.format, PiecedFormat):
        try:
            pieces = [(path, node.format.pieces(path)) for path in node.paths]
        except HeadraceError as error:
            # It is not dealt whole: on another rank it might be readable, and would be dealt otherwise.
            raise fewer.with_reason(f"{fewer.reason}. Its row groups cannot be counted: {error}") from error
        found = [(path, piece) for path, parts in pieces for piece in ([None] if parts is None else parts)]
        if any(parts is not None for _, parts in pieces):
            way_out = f"; or write smaller ones, or more files{way_out}"
            fewer = too_few(node.label, len(found), "row groups", streams, way_out)
    if len(found) < streams:
        raise fewer
    return tuple(path for path, _ in found), tuple(piece for _, piece in found)


def too_few(label: str, count: int, kind: str, streams: int, way_out: str = "") -> InvalidArgumentError:
    """Makes the error of what has fewer pieces than there are streams."""
    kind = kind if count != 1 else kind.rstrip("s")
    return InvalidArgumentError(
        f"{label}: {count} {kind} cannot be dealt to {streams} streams, each of which needs one at least: give num_streams=, at "
        f"most {max(count, 1)} and a multiple of the number of ranks{way_out}",
        stage="distributed_batch",
    )


def refused(node: Node, reason: str) -> InvalidArgumentError:
    """Makes the error of an operation that cannot be dealt."""
    return InvalidArgumentError(f"{node.label}: {reason}", stage="distributed_batch")
