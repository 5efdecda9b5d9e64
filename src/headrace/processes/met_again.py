"""What a process has once, however often it comes there: the memory of a cache, and what tells one operation from others.

A plan is sent anew where its functions use something else. What it has kept of an epoch, and what was learned of an operation while it ran, is then known
again, as it is in a program whose functions change.
"""

from __future__ import annotations

import itertools
import os
import weakref
from typing import Any, Final

from headrace.caching.memory import MemoryCache
from headrace.plan.node import Operation

__all__ = ["reduced_once"]

_KINDS: Final = frozenset({MemoryCache, Operation})
_counted: Final = itertools.count()
_numbers: Final[weakref.WeakKeyDictionary[Any, str]] = weakref.WeakKeyDictionary()
_known: Final[weakref.WeakValueDictionary[str, Any]] = weakref.WeakValueDictionary()


def reduced_once(value: Any) -> Any:
    """Returns how something is pickled that a process has once; NotImplemented of all else."""
    kind = type(value)
    if kind not in _KINDS:
        return NotImplemented
    number = _numbers.get(value) or _numbers.setdefault(value, f"{next(_counted)} of process {os.getpid()}")
    _known[number] = value
    held = {name: getattr(value, name) for name in kind.__slots__ if name != "__weakref__"}
    return _met, (number, kind, held)


def _met(number: str, kind: type[Any], held: dict[str, Any]) -> Any:
    found = _known.get(number)
    if found is None:
        found = _known[number] = object.__new__(kind)
        _numbers[found] = number
        for name, value in held.items():
            setattr(found, name, value)
    return found
