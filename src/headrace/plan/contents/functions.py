"""What functions are: their byte code, and whatever that reads, all the way down.

Of a module of one's own, what the code asks of it counts: ``cfg.S``, ``cfg.sub.f``; where it is used in another way (handed
on, given to ``getattr``), all of it. Where a function stands does not count.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.util
import os
import re
import sys
import types
import warnings
from typing import Any, Final

from headrace.known_as import known_name
from headrace.plan.contents.digest import ValueDigest, take_in
from headrace.plan.contents.installed import (
    HEADRACE,
    code_is_installed,
    global_name,
    is_installed_class,
    is_installed_module,
    version_of_package,
)
from headrace.plan.contents.reading import Chain, Import, Reading, constants_of, reading_of
from headrace.plan.contents.state import add_state

__all__ = ["add_annotations"]

_MISSING: Final = object()
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
_NO_CONTENT: Final = frozenset(
    {
        "__builtins__",
        "__cached__",
        "__doc__",
        "__file__",
        "__loader__",
        "__name__",
        "__package__",
        "__path__",
        "__spec__",
    }
)


def _unseen() -> list[Any]:
    """Returns what reads whatever it is told to when it runs."""
    import inspect

    names = [builtins.eval, builtins.exec, builtins.globals, builtins.__import__, importlib.import_module]
    return [*names, importlib.reload, sys.modules, vars(sys)["_getframe"], inspect.currentframe, inspect.stack]


# --- functions -------------------------------------------------------------------------------------------------------


@take_in.register
def _function(function: types.FunctionType, digest: ValueDigest) -> None:
    if any(function is unseen for unseen in _unseen()):
        _refuse_unseen(function.__name__, digest)
    installed = code_is_installed(function.__code__.co_filename)
    if installed and (name := global_name(function)) is not None and name.partition(".")[0] != HEADRACE:
        digest.word(name, version_of_package(function.__module__))
        return
    if function.__code__.co_qualname == "singledispatch.<locals>.wrapper" and hasattr(function, "registry"):
        digest.items((function.registry, function.__wrapped__), 2)  # type: ignore[attr-defined]  # not what it looked up
        return
    _add_body(function, digest, installed=installed)
    for label, defaults in (("defaults", function.__defaults__), ("keyword defaults", function.__kwdefaults__)):
        if defaults:
            digest.named(label, defaults)
    if vars(function):
        digest.word("attributes")
        for name, value in vars(function).items():
            digest.named(f".{name}", value)
    _add_closure(function, digest, looks_inside=not installed)
    if not installed:
        _add_globals(function, digest)


def _add_body(function: types.FunctionType, digest: ValueDigest, *, installed: bool) -> None:
    module = function.__globals__.get("__name__")
    if installed and str(module).partition(".")[0] == HEADRACE and (known := known_name(function)) is not None:
        digest.word(known)  # its code names modules that it imports from, and these may move
        return
    digest.word(function.__name__)
    _add_code(function.__code__, digest)
    if installed:
        digest.word(function.__code__.co_qualname, version_of_package(module))
    else:
        add_annotations(function, digest)
        _add_texts(function.__code__, digest)


def _refuse_unseen(name: str, digest: ValueDigest) -> None:
    digest.refuse(f"uses {name}, which reads what nobody can know before it runs, so there is no fingerprint")


def _add_code(code: types.CodeType, digest: ValueDigest) -> None:
    counts = (code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    digest.word(
        code.co_code,
        code.co_exceptiontable,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        *counts,
    )
    for constant in code.co_consts:
        _add_constant(constant, digest)


def _add_constant(constant: Any, digest: ValueDigest) -> None:
    digest.word(type(constant).__name__)
    if isinstance(constant, types.CodeType):
        digest.word(constant.co_name)
        _add_code(constant, digest)
    elif isinstance(constant, tuple):
        digest.word(len(constant))
        for part in constant:
            _add_constant(part, digest)
    elif isinstance(constant, frozenset):
        digest.unordered(constant)
    else:
        digest.word(hex(constant) if type(constant) is int else repr(constant))


def add_annotations(thing: Any, digest: ValueDigest) -> None:
    """Takes in annotations by their words; a decorator may go by them."""
    try:
        annotations = dict(getattr(thing, "__annotations__", None) or {})
    except NameError as error:  # of names that are not there yet
        annotations = {"": str(error)}
    for name, value in annotations.items():
        digest.word(name, _worded(value))


def _worded(annotation: object) -> str:
    words = (
        repr(annotation) if isinstance(annotation, types.GenericAlias) else getattr(annotation, "__qualname__", None)
    )
    return _ADDRESS.sub("", words or repr(annotation))


def _add_texts(code: types.CodeType, digest: ValueDigest) -> None:
    """Takes in the files that texts in the code name."""
    for constant in constants_of(code):
        if isinstance(constant, str | bytes):
            digest.file(constant)


def _add_closure(function: types.FunctionType, digest: ValueDigest, *, looks_inside: bool) -> None:
    reading = reading_of(function.__code__) if looks_inside else Reading()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # nobody has set it yet
            digest.word(name, "empty")
            continue
        if isinstance(value, types.ModuleType):
            _add_module_uses(f"closure '{name}'", value, reading.uses(name) if looks_inside else {()}, digest)
        else:
            digest.named(f"closure '{name}'", value)


def _add_globals(function: types.FunctionType, digest: ValueDigest) -> None:
    reading = reading_of(function.__code__)
    held = function.__globals__
    for name in sorted(reading.globals):
        value = held.get(name, _MISSING)
        if value is _MISSING:
            value = vars(builtins).get(name, _MISSING)
        if value is _MISSING:
            digest.word(name, "missing")
        elif isinstance(value, types.ModuleType):
            _add_module_uses(f"global '{name}'", value, reading.globals[name], digest)
            _add_environment(value, reading.globals[name], function.__code__, digest)
        elif value is os.environ or value is os.getenv:
            _add_named_variables(function.__code__, digest)
        else:
            digest.named(f"global '{name}'", value)
    for each in reading.imports:
        _add_import(each, function, reading, digest)


# --- modules ---------------------------------------------------------------------------------------------------------


def _add_module_uses(label: str, module: types.ModuleType, uses: set[Chain], digest: ValueDigest) -> None:
    """Takes in what is asked of a module."""
    with digest.line(label, f"module {module.__name__}"):
        if () in uses and not is_installed_module(module.__name__):
            digest.add(module)
            return
        digest.word(module.__name__)
        if is_installed_module(module.__name__):
            digest.word(version_of_package(module.__name__))
        for chain in sorted(uses):
            if chain:
                _add_attribute(module, chain, digest)


def _add_attribute(module: types.ModuleType, chain: Chain, digest: ValueDigest) -> None:
    name, rest = chain[0], chain[1:]
    installed = is_installed_module(module.__name__)
    value = vars(module).get(name, sys.modules.get(f"{module.__name__}.{name}", _MISSING))
    if value is _MISSING:
        value = _lazily_imported(module, name, installed=installed)
    if value is _MISSING:
        digest.word(name, "missing")
        if "__getattr__" in vars(module) and not installed:
            digest.named(f"{module.__name__}.__getattr__", vars(module)["__getattr__"])
    elif isinstance(value, types.ModuleType):
        _add_module_uses(f"{module.__name__}.{name}", value, {rest}, digest)
    elif value is os.environ or value is os.getenv:
        digest.word(name)  # which variables of it are read is seen from the code's texts
    elif not installed or _counts_by_value(value):
        digest.named(f"{module.__name__}.{name}", value)
    else:
        digest.word(name)


def _lazily_imported(module: types.ModuleType, name: str, *, installed: bool) -> Any:
    """Returns what a module imports when it is first asked for it, as the function itself will ask.

    Otherwise the same function would have one key before its first call and another one after it. What else a module of
    one's own makes when it is asked is not made for this: its ``__getattr__`` counts instead.
    """
    if "__getattr__" not in vars(module):
        return _MISSING
    try:
        with warnings.catch_warnings(action="ignore"):  # names that are deprecated: the function will be told
            value = getattr(module, name)
    except (AttributeError, ImportError):
        return _MISSING
    return value if installed or isinstance(value, types.ModuleType) else _MISSING


def _counts_by_value(value: Any) -> bool:
    """Returns whether what an installed module has may be somebody else's, or something that one sets."""
    if any(value is unseen for unseen in _unseen()):
        return True
    if isinstance(value, types.FunctionType):
        return not code_is_installed(value.__code__.co_filename)
    if isinstance(value, type):
        return not is_installed_class(value)
    if isinstance(value, list | tuple):
        return all(_counts_by_value(part) for part in value)
    return isinstance(value, bool | int | float | complex | str | bytes | None)


