"""The records of files, one file after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State, input_state
from headrace.blocks.origin import FileOrigin
from headrace.elements.structure import TreeDef, flatten
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.io.reader import Chunk, RecordPosition, RecordReader
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.skipping import BoundedSkipFailuresStage
from headrace.physical.workers.files_ahead import FilesAhead
from headrace.plan.files import Files
from headrace.plan.node import reads_ahead
from headrace.semantics.files import became_shorter, record_rows
from headrace.semantics.held_bytes import Holding

__all__ = ["AT_START", "FilesStage", "block_of", "files_stage"]

# Begins with a file, at a position in it.
ReadAhead = Callable[[int, RecordPosition], FilesAhead]


@frozen
class _FileCursor:
    """In a list of files: which, where in it, and how many records further.

    Where the reader knows the position of each record, the state is that position alone: a file that ends before it is told as
    such, whatever was read at once.
    """

    file: int
    position: RecordPosition
    skip: int = 0
    positions: Callable[[int], RecordPosition] | None = None

    def advance(self, count: int) -> _FileCursor:
        return _FileCursor(self.file, self.position, self.skip + count, self.positions)

    def state(self) -> State:
        position, skip = (self.position, self.skip) if self.positions is None else (self.positions(self.skip), 0)
        return {"file": self.file, "place": position.to_json(), "skip": skip}


AT_START: Final = _FileCursor(0, RecordPosition())


def block_of(node: Files, treedef: TreeDef, file: int, chunk: Chunk) -> Block:
    """Returns records of one of the files, with where they are in it."""
    cursor = _FileCursor(file, chunk.position, positions=chunk.positions)
    return Block(record_rows(node, treedef, chunk), cursor, FileOrigin(node.paths[file], chunk.lines))


class FilesStage(Stage):
    """The records of files, one file after the other."""

    def __init__(
        self, node: Files, meter: Meter, state: State | None, holding: Holding, ahead: ReadAhead | None = None
    ) -> None:
        saved = state or {"file": 0, "place": RecordPosition().to_json(), "skip": 0}
        self._file: int = saved["file"]
        self._position = RecordPosition.from_json(saved["place"])
        self._skip: int = saved["skip"]
        self._holding = holding
        super().__init__(meter, (), _FileCursor(self._file, self._position, self._skip))
        self._node = node
        self._treedef = flatten(node.spec())[1]
        self._reader: RecordReader | None = None
        self._ahead = None if ahead is None else ahead(self._file, self._position)
        self._has_given_all = False

    def _pull(self, limit: int) -> Item:
        while self._file < len(self._node.paths):
            if self._ahead is not None:
                self._reader = self._ahead.reader()  # it raises nothing but that the run has ended
                self.waited(self._ahead.wait_s)
                self._ahead.wait_s = 0.0
            try:
                chunk = self._opened().read(self._skip or limit)
            except HeadraceError as error:
                is_last = self._reader is None or self._reader.position.ended
                self._skip = 0 if is_last else max(0, self._skip - 1)  # a bad record stands for one of them
                return self._failure(error)
            if chunk is None and self._skip:
                shorter = became_shorter(self._node.paths[self._file], self._skip)
                self._skip = 0
                return self._failure(shorter)
            if chunk is None:
                self._next_file()
            elif self._skip:
                self._skip -= len(chunk)
            else:
                self._has_given_all = chunk.is_last and self._ahead is None and self._file + 1 == len(self._node.paths)
                block = block_of(self._node, self._treedef, self._file, chunk)
                self._has_ready(chunk.at_hand, block)
                return block
        return None

    def _is_spent(self) -> bool:
        return self._has_given_all

    def _has_ready(self, elements: int, block: Block) -> None:
        """Says how much of a piece of the file is there already, after a block of it: of a new piece, which is held until its end."""
        before, self.ready_elements = self.ready_elements, elements
        if elements > before or (before and not elements):
            self._holding.hold(elements * block.payload.nbytes // len(block), tuple, count=1)

    def _opened(self) -> RecordReader:
        if self._reader is None:
            self._reader = self._node.open(self._file, self._position)
        return self._reader

    def _next_file(self) -> None:
        """Goes on with the next file, or with the next part of this one."""
        self._close_file()
        is_lost = self._reader is not None and self._reader.position.ended
        self._reader = None
        self.ready_elements = 0
        self._holding.hold(0, tuple, count=1)
        self._skip = 0
        if self._ahead is None or not self._ahead.finish(is_lost=is_lost):
            self._file, self._position = self._file + 1, RecordPosition()

    def _failure(self, error: HeadraceError) -> Failure:
        """Makes the failure of one bad record, or of a file that cannot be read; the reader has moved on after it."""
        path = self._node.paths[self._file]
        placed = error.located(stage=self._node.label, origin=path)
        after = self._reader.position if self._reader is not None else self._position
        if self._reader is None:
            self._next_file()
            return Failure(placed, self.cursor, _FileCursor(self._file, RecordPosition()))
        return Failure(placed, self.cursor, _FileCursor(self._file, after, self._skip))

    def _close_file(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def stop(self) -> None:
        if self._ahead is not None:
            self._ahead.stop()

    def close(self) -> None:
        self._holding.release()
        if self._ahead is not None:
            self._ahead.close()
        self._close_file()


def files_stage(node: Files, meter: Meter, state: State | None, context: StageContext) -> Stage:
    """Makes the stage of files; records that cannot be read are left out where the node says so."""
    node = node.side_by_side(context.streams)
    holding = context.budget.gathering(node.label, "", meter)
    ahead = _read_ahead(node, meter, context)
    if not node.skips:
        return FilesStage(node, meter, state, holding, ahead)
    files = FilesStage(node, meter, input_state(state), holding, ahead)
    return BoundedSkipFailuresStage(
        files, meter, state, context.failures, is_skipped=lambda _: True, most=context.max_failures
    )


def _read_ahead(node: Files, meter: Meter, context: StageContext) -> ReadAhead | None:
    """Returns what has workers read files ahead; None inside a task, in streams, which are many, and for formats that workers are no help to."""
    if context.gates is None or context.stream is not None or not reads_ahead(node):
        return None
    return functools.partial(FilesAhead, node, gate=context.gates.of(node), ahead=context.ahead(node), meter=meter)


@lower.register
def _files(node: Files, state: State | None, context: StageContext) -> Stage:
    return files_stage(node, context.meter(node), state, context)
