"""What a weak set has at one moment."""

from __future__ import annotations

import contextlib
import weakref
from typing import TypeVar

__all__ = ["all_of"]

T = TypeVar("T")


def all_of(held: weakref.WeakSet[T]) -> list[T]:
    """Returns what it has now; another thread may add to it meanwhile, at which going through it fails."""
    while True:
        with contextlib.suppress(RuntimeError):
            return list(held)
