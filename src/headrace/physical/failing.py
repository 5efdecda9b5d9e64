"""How an exception becomes an error that says whose fault it is and where it happened."""

from __future__ import annotations

from headrace.errors import DataError, HeadraceError

__all__ = ["located", "within"]


def located(error: BaseException, *, stage: str, origin: str | None) -> HeadraceError:
    """The error as the user will see it: one of ours keeps its kind, any other is a failure of the user's function."""
    if isinstance(error, HeadraceError):
        placed = error.located(stage=stage, origin=origin)
        placed.__cause__ = error.__cause__ or error
        return placed
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    failure = DataError(reason, stage=stage, origin=origin)
    failure.__cause__ = error
    return failure


def within(error: HeadraceError, outer: str) -> HeadraceError:
    """The error of an element in a dataset that was made of the outer element."""
    if error.origin is None or ":" in error.origin:  # a file and a line need no further word
        return error
    placed = type(error)(error.reason, stage=error.stage, origin=f"{error.origin} of {outer}")
    placed.__cause__ = error.__cause__
    return placed.with_traceback(error.__traceback__)