def _add_import(each: Import, function: types.FunctionType, reading: Reading, digest: ValueDigest) -> None:
    """Takes in what an import within a function brings, as far as the function uses it."""
    name = each.module
    digest.word("import", name, each.level)
    if each.level:
        package = function.__globals__.get("__package__") or ""
        try:
            name = importlib.util.resolve_name("." * each.level + name, package)
        except ImportError:
            digest.word("missing")
            return
    if is_installed_module(name):  # not imported for this
        _refuse_imported(name, each, digest)
        digest.word(version_of_package(name))
        return
    try:
        module = importlib.import_module(name)  # as the function itself will
    except ImportError as error:
        digest.word("missing", error)
        return
    for theirs, ours in each.names:
        value = vars(module).get(theirs, _MISSING)
        if value is _MISSING and hasattr(module, "__path__"):
            value = _imported(f"{name}.{theirs}") or _MISSING
        if isinstance(value, types.ModuleType):
            _add_module_uses(f"import {name}.{theirs}", value, reading.uses(ours) if ours else set(), digest)
        elif value is _MISSING:
            _add_attribute(module, (theirs,), digest)
        else:
            digest.named(f"{name}.{theirs}", value)
    if each.bound:
        bound = sys.modules[name.partition(".")[0]] if each.is_root else module
        _add_module_uses(f"import {name}", bound, reading.uses(each.bound), digest)


