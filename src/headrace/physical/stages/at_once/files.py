"""How the records of a small file are read at once: of one whose end is seen with its last record."""

from __future__ import annotations

from typing import Final

from headrace.elements.structure import flatten
from headrace.errors import HeadraceError
from headrace.io.files import is_short
from headrace.io.reader import Chunk, RecordPosition
from headrace.io.stream_reader import BufferedReader
from headrace.physical.at_once import Making, makes_at_once
from headrace.physical.made import MOST_BYTES, Pieces
from headrace.physical.stages.files import block_of
from headrace.plan.files import Files

_START: Final = RecordPosition()
# A file of far more bytes than this for each record that there is room for has more of them, and would be read for nothing.
_BYTES_OF_A_RECORD: Final = 512


@makes_at_once(Files)
def _files(node: Files, _: Making, room: int) -> Pieces | None:
    if not room or len(node.paths) != 1 or node.skips:
        return None
    reader = node.open(0, _START)
    if not isinstance(reader, BufferedReader):  # which alone says with a record that it is the last
        return None
    if not is_short(node.paths[0], min(MOST_BYTES, room * _BYTES_OF_A_RECORD)):
        return None
    try:
        reader.read_whole()
        chunk: Chunk | None = reader.read(room)
    except HeadraceError:  # which the stage tells, at its place
        return None
    finally:
        reader.close()
    if chunk is None:
        return []
    return [block_of(node, flatten(node.spec())[1], 0, chunk)] if chunk.is_last else None
