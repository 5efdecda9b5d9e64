"""A thread for what belongs to the thread that made it, such as a connection of SQLite's.

What always holds.
- Calls run one after the other in the same thread, whichever threads ask.
- ``stop`` ends the wait of every caller, at once and for ever; what runs goes on until it is done or cancelled.
- ``end`` returns when the thread has ended; at the interpreter's exit every thread is ended that was not, or given up
  after some seconds.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from headrace.errors import CancelledError

__all__ = ["ConnectionThread"]

T = TypeVar("T")

# How often what still runs is cancelled again: a statement that had not begun when it was cancelled runs all the same.
_AGAIN_S: Final = 0.05
# How long what cannot be cancelled may go on at the interpreter's exit before the process ends without it.
_EXIT_PATIENCE_S: Final = 5.0


class ConnectionThread:
    """Runs calls in one thread, which starts with the first.

    Args:
        name: the thread's name.
        last: what the thread does before it ends; it raises nothing.
        cancel: cancels what the thread does; it is called from other threads, more than once, and raises nothing.

    Example:
        >>> import threading
        >>> from headrace.io.sql.connection_thread import ConnectionThread
        >>> thread = ConnectionThread("headrace-example")
        >>> thread.call(lambda: threading.current_thread().name)
        'headrace-example'
        >>> thread.end()
    """

    def __init__(
        self, name: str, *, last: Callable[[], object] | None = None, cancel: Callable[[], object] | None = None
    ) -> None:
        self._last = last
        self._cancel = cancel
        # Daemonic, so that a server that does not answer keeps no interpreter from its exit.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._calls: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Any]] | None] = SimpleQueue()
        self._answer: SimpleQueue[Any] | None = None
        self._stopped = False

    def call(self, function: Callable[[], T]) -> T:
        """Returns what the function returns.

        Raises:
            CancelledError: ``stop`` was called, before or meanwhile.
            BaseException: what the function raises.
        """
        # Announced before the question whether to stop, which ``stop`` answers before it looks for the announcement.
        self._answer = answer = SimpleQueue[Any]()
        if self._stopped:
            raise CancelledError("the thread was told to stop")
        if self._thread.ident is None:
            self._thread.start()
            _end_at_exit(self)
        self._calls.put((function, answer))
        returned, raised = answer.get()
        if raised is not None:
            raise raised
        value: T = returned
        return value

    def stop(self) -> None:
        """Ends every wait; safe from any thread."""
        self._stopped = True
        if self._answer is not None:
            self._answer.put((None, CancelledError("the thread was told to stop")))

    def end(self, limit_s: float | None = None) -> None:
        """Ends the thread, if it was started; may be called twice.

        Args:
            limit_s: for how long to wait, in seconds; None waits until it has ended.
        """
        self.stop()
        if self._thread.ident is None:
            return
        self._calls.put(None)
        until_s = None if limit_s is None else time.monotonic() + limit_s
        self._thread.join(_AGAIN_S)
        while self._thread.is_alive() and (until_s is None or time.monotonic() < until_s):
            if self._cancel is not None:
                self._cancel()
            self._thread.join(_AGAIN_S)

    def _work(self) -> None:
        while (asked := self._calls.get()) is not None:
            function, answer = asked
            try:
                answer.put((function(), None))
            except BaseException as error:  # noqa: BLE001 - the caller gets it, whatever it is
                answer.put((None, error))
        if self._last is not None:
            self._last()


_started: Final[weakref.WeakSet[ConnectionThread]] = weakref.WeakSet()
_starting: Final = threading.Lock()


def _end_at_exit(thread: ConnectionThread) -> None:
    with _starting:
        if not _started:
            # Not at the import: what is registered later is called earlier, and threads are waited for then.
            atexit.unregister(_end_all)
            atexit.register(_end_all)
        _started.add(thread)


def _end_all() -> None:
    until_s = time.monotonic() + _EXIT_PATIENCE_S
    for thread in list(_started):
        thread.end(max(0.0, until_s - time.monotonic()))
