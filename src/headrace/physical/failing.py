"""How an exception becomes an error that says whose fault it is and where it happened."""

from __future__ import annotations

from headrace.errors import DataError, HeadraceError

__all__ = ["located"]


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
