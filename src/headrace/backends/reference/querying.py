"""The reference of queries."""

from __future__ import annotations

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Interrupted, Stream
from headrace.blocks.cursor import State
from headrace.errors import CancelledError, HeadraceError
from headrace.io.sql.reader import RowReader
from headrace.plan.querying import QueryRows
from headrace.semantics.querying import position_from, rows_payload
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


class QueryStream:
    """The rows of a query."""

    def __init__(self, node: QueryRows, state: State | None) -> None:
        self.label = node.label
        self.reader = RowReader(node.query, position_from(state))

    def next(self) -> Given:
        try:
            chunk = self.reader.read(1)
        except CancelledError:
            raise Interrupted from None
        except HeadraceError as error:
            raise error.located(stage=self.label, origin=None) from error.__cause__
        if chunk is None:
            raise StopIteration
        return rows_payload(chunk).rows()[0], f"element {chunk.position.row}"

    def state(self) -> State:
        return self.reader.position.to_json()

    def close(self) -> None:
        self.reader.close()


@stream_of.register
def _query(node: QueryRows, state: State | None, context: RunContext) -> Stream:
    return QueryStream(node, state)
