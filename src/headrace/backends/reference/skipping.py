"""The reference of operations that skip failures."""

from __future__ import annotations

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary
from headrace.blocks.cursor import State
from headrace.errors import HeadraceError, InputChangedError
from headrace.log import LOG
from headrace.observe.failures import Failures
from headrace.plan.skipping import IgnoreErrors
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


class SkipFailuresStream(Unary):
    """The elements that did not fail."""

    def __init__(self, node: IgnoreErrors, input_stream: Stream, failures: Failures) -> None:
        super().__init__(input_stream)
        self.failures = failures
        self.node = node

    def next(self) -> Given:
        while True:
            try:
                return self.input.next()
            except InputChangedError:
                raise
            except HeadraceError as error:
                self.failures.note(error, "skipped")
                if self.node.log_warning:
                    LOG.warning("skipped: %s", error)


@stream_of.register
def _ignore_errors(node: IgnoreErrors, state: State | None, context: RunContext) -> Stream:
    return SkipFailuresStream(node, stream_of(node.input, state, context), context.failures)
