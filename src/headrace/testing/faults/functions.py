"""Functions that fail on purpose: a wrapper calls a function as it is, and at chosen calls does something else before."""

from __future__ import annotations

import functools
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.testing.faults.arguments import a_float, an_int
from headrace.testing.faults.choosing import At, Chosen
from headrace.testing.faults.record import Record

__all__ = ["delay", "exit", "fail", "inject", "kill", "stop"]

Path = str | os.PathLike[str]


class _Faulty:
    """A function with a fault; ``func`` is the function without any, as in ``functools.partial``, so that messages name that one."""

    def __init__(self, function: Callable[..., Any], action: Callable[[], Any], chosen: Chosen) -> None:
        self.func = getattr(function, "func", function)
        self._function = function
        self._action = action
        self._chosen = chosen

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._chosen.comes(arguments, named):
            self._action()
        return self._function(*arguments, **named)

    def __repr__(self) -> str:
        return f"<{self.func!r} with a fault>"


def inject(
    function: Callable[..., Any],
    action: Callable[[], Any],
    *,
    at: At,
    times: int | None = 1,
    record: Path | None = None,
) -> Callable[..., Any]:
    """Returns a function that first does something else at chosen calls; all other wrappers are made of it.

    Args:
        function: what is wrapped; it may be wrapped already.
        action: what is done, in the thread and process of the call. What it raises, the call raises.
        at: the number of a call, counted from 0 over all processes, epochs and retries; or a function of the arguments of a call, true where the
            fault may come.
        times: how often it comes at each element that ``at`` chooses, over all processes: by default a second call with equal arguments is let through, as
            where a fault passes. None is at each call. A call that is chosen by its number comes once.
        record: a file in which is noted what has happened; by default a temporary one. Give one where the whole program is killed, and
            another is to know of it.

    Returns:
        A function that can be sent to other processes where ``function`` can. It is called as that one in messages and statistics.

    Raises:
        InvalidArgumentError: an argument is of no use; says which.

    Example:
        >>> import functools, headrace as hr
        >>> from headrace.testing import faults
        >>> rarely = faults.inject(abs, functools.partial(print, "so far, so good"), at=2)
        >>> list(hr.Dataset.range(4).map(rarely))
        so far, so good
        [0, 1, 2, 3]
    """
    for name, value in (("function", function), ("action", action)):
        if not callable(value):
            raise InvalidArgumentError(f"{name} must be callable, not {value!r}")
    return _Faulty(function, action, Chosen(at, times, Record(record)))


def kill(
    function: Callable[..., Any], *, at: At, times: int | None = 1, record: Path | None = None
) -> Callable[..., Any]:
    """Returns a function that kills the process which calls it (SIGKILL), as the system does where no memory is left.

    With threads that is the program itself.

    Args:
        function: what is wrapped.
        at: which call, or at which elements; see ``inject``.
        times: how often at each element. None is an element that no process survives.
        record: see ``inject``.

    Raises:
        InvalidArgumentError: an argument is of no use; says which.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import faults
        >>> def double(x):
        ...     return 2 * x
        >>> ds = hr.Dataset.range(8).map(faults.kill(double, at=lambda x: x == 5))
        >>> [int(x) for x in ds.with_options(hr.Options(executor="subprocess"))]  # doctest: +SKIP
        [0, 2, 4, 6, 8, 10, 12, 14]
    """
    # On Windows SIGTERM ends a process as hard.
    return inject(function, _Sent("SIGKILL", "SIGTERM"), at=at, times=times, record=record)


def stop(
    function: Callable[..., Any], *, at: At, times: int | None = 1, record: Path | None = None
) -> Callable[..., Any]:
    """Returns a function that stops the process which calls it (SIGSTOP): it is there, and does nothing any more until SIGCONT.

    Args:
        function: what is wrapped.
        at: which call, or at which elements; see ``inject``.
        times: how often at each element.
        record: see ``inject``.

    Raises:
        InvalidArgumentError: an argument is of no use; says which.
        FailedPreconditionError: this system has no such signal.

    Example:
        >>> from headrace.testing import faults
        >>> stopping = faults.stop(abs, at=faults.chance(0.01, seed=1))
    """
    return inject(function, _Sent("SIGSTOP"), at=at, times=times, record=record)


