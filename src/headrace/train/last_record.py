"""Which record a thread has read last: so that a failure in what is made of it can say where it came from.

A reader gives its records to a function of the user's, and knows nothing of what that does with them; the runner's
thread calls that function, and knows nothing of the reader. They meet here, in the thread.
"""

from __future__ import annotations

import threading
from typing import Final

__all__ = ["forget_last_record", "last_record", "remember_record"]

_OF_THREAD: Final = threading.local()


def remember_record(key: str) -> None:
    """Notes that this thread reads the record ``key``."""
    _OF_THREAD.key = key


def forget_last_record() -> None:
    """Notes that this thread begins a new example."""
    _OF_THREAD.key = None


def last_record() -> str | None:
    """Returns the key of the last record that this thread has read for its example, if it has read one."""
    key: str | None = getattr(_OF_THREAD, "key", None)
    return key
