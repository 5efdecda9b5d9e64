"""What functions find in modules of the user's own: plain values, and functions and classes, by their names there.

It is found in their code: global variables, and what they name of a module, of the functions themselves and of all functions and classes that these name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

from headrace.function_code import global_names
from headrace.processes.class_copies import PROGRAMS
from headrace.processes.definitions import is_found_by_name
from headrace.processes.modules_compared import ModuleValues, definition_of, is_of_user
from headrace.processes.reloads import is_worked_on, spec_of

__all__ = ["values_in_modules"]

_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes)
# A larger value is data, and no setting.
_MOST_PARTS: Final = 100
_MOST_CHARACTERS: Final = 1000
# Functions, classes and other things that a call may come to: each run goes through them, in some milliseconds.
_MOST_SEEN: Final = 1000
_all_names: Final[weakref.WeakKeyDictionary[CodeType, frozenset[str]]] = weakref.WeakKeyDictionary()


def values_in_modules(functions: Iterable[Any], prepared_by: Iterable[Any] = ()) -> ModuleValues:
    """Returns what functions find in modules of the user's own.

    Values with an underscore are left out: they are what a module keeps for itself, and each process has its own.

    Args:
        functions: these.
        prepared_by: what is called first in a process: what that names it may have set there.
    """
    found, prepared = _Search(functions).found, _Search(prepared_by).found
    return {place: value for place, value in found.items() if place not in prepared}


class _Search:
    """Goes through all that calls of functions may name, as far as a process finds it in modules that it imports."""

    def __init__(self, functions: Iterable[Any]) -> None:
        self.found: dict[tuple[str, str], Any] = {}
        self._seen: dict[tuple[int, bool], Any] = {}  # which are held, so that no other has the number
        self._asked: set[tuple[CodeType, str]] = set()
        # What no process can import is sent, with all that it names; what can be imported is found there with its module.
        self._left = deque((function, True) for function in functions)
        while self._left and len(self._seen) < _MOST_SEEN:  # what is near comes first
            one, is_sent = self._left.popleft()
            if (id(one), is_sent) not in self._seen:
                self._seen[id(one), is_sent] = one
                self._go_through(one, is_sent=is_sent)

    def _go_through(self, one: Any, *, is_sent: bool) -> None:
        inside: Iterable[Any] = ()
        if isinstance(one, functools.partial):
            inside = (one.func, *one.args, *one.keywords.values())
        elif isinstance(one, MethodType):
            inside = (one.__func__, type(one.__self__), *_attributes(one.__self__))
        elif isinstance(one, staticmethod | classmethod):
            inside = (one.__func__,)
        elif isinstance(one, property):
            inside = (one.fget, one.fset)
        elif isinstance(one, FunctionType):
            self._go_through_function(one, is_sent=is_sent and not is_found_by_name(one))
        elif isinstance(one, type):
            self._go_through_class(one, is_sent=is_sent and not is_found_by_name(one))
        elif hasattr(type(one), "__call__"):  # noqa: B004 - its class's is wanted
            inside = (type(one), *_attributes(one))
        self._left += [(part, is_sent) for part in inside]

    def _go_through_class(self, kind: type, *, is_sent: bool) -> None:
        if not is_of_user(kind.__module__):
            return
        if is_found_by_name(kind):
            self._note(kind.__module__, kind.__qualname__, kind)
            for name, value in vars(kind).items():
                if not callable(value):  # functions are found by their own names
                    self._note(kind.__module__, f"{kind.__qualname__}.{name}", value)
        self._left += [(part, is_sent) for part in (*vars(kind).values(), *kind.__bases__)]

    def _go_through_function(self, function: FunctionType, *, is_sent: bool) -> None:
        known, code = function.__globals__, function.__code__
        module = str(known.get("__name__"))
        if not is_of_user(module):
            return
        if is_found_by_name(function):
            self._note(module, function.__qualname__, function)
        held = [getattr(function, "__wrapped__", None), *(function.__defaults__ or ())]
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # it was not set yet
                held.append(cell.cell_contents)
        self._left += [(part, is_sent) for part in held]
        for name in global_names(code):
            if name in known:
                self._name(module, name, known[name], code, is_sent=is_sent)

    def _name(self, module: str, name: str, value: Any, code: CodeType, *, is_sent: bool) -> None:
        """Takes what code finds by a name: in a module it may go on from there, by any of the names that it has."""
        if isinstance(value, ModuleType):
            spec = spec_of(value)
            if spec is None or not is_worked_on(spec) or (code, spec.name) in self._asked:
                return
            self._asked.add((code, spec.name))  # modules may import each other
            held = vars(value)
            for attribute in _names_in(code) & held.keys():
                self._name(spec.name, attribute, held[attribute], code, is_sent=False)
            return
        if not is_sent:
            self._note(module, name, value)
        self._left.append((value, is_sent))

    def _note(self, module: str, name: str, value: Any) -> None:
        if module in PROGRAMS:  # it is sent
            return
        definition = definition_of(value)
        if definition is not None:
            self.found[module, name] = definition
        elif not name.rpartition(".")[2].startswith("_") and _is_setting(value):
            self.found[module, name] = value


def _attributes(one: Any) -> Iterable[Any]:
    try:
        return [*object.__getattribute__(one, "__dict__").values()]
    except AttributeError:
        return ()


def _names_in(code: CodeType) -> frozenset[str]:
    """Returns all names in a function's code, and in that of functions inside it."""
    found = _all_names.get(code)
    if found is None:
        inside = (_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType))
        found = _all_names[code] = frozenset(code.co_names).union(*inside)
    return found


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
