"""Which warnings a program wants to see, raise or ignore, on the way to its processes.

A filter names a class of warnings, whose module a process may never import, or imports later. So the class travels as its name, and stands there
for every class that has the name, or inherits from one that has it.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import re
import warnings
from collections.abc import Iterator
from typing import Any, TypeAlias

__all__ = ["Filter", "filters_kept", "filters_now", "make_filters"]

_Names: TypeAlias = tuple[tuple[str, str], ...]  # of classes, by module and name
# What is done, with which texts, of which classes, in which modules, and in which line.
Filter: TypeAlias = tuple[str, "re.Pattern[str] | str | None", _Names, "re.Pattern[str] | str | None", int]


def filters_now() -> tuple[Filter, ...]:
    """Returns those of this program, the first that counts first."""
    return _by_names(tuple(warnings.filters))


def make_filters(wanted: tuple[Filter, ...]) -> None:
    """Has this process have those filters and no others."""
    _set([(action, text, _classes_of(names), module, line) for action, text, names, module, line in wanted])


@contextlib.contextmanager
def filters_kept() -> Iterator[None]:
    """Has filters that are added meanwhile, as by modules that are imported, not count: the program has them where it wants them."""
    before = list(warnings.filters)
    try:
        yield
    finally:
        if list(warnings.filters) != before:
            _set(before)


def _set(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]  # it is a list
    # What was found before is forgotten where one is added; and where there is none, warnings are as by "default".
    warnings.simplefilter("default", append=True)


class _Named(type):
    """A class that stands for all of its name."""

    def __subclasscheck__(cls, other: type) -> bool:
        return any((one.__module__, one.__qualname__) == (cls.__module__, cls.__qualname__) for one in other.__mro__)


@functools.lru_cache(maxsize=1)  # each run asks, and they mostly are as they were
def _by_names(filters: tuple[Any, ...]) -> tuple[Filter, ...]:
    return tuple((action, text, _names_of(category), module, line) for action, text, category, module, line in filters)


def _names_of(category: type | tuple[type, ...]) -> _Names:
    classes = category if isinstance(category, tuple) else (category,)
    return tuple((one.__module__, one.__qualname__) for one in classes)


def _classes_of(names: _Names) -> type | tuple[type, ...]:
    classes = tuple(_class_of(*name) for name in names)
    return classes[0] if len(classes) == 1 else classes


def _class_of(module: str, name: str) -> type:
    found: type | None = vars(builtins).get(name) if module == "builtins" else None
    return _Named(name, (Warning,), {"__module__": module, "__qualname__": name}) if found is None else found
