"""Whether a process finds in its modules what the program has in its own: settings made since are not there, and a file may have been edited.

In threads ``config.scale = 3`` holds for every function. In a process it does not, and nothing would say so: elements would be others. So what functions
find in modules goes along with them, and a process that has found something else tells of each name, once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import sys
import weakref
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

from headrace.log import warn_once
from headrace.processes.class_copies import PROGRAMS
from headrace.processes.reloads import is_worked_on, spec_of

__all__ = ["Compared", "Definition", "ModuleValues", "definition_of", "is_of_user"]

# Of each module and name, which may lead through classes, what a program has there.
ModuleValues = Mapping[tuple[str, str], Any]
_SHOWN: Final = 60
_digests: Final[weakref.WeakKeyDictionary[CodeType, bytes]] = weakref.WeakKeyDictionary()


class Definition(NamedTuple):
    """A function or a class.

    Attributes:
        name: where it was defined.
        digest: of a function's code; empty where that is not the user's own, or not as its file has it, and of a class, whose functions are told one by one.
    """

    name: str
    digest: bytes

    def is_same_as(self, other: Definition | None) -> bool:
        """Returns whether another is the same, as far as both digests are known: a loader of one process alone may have rewritten its code."""
        if other is None or self.name != other.name:
            return False
        return self.digest == other.digest or not (self.digest and other.digest)


def definition_of(value: Any) -> Definition | None:
    """Returns that of a function or a class of Python's, or of what a property calls; None of all else."""
    if isinstance(value, property):
        value = value.fget
    if not isinstance(value, FunctionType | type):
        return None
    name, digest = f"{value.__module__}.{value.__qualname__}", b""
    if isinstance(value, FunctionType):
        spec = spec_of(sys.modules.get(str(value.__module__)))
        # Another loader may rewrite the code, as pytest's does.
        if spec is not None and is_worked_on(spec) and type(spec.loader) is SourceFileLoader:
            digest = _digest(value.__code__)
    return Definition(name, digest)


def _digest(code: CodeType) -> bytes:
    """Returns that of what code does, wherever it stands in its file."""
    found = _digests.get(code)
    if found is None:
        digest = hashlib.blake2b(digest_size=16)
        constants = [_digest(one) if isinstance(one, CodeType) else _in_order(one) for one in code.co_consts]
        digest.update(repr((code.co_code, code.co_names, code.co_varnames, constants)).encode())
        found = _digests[code] = digest.digest()
    return found


def _in_order(constant: Any) -> Any:
    """Returns the items of a set in an order that no process has by itself."""
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


def is_of_user(module: str) -> bool:
    """Returns whether a module is the program, or one of the user's own."""
    if module in PROGRAMS:
        return True
    spec = spec_of(sys.modules.get(module))
    return spec is not None and is_worked_on(spec)


class Compared:
    """Compares what another program has in its modules with those of this one, where it is unpickled, and says where they differ.

    Args:
        pickled: that, of ``ModuleValues``. A class of the user's may refuse to be made again, which is no failure of what is sent with it.
    """

    def __init__(self, pickled: bytes) -> None:
        self.pickled = pickled

    def __reduce__(self) -> tuple[Callable[[bytes], None], tuple[bytes]]:
        return _compare, (self.pickled,)


def _compare(pickled: bytes) -> None:
    with contextlib.suppress(Exception):  # a class of the user's may raise anything
        values: ModuleValues = pickle.loads(pickled)
        for (module, name), value in values.items():
            if module in sys.modules:  # or a function may import it when it is called
                with contextlib.suppress(Exception):
                    _compare_one(module, name, value)


def _compare_one(module: str, name: str, value: Any) -> None:
    try:
        held = functools.reduce(getattr, name.split("."), sys.modules[module])
    except AttributeError:
        held = None
    about = f"{module}.{name} differs"
    if isinstance(value, Definition):
        if not value.is_same_as(definition_of(held)):
            warn_once(
                f"{module}.{name} is not in the processes that call it what it is in your program: the program has put another in its place, or its file has "
                "been edited since. Load the module anew (importlib.reload), or start the program again",
                about=about,
            )
    elif not (held == value or repr(held) == repr(value)):
        warn_once(
            f"{module}.{name} is {_shown(value)} in your program and {_shown(held)} in the processes that call its functions: they import the "
            "module, and do not have what the program has set there since. Hand it to the function (functools.partial), or set it there by "
            "Options(worker_init=)",
            about=about,
        )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