def _imported(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _refuse_imported(name: str, each: Import, digest: ValueDigest) -> None:
    module = sys.modules.get(name)
    for theirs, _ in each.names:
        if any(getattr(module, theirs, None) is unseen for unseen in _unseen()):
            _refuse_unseen(f"{name}.{theirs}", digest)


def _add_environment(module: types.ModuleType, uses: set[Chain], code: types.CodeType, digest: ValueDigest) -> None:
    if module is os and any(chain and chain[0] in ("environ", "getenv") for chain in uses):
        _add_named_variables(code, digest)


def _add_named_variables(code: types.CodeType, digest: ValueDigest) -> None:
    """Takes in the variables of the environment that texts in the code name."""
    for constant in constants_of(code):
        if isinstance(constant, str) and constant in os.environ:
            digest.named(f"environment {constant}", os.environ[constant])


@take_in.register
def _module(value: types.ModuleType, digest: ValueDigest) -> None:
    digest.word(value.__name__)
    if is_installed_module(value.__name__):
        digest.word(version_of_package(value.__name__))
        return
    for name, part in sorted(vars(value).items()):
        if name not in _NO_CONTENT:
            digest.named(f"{value.__name__}.{name}", part)


# --- what is called as a function ------------------------------------------------------------------------------------


@take_in.register
def _method(value: types.MethodType, digest: ValueDigest) -> None:
    digest.items((value.__func__, value.__self__), 2)


@take_in.register(types.BuiltinFunctionType)
@take_in.register(types.MethodWrapperType)
def _builtin(value: Any, digest: ValueDigest) -> None:
    if any(value is unseen for unseen in _unseen()):
        _refuse_unseen(value.__name__, digest)
    owner = value.__self__
    module = value.__module__ if isinstance(value, types.BuiltinFunctionType) else None
    digest.word(module, value.__qualname__)
    if owner is None or isinstance(owner, types.ModuleType):
        if module is not None and not is_installed_module(module):
            digest.refuse(f"is {module}.{value.__qualname__}, which is compiled and has no fingerprint")
        digest.word(version_of_package(module))
    else:
        digest.add(owner)


@take_in.register(types.MethodDescriptorType)
@take_in.register(types.WrapperDescriptorType)
@take_in.register(types.ClassMethodDescriptorType)
@take_in.register(types.GetSetDescriptorType)
@take_in.register(types.MemberDescriptorType)
def _descriptor(value: Any, digest: ValueDigest) -> None:
    digest.word(value.__name__)
    if not isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
        digest.add(value.__objclass__)


@take_in.register
def _code(value: types.CodeType, digest: ValueDigest) -> None:
    _add_code(value, digest)
    _add_texts(value, digest)


@take_in.register
def _cell(value: types.CellType, digest: ValueDigest) -> None:
    try:
        digest.add(value.cell_contents)
    except ValueError:
        digest.word("empty")


@take_in.register(type(functools.lru_cache(len)))
def _remembering(value: Any, digest: ValueDigest) -> None:
    if (name := global_name(value)) is not None:
        digest.word(name, version_of_package(value.__module__))
        return
    digest.add(value.cache_parameters())
    add_state(value, digest)  # the function itself is among them
