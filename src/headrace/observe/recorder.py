"""What every thread did, noted for as long as somebody asks for a trace.

While nobody does, it costs a look at a variable, once a block. Each thread appends its own events, which is atomic.

The form is Chrome's trace event format, in JSON (Duffell and others, "Trace Event Format"): complete events (``X``) for what took
time, flow events (``s``, ``f``) for the arrows from who made a block to who took it, and names of threads (``M``).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from headrace.clock import MONOTONIC, Clock
from headrace.frozen import frozen

__all__ = ["Recorder"]

# The latest events that are kept: about 150 MB of JSON, and as much as Perfetto opens in a few seconds.
_MOST_EVENTS: Final = 1_000_000


@frozen
class _Slice:
    """What a thread did."""

    name: str
    thread: int
    start_s: float
    end_s: float
    elements: int | None


@frozen
class _Arrow:
    """One end of an arrow; two with the same key belong together."""

    key: tuple[int, int]
    thread: int
    at_s: float
    is_end: bool


class Recorder:
    """Collects events of all threads of the process.

    Args:
        clock: what tells the time; that of what calls it.
        most: how many events are kept, the latest ones.
    """

    active: Recorder | None = None

    def __init__(self, clock: Clock = MONOTONIC, most: int = _MOST_EVENTS) -> None:
        self._clock = clock
        self._events: deque[_Slice | _Arrow] = deque(maxlen=most)
        self._most = most
        self._names: dict[int, str] = {}
        self._count = 0  # about: threads count without a lock

    def did(self, name: str, start_s: float, end_s: float, elements: int | None = None) -> None:
        """Notes what this thread did.

        Args:
            name: what it was.
            start_s: when it began.
            end_s: when it ended.
            elements: of how many elements; None where that is not what it was about.
        """
        self._add(_Slice(name, self._thread(), start_s, end_s, elements))

    def gives(self, key: tuple[int, int], at_s: float) -> None:
        """Notes that this thread has made what another will take; between beginning and end of something that it did."""
        self._add(_Arrow(key, self._thread(), at_s, is_end=False))

    def takes(self, key: tuple[int, int], at_s: float) -> None:
        """Notes that this thread takes what another has made."""
        self._add(_Arrow(key, self._thread(), at_s, is_end=True))

    def _add(self, event: _Slice | _Arrow) -> None:
        self._count += 1
        self._events.append(event)

    def _thread(self) -> int:
        ident = threading.get_ident()
        if ident not in self._names:
            self._names[ident] = threading.current_thread().name
        return ident

    @property
    def dropped(self) -> int:
        """How many events were more than are kept."""
        return max(0, self._count - self._most)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yields all events, as they are written."""
        process = os.getpid()
        yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": f"headrace, process {process}"}}
        for ident, name in self._names.items():
            yield {"ph": "M", "name": "thread_name", "pid": process, "tid": ident, "args": {"name": name}}
        for event in self._events:
            if isinstance(event, _Slice):
                span_s = max(0.0, event.end_s - event.start_s)
                args = {} if event.elements is None else {"elements": event.elements}
                where = {"pid": process, "tid": event.thread, "ts": event.start_s * 1e6, "dur": span_s * 1e6}
                yield {"ph": "X", "name": event.name, "cat": "headrace", **where, "args": args}
            else:
                ends = {"ph": "f", "bp": "e"} if event.is_end else {"ph": "s"}
                where = {"pid": process, "tid": event.thread, "ts": event.at_s * 1e6}
                yield {"name": "block", "cat": "headrace", **ends, **where, "id": f"{event.key[0]:x}.{event.key[1]}"}