def exit(
    function: Callable[..., Any], status: int = 1, *, at: At, times: int | None = 1, record: Path | None = None
) -> Callable[..., Any]:
    """Returns a function that ends the process which calls it at once (``os._exit``), as a library does that finds itself broken.

    Args:
        function: what is wrapped.
        status: with which exit status, from 0 to 255.
        at: which call, or at which elements; see ``inject``.
        times: how often at each element.
        record: see ``inject``.

    Raises:
        InvalidArgumentError: an argument is of no use; says which.

    Example:
        >>> from headrace.testing import faults
        >>> exiting = faults.exit(abs, 3, at=100)
    """
    leaves = functools.partial(os._exit, an_int(status, "status", 0, 255))
    return inject(function, leaves, at=at, times=times, record=record)


def fail(
    function: Callable[..., Any],
    error: BaseException | type[BaseException] = RuntimeError("a fault on purpose"),  # noqa: B008 - it is not changed
    *,
    at: At,
    times: int | None = 1,
    record: Path | None = None,
) -> Callable[..., Any]:
    """Returns a function that raises at chosen calls.

    Args:
        function: what is wrapped.
        error: what is raised.
        at: which call, or at which elements; see ``inject``.
        times: how often at each element; by default a second try succeeds.
        record: see ``inject``.

    Raises:
        InvalidArgumentError: an argument is of no use; says which.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import faults
        >>> failing = faults.fail(abs, OSError("the network is away"), at=lambda x: x == 1, times=None)
        >>> list(hr.Dataset.range(3).map(failing, on_error="skip"))
        [0, 2]
    """
    is_class = isinstance(error, type) and issubclass(error, BaseException)
    if not (is_class or isinstance(error, BaseException)):
        raise InvalidArgumentError(f"error must be an exception or a class of exceptions, not {error!r}")
    return inject(function, _Raised(error), at=at, times=times, record=record)


def delay(
    function: Callable[..., Any], seconds: float, *, at: At, times: int | None = 1, record: Path | None = None
) -> Callable[..., Any]:
    """Returns a function that waits before chosen calls.

    Args:
        function: what is wrapped.
        seconds: how long. With ``math.inf`` it never returns, and a thread that called it is there until the program ends.
        at: which call, or at which elements; see ``inject``.
        times: how often at each element.
        record: see ``inject``.

    Raises:
        InvalidArgumentError: an argument is of no use; says which.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import faults
        >>> slow = faults.delay(abs, 0.01, at=faults.chance(0.5, seed=1))
        >>> list(hr.Dataset.range(4).map(slow, num_parallel_calls=2))
        [0, 1, 2, 3]
    """
    waits = _Waited(a_float(seconds, "seconds", 0, math.inf))
    return inject(function, waits, at=at, times=times, record=record)


class _Sent:
    """Sends this process a signal, the first of these names that the system has."""

    def __init__(self, *names: str) -> None:
        self._number = next((getattr(signal, name) for name in names if hasattr(signal, name)), None)
        if self._number is None:
            raise FailedPreconditionError(f"this system has no {names[0]}")

    def __call__(self) -> None:
        os.kill(os.getpid(), self._number)  # type: ignore[arg-type]  # there is one


class _Raised:
    """Raises an error."""

    def __init__(self, error: BaseException | type[BaseException]) -> None:
        self._error = error

    def __call__(self) -> None:
        if isinstance(self._error, type):
            raise self._error
        raise self._error.with_traceback(None)  # that of the last time would grow


class _Waited:
    """Waits."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self) -> None:
        if math.isinf(self._seconds):
            threading.Event().wait()
        time.sleep(self._seconds)
