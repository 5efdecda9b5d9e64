"""What a program has set in modules of its own that its functions look up there: a process that imports these has what stands in the file.

In threads ``config.scale = 3`` holds for every function. In a process it does not, and nothing would say so: elements would be others. So plain values that
functions name go along with them, and a process that has imported other ones tells of each, once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

from headrace.function_code import global_names
from headrace.log import warn_once
from headrace.processes.class_copies import PROGRAMS
from headrace.processes.reloads import is_worked_on, spec_of

__all__ = ["Compared", "ModuleValues", "values_in_modules"]

# Of each module and name what a program has there.
ModuleValues = Mapping[tuple[str, str], Any]
_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes)
# A larger value is data, and no setting.
_MOST_PARTS: Final = 100
_MOST_CHARACTERS: Final = 1000
_SHOWN: Final = 60
_all_names: Final[weakref.WeakKeyDictionary[CodeType, frozenset[str]]] = weakref.WeakKeyDictionary()


def values_in_modules(functions: Iterable[Any], prepared_by: Iterable[Any] = ()) -> ModuleValues:
    """Returns the settings in modules of the user's own that functions look up, or the functions and classes that they call.

    Names with an underscore are left out: they are what a module keeps for itself, and each process has its own.

    Args:
        functions: these.
        prepared_by: what is called first in a process: what that names it may have set there.
    """
    found, prepared = _Search(functions).found, _Search(prepared_by).found
    return {place: value for place, value in found.items() if place not in prepared}


class _Search:
    """Goes through all that calls of functions may name."""

    def __init__(self, functions: Iterable[Any]) -> None:
        self.found: dict[tuple[str, str], Any] = {}
        self._seen: dict[int, Any] = {}  # which are held, so that no other has the number
        self._asked: set[tuple[CodeType, str]] = set()
        left = list(functions)
        while left:
            one = left.pop()
            if id(one) not in self._seen:
                self._seen[id(one)] = one
                left += self._named_by(one)

    def _named_by(self, one: Any) -> Iterator[Any]:
        if isinstance(one, functools.partial):
            yield from (one.func, *one.args, *one.keywords.values())
        elif isinstance(one, MethodType):
            yield from (one.__func__, type(one.__self__))
        elif isinstance(one, FunctionType):
            yield from self._named_by_function(one)
        elif isinstance(one, staticmethod | classmethod):
            yield one.__func__
        elif isinstance(one, property):
            yield from (one.fget, one.fset)
        elif isinstance(one, type):
            if _is_of_user(one.__module__):
                yield from (*vars(one).values(), *one.__bases__)
        elif hasattr(type(one), "__call__"):  # noqa: B004 - its class's is wanted
            yield type(one)
            with contextlib.suppress(Exception):  # its class may do anything when it is asked
                yield one.__wrapped__

    def _named_by_function(self, function: FunctionType) -> Iterator[Any]:
        known, code = function.__globals__, function.__code__
        module = str(known.get("__name__"))
        if not _is_of_user(module):
            return
        yield from (getattr(function, "__wrapped__", None), *(function.__defaults__ or ()))
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # it was not set yet
                continue
        for name in global_names(code):
            if name in known:
                yield from self._named(module, name, known[name], code)

    def _named(self, module: str, name: str, value: Any, code: CodeType) -> Iterator[Any]:
        """Takes what code finds by a name: in a module it may go on from there, by any of the names that it has."""
        if isinstance(value, ModuleType):
            spec = spec_of(value)
            if spec is None or not is_worked_on(spec) or (code, spec.name) in self._asked:
                return
            self._asked.add((code, spec.name))  # modules may import each other
            held = vars(value)
            for attribute in _names_in(code) & held.keys():
                yield from self._named(spec.name, attribute, held[attribute], code)
            return
        if not name.startswith("_") and module not in PROGRAMS and _is_setting(value):
            self.found[module, name] = value
        yield value


def _names_in(code: CodeType) -> frozenset[str]:
    """Returns all names in a function's code, and in that of functions inside it."""
    found = _all_names.get(code)
    if found is None:
        inside = (_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType))
        found = _all_names[code] = frozenset(code.co_names).union(*inside)
    return found


def _is_of_user(module: str) -> bool:
    if module in PROGRAMS:
        return True
    spec = spec_of(sys.modules.get(module))
    return spec is not None and is_worked_on(spec)


def _is_setting(value: Any) -> bool:
    """Returns whether something is plain, and not long."""
    left, parts = [value], 0
    while left and parts <= _MOST_PARTS:
        one = left.pop()
        parts += 1
        inside = _parts_of(one)
        if inside is None:
            return False
        left += inside
    return not left


def _parts_of(value: Any) -> Sequence[Any] | None:
    """Returns what is in something plain; None of what is not."""
    kind = type(value)
    if kind is dict:
        return [*value, *value.values()] if len(value) <= _MOST_PARTS else None
    if kind in (tuple, list, set, frozenset):
        return [*value] if len(value) <= _MOST_PARTS else None
    if isinstance(value, SimpleNamespace) or (kind.__module__, kind.__name__) == ("argparse", "Namespace"):
        return [*vars(value).values()]
    if dataclasses.is_dataclass(kind):
        return [getattr(value, field.name, None) for field in dataclasses.fields(kind)]
    is_long = isinstance(value, str | bytes) and len(value) > _MOST_CHARACTERS
    return () if isinstance(value, (*_PLAIN, PurePath)) and not is_long else None


class Compared:
    """Compares what another program has in its modules with those of this one, where it is unpickled, and says where they differ."""

    def __init__(self, values: ModuleValues) -> None:
        self.values = values

    def __reduce__(self) -> tuple[Callable[[ModuleValues], None], tuple[ModuleValues]]:
        return _compare, (self.values,)


def _compare(values: ModuleValues) -> None:
    for (module, name), value in values.items():
        held = getattr(sys.modules.get(module), "__dict__", {})
        if name in held and not _are_equal(held[name], value):
            warn_once(
                f"{module}.{name} is {_shown(value)} in your program and {_shown(held[name])} in the processes that call its functions: they import the "
                "module, and do not have what the program has set there since. Hand it to the function (functools.partial), or set it there by "
                "Options(worker_init=)",
                about=f"{module}.{name} differs",
            )


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other) or repr(one) == repr(other)
    except Exception:  # noqa: BLE001 - a class of the user's may raise anything
        return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
