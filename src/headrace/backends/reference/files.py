"""The reference of the records of files."""

from __future__ import annotations

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary, log_skipped
from headrace.blocks.cursor import State, input_state
from headrace.elements.structure import flatten
from headrace.errors import HeadraceError
from headrace.io.reader import RecordPosition, RecordReader
from headrace.plan.files import Files
from headrace.semantics.files import became_shorter, record_rows
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


class FilesStream:
    """The records of files, one file after the other."""

    def __init__(self, node: Files, state: State | None) -> None:
        self.node = node
        self.treedef = flatten(node.spec())[1]
        self.file = state["file"] if state else 0
        self.position = RecordPosition.from_json(state["place"]) if state else RecordPosition()
        self.reader: RecordReader | None = None
        self.skip: int = state["skip"] if state else 0  # records that were delivered after the position

    def opened(self) -> RecordReader:
        if self.reader is None:
            self.reader = self.node.open(self.file, self.position)
        return self.reader

    def next(self) -> Given:
        while self.file < len(self.node.paths):
            path = self.node.paths[self.file]
            skipped, self.skip = self.skip, max(0, self.skip - 1)
            try:
                chunk = self.opened().read(1)
            except HeadraceError as error:
                if self.reader is None or self.reader.position.ended:
                    self.skip = 0
                raise error.located(stage=self.node.label, origin=path) from error.__cause__
            if skipped and chunk is None:
                self.skip = 0
                raise became_shorter(path, skipped).located(stage=self.node.label, origin=path)
            if skipped:
                continue
            if chunk is not None:
                return record_rows(self.node, self.treedef, chunk).rows()[0], f"{path}:{chunk.lines[0]}"
            self.close()
            self.file, self.position, self.reader = self.file + 1, RecordPosition(), None
        raise StopIteration

    def state(self) -> State:
        position = self.reader.position if self.reader is not None else self.position
        return {"file": self.file, "place": position.to_json(), "skip": self.skip}

    def close(self) -> None:
        if self.reader is not None:
            self.reader.close()


class ReadableFilesStream(Unary):
    """The records that can be read; of the others, a bounded number is skipped."""

    def __init__(self, input_stream: Stream, context: RunContext, failed: int) -> None:
        super().__init__(input_stream)
        self.failures = context.failures
        self.most = context.max_failures
        self.failed = failed

    def next(self) -> Given:
        while True:
            try:
                return self.input.next()
            except HeadraceError as error:
                self.failed += 1
                log_skipped(error, self.failed, self.most, self.failures)

    def state(self) -> State:
        return {"failed": self.failed, "input": self.input.state()}


@stream_of.register
def _files(node: Files, state: State | None, context: RunContext) -> Stream:
    if not node.skips:
        return FilesStream(node, state)
    return ReadableFilesStream(FilesStream(node, input_state(state)), context, state["failed"] if state else 0)
