"""A moment that comes once, and that threads wait for: a channel that nobody puts anything in, and that is closed.

So it waits as everything else in headrace does: interruptible, on a clock that is given, in order of arrival; and
``set`` never waits, and may be called from ``__del__``, a weakref callback or a signal handler.
"""

from __future__ import annotations

from typing import Never

from headrace.clock import MONOTONIC, Clock
from headrace.errors import DeadlineExceededError, OutOfRangeError
from headrace.queues import Channel

__all__ = ["Latch"]


class Latch:
    """Something that is not so, and then is so for good.

    Args:
        name: how messages call it.
        clock: what deadlines are measured on.

    Example:
        >>> from headrace.coordination import Latch
        >>> latch = Latch("stop")
        >>> latch.wait(timeout_s=0)
        False
        >>> latch.set()
        >>> latch.wait()
        True
    """

    __slots__ = ("_channel",)

    def __init__(self, name: str = "latch", *, clock: Clock = MONOTONIC) -> None:
        self._channel: Channel[Never] = Channel(capacity=1, name=name, clock=clock)

    def set(self) -> None:
        """Sets the latch for good; all that wait go on. Never waits; may be called again."""
        self._channel.close()

    @property
    def is_set(self) -> bool:
        """Whether it is so."""
        return self._channel.is_closed

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until it is so, at most ``timeout_s`` seconds; whether it is."""
        try:
            self._channel.get(timeout_s=timeout_s)
        except OutOfRangeError:
            return True
        except DeadlineExceededError:
            return False
