"""The stage that reads the rows of a query."""

from __future__ import annotations

import dataclasses

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State
from headrace.blocks.origin import NumberedOrigin
from headrace.blocks.payload import Columns, Payload, Rows
from headrace.errors import CancelledError, HeadraceError
from headrace.io.sql.reader import RowChunk, RowPlace, RowReader
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.plan.querying import QueryRows
from headrace.structure import flatten

__all__ = ["QueryStage", "place_from", "rows_payload"]


def place_from(state: State | None) -> RowPlace:
    """Where a query is read on."""
    return RowPlace() if state is None else RowPlace.from_json(state)


def rows_payload(chunk: RowChunk) -> Payload:
    """The rows of a chunk."""
    if chunk.elements is not None:
        return Rows(chunk.elements)
    arrays, treedef = flatten(chunk.arrays)
    return Columns(treedef, arrays)


@dataclasses.dataclass(frozen=True, slots=True)
class _PlaceCursor:
    """Behind a failure, or at the start."""

    place: RowPlace

    def advance(self, count: int) -> _PlaceCursor:
        return _PlaceCursor(dataclasses.replace(self.place, row=self.place.row + count))

    def state(self) -> State:
        return self.place.to_json()


@dataclasses.dataclass(frozen=True, slots=True)
class _RowCursor:
    """At a row of a chunk, or behind its last."""

    chunk: RowChunk
    index: int = 0

    def advance(self, count: int) -> _RowCursor:
        return _RowCursor(self.chunk, self.index + count)

    def state(self) -> State:
        return self.chunk.place_of(self.index).to_json()


class QueryStage(Stage):
    """The rows of a query."""

    def __init__(self, node: QueryRows, meter: Meter, state: State | None) -> None:
        place = place_from(state)
        super().__init__(meter, (), _PlaceCursor(place))
        self._label = node.label
        self._reader = RowReader(node.query, place)

    def _pull(self, limit: int) -> Item:
        try:
            chunk = self._reader.read(limit)
        except CancelledError:
            raise  # the run is being closed, and nothing failed
        except HeadraceError as error:
            placed = error.located(stage=self._label, origin=None)
            return Failure(placed, self.cursor, _PlaceCursor(self._reader.place))
        if chunk is None:
            return None
        numbers = range(chunk.place.row, chunk.place.row + len(chunk))
        return Block(rows_payload(chunk), _RowCursor(chunk), NumberedOrigin(numbers))

    def stop(self) -> None:
        self._reader.stop()

    def close(self) -> None:
        self._reader.close()
