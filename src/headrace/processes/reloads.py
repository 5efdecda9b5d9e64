"""Whether a module has been loaded anew in this program: a process that imported it before runs what stood in it then."""

from __future__ import annotations

import itertools
import os
import sys
import weakref
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Final

__all__ = ["Reloads", "is_worked_on", "spec_of"]

# Where nobody works while a program runs: Python's own library, headrace, and what was installed.
_LIBRARIES: Final = tuple(f"{one}{os.sep}" for one in (Path(os.__file__).parent, Path(__file__).parents[1]))
_INSTALLED: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Reloads:
    """Tells them by what each module was loaded by: module, namespace and name stay mostly, and that is another object each time."""

    def __init__(self) -> None:
        self._numbers: Final = itertools.count(1)
        self._number = 0
        self._specs: Final[dict[str, weakref.ref[ModuleSpec]]] = {}  # of every module that there ever was
        self._own: Final[set[str]] = set()
        self._ids: list[int] = []
        self._has_lost = False

    def number(self) -> int:
        """Returns a number that is another one as soon as a module is not the one that it was when this was called before."""
        # Each run asks, and to ask thousands of modules takes milliseconds: those of libraries are asked when something in
        # sys.modules has changed place, or what one of them was loaded by is gone. What has come since is asked once.
        modules = sys.modules.copy()
        ids, before = [*map(id, modules.values())], self._ids
        if self._has_lost or ids[: len(before)] != before:
            self._has_lost, asked = False, [*modules.items()]
        else:
            own = ((name, modules[name]) for name in self._own if name in modules)
            asked = [*own, *itertools.islice(modules.items(), len(before), None)]
        # No lock, which a copy of this process might find taken: two threads that see one reload give it a number each.
        if True in [self._is_other(name, module) for name, module in asked]:
            self._number = next(self._numbers)
        self._ids = ids
        return self._number

    def _is_other(self, name: str, module: Any) -> bool:
        """Returns whether it was loaded by something else than the last of this name; notes by what."""
        spec, known = spec_of(module), self._specs.get(name)
        if spec is None or (known is not None and known() is spec):
            return False
        self._specs[name] = weakref.ref(spec, self._lose)
        if is_worked_on(spec):
            self._own.add(name)
        return known is not None

    def _lose(self, _: weakref.ref[ModuleSpec]) -> None:
        self._has_lost = True


def spec_of(module: Any) -> ModuleSpec | None:
    """Returns it without asking the module, which may be one that loads itself when it is asked."""
    try:
        found = object.__getattribute__(module, "__spec__")
    except AttributeError:
        return None
    return found if isinstance(found, ModuleSpec) else None


def is_worked_on(spec: ModuleSpec) -> bool:
    """Returns whether a module is of the user's own: neither of Python's library nor of what was installed."""
    origin = spec.origin if spec.has_location else None
    return origin is not None and not origin.startswith(_LIBRARIES) and not any(one in origin for one in _INSTALLED)
