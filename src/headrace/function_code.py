"""The code that a call of a function runs first, and where it is written."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import CodeType
from typing import Any

__all__ = ["code_of", "place_of"]


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
