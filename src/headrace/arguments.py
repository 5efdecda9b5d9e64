"""Checks of arguments that many methods take; each error names the operation (``stage``) and the argument."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.function_code import code_of, place_of

__all__ = [
    "AUTOTUNE",
    "check_executor",
    "check_flag",
    "check_flags",
    "check_function",
    "check_int",
    "check_parallel_calls",
    "check_runs",
    "check_seconds",
]

AUTOTUNE: Final = -1  # of a number of calls, or of a buffer: as many as measurements say


def check_int(value: object, *, field: str, stage: str) -> int:
    """Returns the value as an int.

    Raises:
        TypeError: it is none.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{stage}: {field} must be an int, not {value!r}")
    return int(value.__index__())


def check_flag(value: Any, *, field: str, stage: str) -> bool:
    """Returns the value as a bool; a text or a number is none, as ``"no"`` and a number given in its place would be yes.

    Raises:
        TypeError: it is none.
    """
    if value is True or value is False:
        return value
    if not isinstance(value, np.bool_):
        raise TypeError(f"{stage}: {field} must be True or False, not {value!r}")
    return bool(value)


def check_flags(node: Any, *fields: str) -> None:
    """Has fields of an operation be bools.

    Raises:
        TypeError: one is none.
    """
    for field in fields:
        value = getattr(node, field)
        if value is not True and value is not False:
            object.__setattr__(node, field, check_flag(value, field=field, stage=node.op))


def check_function(function: object, *, stage: str) -> None:
    """Refuses what cannot be called, and what a call does not run.

    Raises:
        InvalidArgumentError: the function is not callable, or it is an async function or a generator function.
    """
    if type(function) is FunctionType and not function.__code__.co_flags & _RUNS_NOTHING:
        return
    if type(function) is BuiltinFunctionType:
        return
    if not callable(function):
        raise InvalidArgumentError(f"the function must be callable, not {type(function).__name__}", stage=stage)
    check_runs(function, stage=stage)


_RUNS_NOTHING: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR


def check_runs(function: Callable[..., Any], *, stage: str, may_yield: bool = False) -> None:
    """Refuses a function of which a call runs nothing: an async one, and one that yields.

    Args:
        function: it.
        stage: what it is given to.
        may_yield: whether what it yields is iterated over.

    Raises:
        InvalidArgumentError: it is one.
    """
    code = code_of(function)
    if code is None or not code.co_flags & _RUNS_NOTHING:
        return
    name = getattr(function, "__name__", None) or code.co_name
    place = f"'{name}' ({place_of(code)})"
    if code.co_flags & inspect.CO_ASYNC_GENERATOR:
        message = f"{place} is an async generator function, whose elements only an event loop could fetch: yield them from a plain one"
    elif code.co_flags & inspect.CO_COROUTINE:
        message = (
            f"{place} is an async function, of which a call runs nothing. Give a function that runs it to its end, as "
            f"lambda *x: asyncio.run({name}(*x))"
        )
    elif not may_yield:
        message = (
            f"{place} is a generator function, of which a call runs nothing. Let it return its result; what yields several elements for each "
            f"that it gets is a dataset: flat_map(lambda *x: hr.Dataset.from_generator({name}, args=x))"
        )
    else:
        return
    raise InvalidArgumentError(message, stage=stage)


def check_parallel_calls(calls: int | None, *, stage: str) -> None:
    """Refuses a number of parallel calls that is neither positive, nor AUTOTUNE, nor None.

    Raises:
        TypeError: it is no int.
        InvalidArgumentError: it is smaller than 1.
    """
    if calls is None or calls == AUTOTUNE:
        return
    if check_int(calls, field="num_parallel_calls", stage=stage) < 1:
        message = f"num_parallel_calls must be at least 1, hr.AUTOTUNE or None, not {calls}"
        raise InvalidArgumentError(message, stage=stage)


def check_seconds(seconds: object, *, field: str, stage: str) -> None:
    """Refuses a time that is neither None nor a positive number of seconds.

    Raises:
        TypeError: it is no number.
        InvalidArgumentError: it is not positive, or has no end.
    """
    if seconds is None:
        return
    if type(seconds) not in (int, float):
        raise TypeError(f"{stage}: {field} must be float or None, not {type(seconds).__name__}")
    if not 0 < seconds < math.inf:  # type: ignore[operator]  # it is a number
        raise InvalidArgumentError(f"{field} must be more than 0 seconds, or None, not {seconds}", stage=stage)


def check_executor(executor: str | None, calls: int | None, *, stage: str) -> None:
    """Refuses an executor that is unknown, or processes of which nobody says how many.

    Raises:
        InvalidArgumentError: it is.
    """
    if executor not in (None, "thread", "process"):
        raise InvalidArgumentError(f"executor must be 'thread', 'process' or None, not {executor!r}", stage=stage)
    if executor == "process" and calls is None:
        raise InvalidArgumentError(
            "executor='process' needs num_parallel_calls: how many processes call the function", stage=stage
        )
