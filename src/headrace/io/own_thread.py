"""A thread for what belongs to the thread that made it, such as a connection of SQLite's.

What always holds.
- Calls run one after the other in the same thread, whichever threads ask.
- ``stop`` ends the wait of whoever asked, at once and for ever; what runs goes on until it is done or cancelled.
- ``end`` returns when the thread has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from headrace.errors import CancelledError

__all__ = ["OwnThread"]

T = TypeVar("T")

# How often what still runs is cancelled again: a statement that had not begun when it was cancelled runs all the same.
_AGAIN_S = 0.05


class OwnThread:
    """Runs calls in one thread, which starts with the first.

    Args:
        name: the thread's name.

    Example:
        >>> import threading
        >>> from headrace.io.own_thread import OwnThread
        >>> thread = OwnThread("headrace-example")
        >>> thread.call(lambda: threading.current_thread().name)
        'headrace-example'
        >>> thread.end()
    """

    def __init__(self, name: str) -> None:
        # Daemonic, so that a server that does not answer keeps no interpreter from its exit.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._calls: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Any]] | None] = SimpleQueue()
        self._answer: SimpleQueue[Any] | None = None
        self._stopped = False

    def call(self, function: Callable[[], T]) -> T:
        """What the function returns.

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

    def end(self, last: Callable[[], object] | None = None, cancel: Callable[[], object] | None = None) -> None:
        """Ends the thread, if it was started; may be called twice.

        Args:
            last: what the thread does at the end; it raises nothing.
            cancel: called, from here, for as long as the thread has not come to its end.
        """
        self.stop()
        if self._thread.ident is None:
            return
        if last is not None:
            self._calls.put((last, SimpleQueue()))
        self._calls.put(None)
        self._thread.join(_AGAIN_S)
        while self._thread.is_alive():
            if cancel is not None:
                cancel()
            self._thread.join(_AGAIN_S)

    def _work(self) -> None:
        while (asked := self._calls.get()) is not None:
            function, answer = asked
            try:
                answer.put((function(), None))
            except BaseException as error:  # noqa: BLE001 - whoever asked is told, whatever it is
                answer.put((None, error))
