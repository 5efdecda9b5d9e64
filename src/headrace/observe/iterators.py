"""The iterators of this process that have begun, for whoever looks at them from outside: no one of them is kept by that.

Who counts on when an iterator has ended is told of each, once, by the thread that ends it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakSet

__all__ = ["ITERATORS", "Iterators"]


class Iterators:
    """What has begun.

    Attributes:
        begun: the iterators, also those that have ended and are still held by their users.
        told: is called with each that ends; None where nobody counts.
    """

    def __init__(self) -> None:
        self.begun: Final[WeakSet[Any]] = WeakSet()
        self.told: Callable[[Any], None] | None = None

    def begins(self, iterator: object) -> None:
        """Says that an iterator has begun."""
        self.begun.add(iterator)

    def ends(self, iterator: object) -> None:
        """Says that an iterator has ended, and can still be asked what it did."""
        told = self.told
        if told is not None:
            told(iterator)

    def forget(self) -> None:
        """Has none: the process is a copy of another, whose iterators they are."""
        self.begun.clear()
        self.told = None


ITERATORS: Final = Iterators()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ITERATORS.forget)
