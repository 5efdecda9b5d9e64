"""Every error that headrace raises, split by whose fault it is.

    HeadraceError
    |   the caller asked for something that cannot be
    +-- InvalidArgumentError     (ValueError)         a value, shape, dtype or name that does not fit
    +-- FailedPreconditionError  (RuntimeError)       the right call at the wrong time
    +-- MissingExtraError        (ImportError)        an optional dependency is not installed
    |   the data is not what it should be
    +-- NotFoundError            (FileNotFoundError)  a file or saved thing that is not there
    +-- DataLossError            (OSError)            truncated, corrupt, or changed while it was read
    +-- DataError                (RuntimeError)       a user's function failed on one element
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

from typing import Self

__all__ = [
    "CancelledError",
    "DataError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "HeadraceError",
    "InternalError",
    "InvalidArgumentError",
    "MissingExtraError",
    "NotFoundError",
    "OutOfRangeError",
    "ResourceExhaustedError",
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

    def __init__(self, reason: str = "", *, stage: str | None = None, origin: str | None = None) -> None:
        self.reason = reason
        self.stage = stage
        self.origin = origin
        place = ", ".join(part for part in (stage, origin) if part)
        super().__init__(f"{place}: {reason}" if place else reason)

    def located(self, *, stage: str | None, origin: str | None) -> Self:
        """This error with the place where it happened; a place that is known already is kept."""
        placed = type(self)(self.reason or str(self), stage=self.stage or stage, origin=self.origin or origin)
        placed.__cause__ = self.__cause__
        return placed.with_traceback(self.__traceback__)

    def __str__(self) -> str:
        # The built-in bases (OSError, KeyError) format their arguments in ways of their own.
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.reason, self.stage, self.origin)


def _rebuild(kind: type[HeadraceError], reason: str, stage: str | None, origin: str | None) -> HeadraceError:
    return kind(reason, stage=stage, origin=origin)


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


class DataError(HeadraceError, RuntimeError):
    """A user's function failed on one element; its own exception is the cause."""


class OutOfRangeError(HeadraceError, EOFError):
    """Nothing more will come: a dataset or a closed queue is at its end."""


class CancelledError(HeadraceError, RuntimeError):
    """The operation was cancelled because its queue or run was closed."""


class DeadlineExceededError(HeadraceError, TimeoutError):
    """An operation took longer than its deadline allowed."""


class ResourceExhaustedError(HeadraceError, MemoryError):
    """A stated bound on memory or space would be passed."""


class InternalError(HeadraceError, RuntimeError):
    """headrace contradicted itself; please report it with the traceback."""
