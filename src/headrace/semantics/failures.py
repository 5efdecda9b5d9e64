"""How an exception becomes an error that says whose fault it is and where it happened."""

from __future__ import annotations

from headrace.errors import DataError, DataLossError, HeadraceError, InternalError, InvalidArgumentError, said
from headrace.observe.frames_held import note_failed
from headrace.plan.node import Node

__all__ = ["as_element_error", "input_changed", "inside_element", "not_run"]


def as_element_error(error: BaseException, *, stage: str, origin: str | None) -> HeadraceError:
    """Makes the error that the user sees: one of ours keeps its kind, any other is a failure of the user's function."""
    failure: HeadraceError
    if isinstance(error, HeadraceError):
        failure = error.located(stage=stage, origin=origin, cause=error)
    else:
        text = said(error)
        what = f"{type(error).__name__}: {text}" if text else type(error).__name__
        failure = DataError(what, stage=stage, origin=origin)
        failure.__cause__ = error
    note_failed(failure)
    return failure


def inside_element(error: HeadraceError, outer: str) -> HeadraceError:
    """Makes the error of an element in a dataset that was made of the outer element."""
    if error.origin is None or ":" in error.origin:  # a file and a line need no further word
        return error
    return error.with_place(stage=error.stage, origin=f"{error.origin} of {outer}")


def input_changed(label: str, origin: str | None = None, *, failure: HeadraceError | None = None) -> DataLossError:
    """Makes the error of a resumed run whose input has other elements than had been read, as far as their number says.

    A failure is the last that came while they were read again: it may be what has changed.
    """
    message = (
        "the input is not the one that had been read: the data changed since the state was saved; begin without it"
    )
    if failure is not None:
        message += f", or load it again if this has passed: {failure}"
    return DataLossError(message, stage=label, origin=origin)


def not_run(node: Node) -> HeadraceError:
    """Makes the error of an operation that does not stand where it can run."""
    if node.deals:
        return InvalidArgumentError(
            "a dataset that a function makes cannot be dealt to ranks: put it after the operation that calls the function",
            stage=node.label,
        )
    return InternalError(f"nobody knows how to run {type(node).__name__}")
