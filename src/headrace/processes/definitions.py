"""What stands beside functions and classes of a program, sent to another process where cloudpickle cannot.

Functions that remember their results come without these, and weak dictionaries with what else is sent, as what remembers is each process's own.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any, Final

from headrace.processes.class_copies import PROGRAMS

__all__ = ["is_found_by_name", "reduced_definition"]

_REMEMBERING: Final = type(functools.lru_cache(int))


def reduced_definition(value: Any) -> Any:
    """Returns how something is pickled that stands beside functions and classes; NotImplemented where that is as ever."""
    kind = type(value)
    if kind is _REMEMBERING:
        if is_found_by_name(value):
            return NotImplemented
        return _remembering, (value.__wrapped__, value.cache_parameters())
    if kind is functools.cached_property:  # has a lock, before Python 3.12
        return _computed_once, (value.func, value.attrname)
    if kind is weakref.WeakKeyDictionary or kind is weakref.WeakValueDictionary:
        return kind, (dict(value),)
    return NotImplemented


def is_found_by_name(function: Any) -> bool:
    """Returns whether another process that imports the module of a function has the very same."""
    module = function.__module__
    found = sys.modules.get(module) if module not in PROGRAMS and not _goes_by_value(module) else None
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _goes_by_value(module: str | None) -> bool:
    """Returns whether the user has told cloudpickle that no other process can import a module, or a package that it is in."""
    import cloudpickle

    registered = cloudpickle.list_registry_pickle_by_value()
    return bool(registered) and any(f"{module}.".startswith(f"{one}.") for one in registered)


def _remembering(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _computed_once(function: Callable[[Any], Any], name: str | None) -> functools.cached_property[Any]:
    made = functools.cached_property(function)
    made.attrname = name  # which the class tells it where it is written, and not where it is set later
    return made
