"""The code that a call of a function runs first, where it is written, and which global variables it names."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

__all__ = ["code_of", "global_names", "place_of"]

_GLOBAL: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"})
_names: Final[weakref.WeakKeyDictionary[CodeType, tuple[str, ...]]] = weakref.WeakKeyDictionary()


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """Returns the code of a function, of a method, of what a partial binds, or of a class's ``__call__``; None of what is not Python's."""
    while isinstance(function, functools.partial):
        function = function.func
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004 - its code is wanted
    return code


def place_of(code: CodeType) -> str:
    """Returns the file and line where code is written, as ``train.py:41``."""
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"  # noqa: PTH119 - a text, which need be no file here


def global_names(code: CodeType) -> tuple[str, ...]:
    """Returns the global variables that a function's code names, and that of functions and classes inside it."""
    found = _names.get(code)
    if found is None:
        import dis

        names = {str(step.argval): None for step in dis.get_instructions(code) if step.opname in _GLOBAL}
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                names |= dict.fromkeys(global_names(constant))
        found = _names[code] = tuple(names)
    return found
