"""Every error that headrace raises, split by whose fault it is.

    HeadraceError
    |   the caller asked for something that cannot be
    +-- InvalidArgumentError     (ValueError)         a value, shape, dtype or name that does not fit
    +-- FailedPreconditionError  (RuntimeError)       the right call at the wrong time
    +-- MissingExtraError        (ImportError)        an optional dependency is not installed
    |   the data is not what it should be
    +-- NotFoundError            (FileNotFoundError)  a file or saved thing that is not there
    +-- DataLossError            (OSError)            truncated, corrupt, or changed while it was read
    |   +-- InputChangedError                         not what it was when the state was saved
    +-- DataError                (RuntimeError)       a user's function failed on one element
    +-- WorkerError              (RuntimeError)       a process that worked for the pipeline died
    |   the run came to an end
    +-- OutOfRangeError          (EOFError)           nothing more will come
    +-- CancelledError           (RuntimeError)       somebody closed or stopped it
    +-- DeadlineExceededError    (TimeoutError)       it took longer than was allowed
    +-- ResourceExhaustedError   (MemoryError)        a stated bound would be passed
    |   our own fault
    +-- InternalError            (RuntimeError)       please report it

House rules. A message says whose fault it is, where, and what to do next. Each class is also the built-in
that a caller would have expected, so code that never heard of headrace can catch it. An error that belongs to
one element knows its stage, the user's function and the element's origin as attributes, not only as text.
"""

from __future__ import annotations

import contextlib
from typing import Any, Final, Self, TypeVar

__all__ = [
    "CancelledError",
    "DataError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "HeadraceError",
    "InputChangedError",
    "InternalError",
    "InvalidArgumentError",
    "MissingExtraError",
    "NotFoundError",
    "OutOfRangeError",
    "ResourceExhaustedError",
    "WorkerError",
]


class HeadraceError(Exception):
    """The root of every error of headrace.

    Attributes:
        stage: the stage that failed, such as ``"map 'decode' (train.py:41)"``, or None.
        origin: the element it failed on, such as ``"element 1203"`` or ``"data/a.csv:18"``, or None.
        reason: the message without stage and origin.

    Example:
        >>> import headrace as hr
        >>> try:
        ...     hr.Dataset.range(3).batch(0)
        ... except hr.errors.HeadraceError as error:
        ...     print(type(error).__name__)
        InvalidArgumentError
    """

    reason: str = ""
    stage: str | None = None
    origin: str | None = None

    def __init__(self, reason: str = "", *, stage: str | None = None, origin: str | None = None) -> None:
        self.reason = reason
        self.stage = stage
        self.origin = origin
        super().__init__(_message(reason, stage, origin))

    def located(self, *, stage: str | None, origin: str | None, cause: BaseException | None = None) -> Self:
        """Returns this error with where it happened; a stage, an origin or a cause that is known already is kept."""
        again = self.with_place(stage=self.stage or stage, origin=self.origin or origin)
        if self.__cause__ is None:
            _set_cause(again, cause)
        return again

    def with_place(self, *, stage: str | None, origin: str | None) -> Self:
        """Returns this error with another stage and origin, whatever it had."""
        return _copied(self, _reason(self), stage, origin)

    def with_reason(self, reason: str) -> Self:
        """Returns this error with another reason, and all else that it carries."""
        return _copied(self, reason, self.stage, self.origin)

    def __str__(self) -> str:
        # The built-in bases (OSError, KeyError) format their arguments in ways of their own.
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return _made, (type(self), _reason(self), self.stage, self.origin, _carried(self))


def said(error: BaseException) -> str:
    """Returns what an exception says, which a class of the user's may fail to do."""
    try:
        return str(error)
    except Exception as another:  # noqa: BLE001 - a method of a class that is not ours
        return f"(what it says cannot be told: its __str__ raised {type(another).__name__})"


_Error = TypeVar("_Error", bound=HeadraceError)


def no_more_threads(what_for: str, error: RuntimeError) -> ResourceExhaustedError:
    """Returns the error for a thread that the system does not start; ``what_for`` is what it does, such as "reads a file"."""
    return ResourceExhaustedError(
        f"the system starts no thread that {what_for}: {said(error)}; raise the limit of threads or of memory (ulimit -u, ulimit -v, the container's), "
        'or have fewer at once: executor="inline" needs none'
    )


