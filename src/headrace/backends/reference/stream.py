"""What every reference stream promises.

``next`` gives the next element and its origin in words. It raises StopIteration at the end, and at every call
after it. Where an element fails it raises that element's error, and the next call goes on after it. ``state``
says in plain data where the stream stands; a stream made from that state goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from headrace.blocks.cursor import State
from headrace.blocks.origin import named
from headrace.elements.structure import Element
from headrace.errors import HeadraceError, said
from headrace.log import LOG
from headrace.observe.failures import Failures
from headrace.observe.frames import holds, since
from headrace.semantics.failures import as_element_error

__all__ = ["Given", "Interrupted", "Stream", "Unary", "called", "log_skipped"]


Given = tuple[Element, str]


class Interrupted(Exception):  # noqa: N818 - nothing is wrong, and it is no HeadraceError, which streams may skip
    """A wait was ended from outside: this is neither the end nor an element's error."""


class Stream(Protocol):
    """One operation at work."""

    def next(self) -> Given: ...

    def state(self) -> State: ...

    def close(self) -> None: ...


class Unary:
    """An operation on one stream that adds nothing to its state."""

    def __init__(self, input_stream: Stream) -> None:
        self.input = input_stream

    def state(self) -> State:
        return self.input.state()

    def close(self) -> None:
        self.input.close()


@holds(lambda at, _: (at["label"], named(at["origin"], at["element"])))
@since("_since_s")
def called(
    label: str, origin: str, function: Callable[[], Any], element: Element = None, *, takes_parts: bool = False
) -> Any:
    """Calls the function; tells its exception as an error of the element that came from ``origin``, which reports may show."""
    _since_s = time.perf_counter()  # for the report of what is held up
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        placed = as_element_error(error, stage=label, origin=origin, takes_parts=takes_parts)
        raise placed from placed.__cause__


def log_skipped(error: HeadraceError, failed: int, most: int | None, failures: Failures) -> None:
    """Notes what is skipped, and writes it to the log.

    Raises:
        HeadraceError: ``error`` itself, where it is more than the number of failures that may be skipped.
    """
    if most is not None and failed > most:
        reason = f"{error.reason} (this is failure {failed}, and max_failures is {most})"
        raise error.with_reason(reason) from error.__cause__
    failures.note(error, "skipped")
    LOG.warning("skipped: %s", said(error))
