"""How the dataset that a window or a group is gives all its elements at once."""

from __future__ import annotations

from typing import Final

from headrace.blocks.block import Block
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.payload import Rows
from headrace.physical.at_once import Making, makes_at_once
from headrace.physical.made import Pieces
from headrace.physical.stages.windowing import WindowOrigin
from headrace.plan.windowing import WindowContents
from headrace.semantics.window_contents import WindowBlock

_START: Final = IndexCursor(0)


@makes_at_once(WindowContents)
def _held(node: WindowContents, _: Making, room: int) -> Pieces | None:
    held = node.elements
    count = len(held)
    if not 0 < count <= room:
        return [] if count == 0 else None
    payload = held.handed_out() if isinstance(held, WindowBlock) else handed_out(Rows(list(held.rows())))
    return [Block(payload, _START, WindowOrigin(held, range(count)))]