def without_frames(error: _Error) -> _Error:
    """Returns the error for one who keeps it: neither it nor its causes have the frames they came through, with all that those had in hand."""
    left: list[BaseException] = [error]
    seen = set[int]()
    while left:
        one = left.pop().with_traceback(None)
        seen.add(id(one))
        left += [other for other in (one.__cause__, one.__context__) if other is not None and id(other) not in seen]
    return error


# A class may refuse that its attributes are set, as frozen dataclasses do.
_set_cause: Final = vars(BaseException)["__cause__"].__set__
_set_arguments: Final = vars(BaseException)["args"].__set__
_PLACE: Final = ("reason", "stage", "origin")
_HEAP_TYPE: Final = 1 << 9  # CPython's flag of classes that Python code made


def _message(reason: str, stage: str | None, origin: str | None) -> str:
    place = ", ".join(part for part in (stage, origin) if part)
    return f"{place}: {reason}" if place else reason


def _reason(error: HeadraceError) -> str:
    """Returns the message without a place, also where a user's constructor did not call ours."""
    return error.reason if "reason" in vars(error) else said(error) or type(error).__name__


def _carried(error: HeadraceError) -> dict[str, object]:
    """Returns the attributes that a user's class has beside ours."""
    carried = {name: value for name, value in vars(error).items() if name not in _PLACE}
    for kind in type(error).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with contextlib.suppress(AttributeError, KeyError):  # it was not set; its name was mangled
                carried[name] = vars(kind)[name].__get__(error)
    return carried


def _copied(error: _Error, reason: str, stage: str | None, origin: str | None) -> _Error:
    again: _Error = _made(type(error), reason, stage, origin, _carried(error))
    _set_cause(again, error.__cause__)
    BaseException.with_traceback(again, error.__traceback__)
    return again


def _made(
    kind: type[HeadraceError], reason: str, stage: str | None, origin: str | None, carried: dict[str, object]
) -> Any:
    """Returns an error of a class, whatever arguments its own constructor takes."""
    built_in: Any = kind
    while built_in.__flags__ & _HEAP_TYPE:
        built_in = built_in.__base__
    error = built_in.__new__(kind)
    _set_arguments(error, (_message(reason, stage, origin),))
    for name, value in {**carried, "reason": reason, "stage": stage, "origin": origin}.items():
        with contextlib.suppress(AttributeError):  # a property of the user's class
            object.__setattr__(error, name, value)
    return error


class InvalidArgumentError(HeadraceError, ValueError):
    """A value, shape, dtype or name does not fit what was asked."""


class FailedPreconditionError(HeadraceError, RuntimeError):
    """The call is right, but not in the state that things are in."""


class MissingExtraError(HeadraceError, ImportError):
    """An optional dependency is missing; the message names the line that installs it."""


class NotFoundError(HeadraceError, FileNotFoundError):
    """A file, folder or saved thing is not there."""


class DataLossError(HeadraceError, OSError):
    """Data is truncated, corrupt, or changed while it was read."""


class InputChangedError(DataLossError):
    """What a state goes on from is not what it was: no element's failure, so ``ignore_errors`` does not skip it, and mostly nothing follows."""


class DataError(HeadraceError, RuntimeError):
    """A user's function failed on one element; its own exception is the cause."""


class WorkerError(HeadraceError, RuntimeError):
    """A process that worked for the pipeline died, and could not be replaced or died of the same element again."""


class OutOfRangeError(HeadraceError, EOFError):
    """Nothing more will come: a dataset or a closed queue is at its end."""


class CancelledError(HeadraceError, RuntimeError):
    """The operation was cancelled because its queue or run was closed."""


class DeadlineExceededError(HeadraceError, TimeoutError):
    """An operation took longer than its deadline allowed.

    Attributes:
        stack: of a user's function that did not return in time (``timeout_s``): the Python stack where it was, as in a traceback.
    """

    stack: str = ""


class ResourceExhaustedError(HeadraceError, MemoryError):
    """A stated bound on memory or space would be passed."""


class InternalError(HeadraceError, RuntimeError):
    """headrace contradicted itself; please report it with the traceback."""
