"""The stages that skip failures: all of them, or those of one operation that was told to go on."""

from __future__ import annotations

from collections.abc import Callable

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.errors import InputChangedError, said
from headrace.frozen import frozen
from headrace.log import LOG
from headrace.observe.failures import Failures
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.skipping import IgnoreErrors

__all__ = ["BoundedSkipFailuresStage", "SkipFailuresStage"]


class SkipFailuresStage(Stage):
    """Skips failures of elements. It adds nothing to the state: after a failure lies a position like any other.

    Args:
        failures: where they are noted.
        log: whether each is named in the log.
    """

    def __init__(self, input_stage: Stage, meter: Meter, failures: Failures, *, log: bool) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._failures = failures
        self._log = log

    def _pull(self, limit: int) -> Item:
        while True:
            item = self._read(self.inputs[0], limit)
            if not isinstance(item, Failure) or isinstance(item.error, InputChangedError):
                return item
            self.cursor = item.after
            self.meter.count_skipped(1)
            self._failures.note(item.error, "skipped")
            if self._log:
                LOG.warning("skipped: %s", said(item.error))


@frozen
class _SkippedFailuresCursor:
    """The position after the skipped elements."""

    failed: int
    input: Cursor

    def advance(self, count: int) -> _SkippedFailuresCursor:
        return _SkippedFailuresCursor(self.failed, self.input.advance(count))

    def state(self) -> State:
        return {"failed": self.failed, "input": self.input.state()}


class BoundedSkipFailuresStage(Stage):
    """Skips the failures of one operation, up to a bound; each is named in the log.

    Args:
        failures: where they are noted.
        is_skipped: whether a failure is that operation's.
        most: how many may be skipped; None is without a bound.
    """

    def __init__(
        self,
        input_stage: Stage,
        meter: Meter,
        state: State | None,
        failures: Failures,
        *,
        is_skipped: Callable[[Failure], bool],
        most: int | None,
    ) -> None:
        self._failed: int = state["failed"] if state else 0
        super().__init__(meter, (input_stage,), _SkippedFailuresCursor(self._failed, input_stage.cursor))
        self._failures = failures
        self._is_forgiven = is_skipped
        self._most = most

    def _pull(self, limit: int) -> Item:
        while True:
            item = self._read(self.inputs[0], limit)
            if item is None:
                return None
            cursor = _SkippedFailuresCursor(self._failed, item.cursor)
            if isinstance(item, Block):
                return Block(item.payload, cursor, item.origin)
            if not self._is_forgiven(item):
                return Failure(item.error, cursor, _SkippedFailuresCursor(self._failed, item.after), item.by)
            self._failed += 1
            after = _SkippedFailuresCursor(self._failed, item.after)
            if self._most is not None and self._failed > self._most:
                reason = f"{item.error.reason} (this is failure {self._failed}, and max_failures is {self._most})"
                error = item.error.with_reason(reason)
                return Failure(error, cursor, after)
            self.cursor = after
            self.meter.count_skipped(1)
            self._failures.note(item.error, "skipped")
            LOG.warning("skipped: %s", said(item.error))


@lower.register
def _ignore_errors(node: IgnoreErrors, state: State | None, context: StageContext) -> Stage:
    return SkipFailuresStage(
        lower(node.input, state, context), context.meter(node), context.failures, log=node.log_warning
    )
