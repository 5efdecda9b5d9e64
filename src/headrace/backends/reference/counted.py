"""Streams that count what they give, and how long that took, as stages do: one record for each element."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable

from headrace.backends.reference.stream import Given, Stream
from headrace.errors import HeadraceError
from headrace.observe.meter import Meter
from headrace.semantics.meters import Inside

__all__ = ["counted"]


def counted(stream: Stream, meter: Meter, inside: Inside) -> Stream:
    """Returns the very stream, whose ``next`` counts from now on.

    Args:
        stream: one that nobody reads yet.
        meter: counts what it gives.
        inside: how long streams take that are read within another, of one run.
    """
    give = _given_by(stream)

    def next_() -> Given:
        before_s, inside.seconds = inside.seconds, 0.0
        start_s = time.perf_counter()
        elements = served = 0
        try:
            given = give()
            elements = served = 1
            return given
        except HeadraceError:
            served = 1
            raise
        finally:
            span_s = time.perf_counter() - start_s
            meter.add((elements, served, max(0.0, span_s - inside.seconds), 0.0, inside.seconds, 0.0))
            inside.seconds = before_s + span_s

    stream.next = next_  # type: ignore[method-assign]  # of this stream alone: those that read it know its class
    return stream


def _given_by(stream: Stream) -> Callable[[], Given]:
    """Returns what gives the next element; it does not keep the stream, which keeps it."""
    if "next" in vars(stream):  # an operation that runs as its input counts it once more
        return stream.next
    give, stream_of_it = type(stream).next, weakref.ref(stream)

    def given() -> Given:
        there = stream_of_it()
        assert there is not None  # or nobody could have asked it
        return give(there)

    return given
