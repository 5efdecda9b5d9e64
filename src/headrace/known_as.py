"""The names by which fingerprints know classes and functions of headrace's own.

What is kept under ``key=hr.fingerprint`` outlives a release in which a module moves or a private class is called something
else. So a class or function that enters a fingerprint has a name for it alone, given once and never changed: the public
one, the ``op`` of an operation or a format, or the one given here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["known_as", "known_name"]

T = TypeVar("T")

_ATTRIBUTE: Final = "__headrace_known_as__"
_ROOT: Final = "headrace"


def known_as(name: str) -> Callable[[T], T]:
    """Names a class or a function for fingerprints.

    Args:
        name: no other class or function has it. Whoever changes it fills all keyed caches anew that depend on it.

    Example:
        >>> from headrace.known_as import known_as, known_name
        >>> @known_as("selection of columns")
        ... class Selection:
        ...     pass
        >>> known_name(Selection)
        'headrace: selection of columns'
    """

    def named(thing: T) -> T:
        setattr(thing, _ATTRIBUTE, name)
        return thing

    return named


def known_name(thing: Any) -> str | None:
    """Returns the name of a class or a function of headrace's for fingerprints; None for one that has none.

    A method is known by the class that defines it.
    """
    held = getattr(thing, "__dict__", {})
    given = held.get(_ATTRIBUTE)  # its own: a subclass is another class
    if given is None and isinstance(thing, type):
        given = held.get("op")
    if isinstance(given, str):
        return f"{_ROOT}: {given}"
    return _public_name(thing) or (None if isinstance(thing, type) else _name_of_method(thing))


def _public_name(thing: Any) -> str | None:
    """Returns where users find it; a module that is not imported yet can have handed nothing out."""
    root = sys.modules.get(_ROOT)
    public = getattr(root, "__all__", ())
    name: str = getattr(thing, "__name__", "")
    for surface in (_ROOT, *(f"{_ROOT}.{name}" for name in public)):
        module = sys.modules.get(surface)
        if name in getattr(module, "__all__", ()) and getattr(module, name, None) is thing:
            return f"{surface}.{name}"
    return None


def _name_of_method(function: Any) -> str | None:
    """Returns the name by the class that users find it in, whichever class defines it; else by the class that defines it."""
    name = getattr(function, "__name__", "")
    root = sys.modules.get(_ROOT)
    public = [kind for kind in getattr(root, "__dict__", {}).values() if isinstance(kind, type)]
    for kind in (*sorted(public, key=lambda kind: len(kind.__mro__)), _class_of(function)):
        held = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
        if getattr(held, "__func__", held) is function:
            known = known_name(kind)
            return None if known is None else f"{known}.{name}"
    return None


def _class_of(function: Any) -> type:
    """Returns the class that defines a function, as its name says; ``object`` where none does."""
    owner: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    *classes, _ = getattr(function, "__qualname__", "").split(".")
    for name in classes:
        owner = getattr(owner, "__dict__", {}).get(name)
    return owner if isinstance(owner, type) else object
