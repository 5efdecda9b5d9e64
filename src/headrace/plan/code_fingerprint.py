"""What makes two values, and two functions, the same: for caches that must know whether what filled them has changed.

A function is its byte code with its constants, defaults, closure, and the globals that it loads, all the way down; where
it stands and what its arguments are annotated with do not count. What is installed (the standard library, packages) is
its name and version, and is not looked into. A value counts with its type. An object is its class and its attributes, or
what its ``__headrace_fingerprint__()`` says. What lives outside Python's objects (open files, locks, running generators,
other libraries' handles) cannot be known, and is refused by name.
"""

from __future__ import annotations

import datetime as dt
import dis
import enum
import functools
import hashlib
import logging
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any, Final

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.record_classes import is_record_class, names_of_fields

__all__ = ["ValueDigest"]

_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
_LOADS: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_INSTALLED: Final = (
    *dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    str(PurePath(__file__).parents[1]),  # this package, also where it is worked on
)


class ValueDigest:
    """A digest that takes in any values.

    Args:
        special: types that the caller knows better, and what to take in instead of such a value.

    Raises:
        InvalidArgumentError: from ``add``, for a value that has no fingerprint; it is named.
    """

    def __init__(self, special: Mapping[type, Callable[[Any], Any]] | None = None) -> None:
        self._hash = hashlib.sha256(f"{sys.implementation.cache_tag}".encode())
        self._special = special or {}
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # an address says who somebody is only as long as they live

    def hexdigest(self) -> str:
        """32 hexadecimal digits."""
        return self._hash.hexdigest()[:32]

    def _word(self, *words: object) -> None:
        for word in words:
            text = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            self._hash.update(f"{len(text)}:".encode() + text)

    def add(self, value: Any, where: str) -> None:
        """Takes in a value; ``where`` says what it is to the user, should it be refused."""
        kind = type(value)
        self._word(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(value, _PLAIN) and not isinstance(value, enum.Enum):
            self._word(repr(value))
        elif id(value) in self._seen:
            self._word("again", self._seen[id(value)])
        else:
            self._seen[id(value)] = len(self._seen)
            self._alive.append(value)
            self._add_object(value, where)

    def _add_object(self, value: Any, where: str) -> None:
        for kind, stand_in in self._special.items():
            if isinstance(value, kind) and not isinstance(value, type):  # a class has its methods as well
                self.add(stand_in(value), where)
                return
        self._take_in(value, where)

    @functools.singledispatchmethod
    def _take_in(self, value: Any, where: str) -> None:
        """Takes in an object that was not met before: by its attributes, unless one of the cases below knows better."""
        self._add_instance(value, where)

    @_take_in.register(enum.Enum)
    @_take_in.register(logging.Logger)
    def _add_named(self, value: Any, where: str) -> None:
        self._word(value.name)

    @_take_in.register(np.dtype)
    @_take_in.register(PurePath)
    @_take_in.register(dt.date)
    @_take_in.register(dt.timedelta)
    @_take_in.register(dt.tzinfo)
    @_take_in.register(re.Pattern)
    @_take_in.register(types.GenericAlias)
    def _add_worded(self, value: Any, where: str) -> None:
        self._word(repr(value))

    @_take_in.register(types.MethodType)
    def _add_method(self, value: types.MethodType, where: str) -> None:
        self._add_all([value.__func__, value.__self__], where)

    @_take_in.register(functools.partial)
    def _add_partial(self, value: functools.partial[Any], where: str) -> None:
        self._add_all([value.func, value.args, value.keywords], where)

    @_take_in.register(types.ModuleType)
    def _add_module(self, value: types.ModuleType, where: str) -> None:
        self._word(value.__name__, _version_of(value.__name__))

    @_take_in.register(types.BuiltinFunctionType)
    @_take_in.register(types.MethodDescriptorType)
    @_take_in.register(types.WrapperDescriptorType)
    @_take_in.register(np.ufunc)
    def _add_builtin(self, value: Any, where: str) -> None:
        self._word(getattr(value, "__qualname__", value.__name__), _version_of(getattr(value, "__module__", None)))

    @_take_in.register(dict)
    @_take_in.register(types.MappingProxyType)
    def _add_mapping(self, value: Mapping[Any, Any], where: str) -> None:
        self._add_all([part for item in value.items() for part in item], where)

    @_take_in.register(set)
    @_take_in.register(frozenset)
    def _add_set(self, value: AbstractSet[Any], where: str) -> None:
        self._add_all(sorted(value, key=repr), where)

    @_take_in.register(list)
    @_take_in.register(tuple)
    def _add_all(self, values: Any, where: str) -> None:
        self._word(len(values))
        for value in values:
            self.add(value, where)

    @_take_in.register(np.ndarray)
    @_take_in.register(np.generic)
    def _add_array(self, value: np.ndarray | np.generic, where: str) -> None:
        array = np.asarray(value)
        self._word(array.dtype.str, array.shape)
        if array.dtype.hasobject:
            self._add_all(array.ravel().tolist(), where)
        else:
            self._hash.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")

    @_take_in.register(types.FunctionType)
    def _add_function(self, function: types.FunctionType, where: str) -> None:
        installed = _is_installed(function.__code__.co_filename)
        if installed:
            self._word(function.__module__, function.__qualname__, _version_of(function.__module__))
        else:
            self._add_code(function.__code__)
        self._add_all([function.__defaults__, function.__kwdefaults__], f"{where}: a default argument")
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.add(cell.cell_contents, f"{where}: '{name}', which the function uses,")
        for name in [] if installed else sorted(_globals_of(function.__code__)):
            if name in function.__globals__:
                self._word(name)
                self.add(function.__globals__[name], f"{where}: the global '{name}'")

    def _add_code(self, code: types.CodeType) -> None:
        self._word(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, code.co_argcount)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant)
            elif isinstance(constant, frozenset):
                self._word(sorted(map(repr, constant)))
            else:
                self._word(type(constant).__name__, repr(constant))

    @_take_in.register(type)
    def _add_class(self, kind: type, where: str) -> None:
        self._word(kind.__module__, kind.__qualname__, _version_of(kind.__module__))
        if not _is_installed(getattr(sys.modules.get(kind.__module__), "__file__", None)):
            for name, value in sorted(vars(kind).items()):
                function = getattr(value, "__func__", getattr(value, "fget", value))
                if isinstance(function, types.FunctionType) and not _is_generated(function):
                    self._word(name)
                    self.add(function, where)

    def _add_instance(self, value: Any, where: str) -> None:
        own = getattr(value, "__headrace_fingerprint__", None)
        if own is not None:
            self.add(own(), where)
        elif is_record_class(type(value)):
            self.add(type(value), where)
            self._add_all([getattr(value, name) for name in names_of_fields(type(value))], where)
        elif type(value).__module__ != "builtins" and hasattr(value, "__dict__"):
            self.add(type(value), where)
            self.add(vars(value), where)
        else:
            raise InvalidArgumentError(
                f"{where} is of type {type(value).__module__}.{type(value).__qualname__}, which has no fingerprint: "
                "pass key='…' with a text that you change when the elements change, or give the class a "
                "__headrace_fingerprint__() that returns what its objects depend on"
            )


def _globals_of(code: types.CodeType) -> set[str]:
    """The names that a function, and those inside it, load from its module."""
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname in _LOADS}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals_of(constant)
    return names


def _is_generated(function: types.FunctionType) -> bool:
    return function.__code__.co_filename.startswith("<")  # the methods of a dataclass follow from its fields


def _is_installed(file: str | None) -> bool:
    """Whether code comes with Python or a package; what is being worked on does not."""
    if file is None or file.startswith("<frozen"):
        return True
    return file.startswith(_INSTALLED) or "site-packages" in PurePath(file).parts


@functools.cache
def _version_of(module: str | None) -> str:
    """The version of the package that a module belongs to; empty for modules of one's own."""
    root = (module or "").partition(".")[0]
    if root in sys.stdlib_module_names:
        return ".".join(map(str, sys.version_info[:3]))
    import importlib.metadata  # a tenth of the time to import headrace

    try:
        return importlib.metadata.version(root)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""
