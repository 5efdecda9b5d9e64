"""What is learned of an operation while it runs, kept as long as the operation: the next turn and the next epoch begin with it.

It is nothing but speed. Several threads may change what is kept, and lose a change of another at worst.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

__all__ = ["Lasting"]

T = TypeVar("T")


class Lasting(Generic[T]):
    """What is known of each of many things, made by ``make`` of a key when it is first asked for."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._known: weakref.WeakKeyDictionary[Any, dict[Hashable, T]] = weakref.WeakKeyDictionary()

    def of(self, subjects: Iterable[object], key: Hashable = None) -> T:
        """Returns what is known of the first of the subjects that can be referred to weakly; something new where none can."""
        for subject in subjects:
            try:
                known = self._known.setdefault(subject, {})
            except TypeError:
                continue
            return known[key] if key in known else known.setdefault(key, self._make(key))
        return self._make(key)
