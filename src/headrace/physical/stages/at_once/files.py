"""How the records of a small file are read at once: of one whose end is seen with its last record."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, Literal

from headrace.blocks.block import Block
from headrace.elements.structure import TreeDef, flatten
from headrace.errors import HeadraceError
from headrace.io.files import is_short
from headrace.io.reader import Chunk, RecordPosition
from headrace.io.stream_reader import BufferedReader
from headrace.physical.at_once import Making, makes_at_once
from headrace.physical.made import MOST_BYTES, Pieces
from headrace.physical.stages.files import block_of
from headrace.plan.files import Files

__all__ = ["NO_SMALL_FILE", "may_be_small", "small_file"]

_START: Final = RecordPosition()
# A file of far more bytes than this for each record that there is room for has more of them, and would be read for nothing.
_BYTES_OF_A_RECORD: Final = 512


class NoSmallFile(Enum):
    """That a file is none whose records can be read at once."""

    NO_SMALL_FILE = auto()


NO_SMALL_FILE: Final = NoSmallFile.NO_SMALL_FILE


def may_be_small(node: Files) -> bool:
    """Returns whether a node reads one file, of which nothing but its records is told."""
    return len(node.paths) == 1 and not node.skips


def small_file(node: Files, treedef: TreeDef, room: int) -> Block | Literal[NoSmallFile.NO_SMALL_FILE] | None:
    """Returns all records of the file of a node that ``may_be_small``, or None where there are none.

    Args:
        node: it.
        treedef: of its records.
        room: how many there may be; where there are more, or the stage has more to tell than records, it is no small file.
    """
    reader = node.open(0, _START)
    if not isinstance(reader, BufferedReader):  # which alone says with a record that it is the last
        return NO_SMALL_FILE
    if not is_short(node.paths[0], min(MOST_BYTES, room * _BYTES_OF_A_RECORD)):
        return NO_SMALL_FILE
    try:
        reader.read_whole()
        chunk: Chunk | None = reader.read(room)
    except HeadraceError:  # which the stage tells, at its place
        return NO_SMALL_FILE
    finally:
        reader.close()
    if chunk is None:
        return None
    return block_of(node, treedef, 0, chunk) if chunk.is_last else NO_SMALL_FILE


@makes_at_once(Files)
def _files(node: Files, _: Making, room: int) -> Pieces | None:
    found = small_file(node, flatten(node.spec())[1], room) if room and may_be_small(node) else NO_SMALL_FILE
    if found is NO_SMALL_FILE:
        return None
    return [] if found is None else [found]
