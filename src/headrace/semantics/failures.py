"""How an exception becomes an error that says whose fault it is and where it happened."""

from __future__ import annotations

import os
import re
from typing import Final

from headrace.errors import DataError, HeadraceError, InputChangedError, InternalError, InvalidArgumentError, said
from headrace.observe.frames_held import note_failed
from headrace.plan.node import Node

__all__ = ["as_element_error", "input_changed", "inside_element", "not_run"]


# What Python says of a call with another number of arguments than the function takes.
_MISCALLED: Final = re.compile(
    r"takes .* positional arguments? but \d+ (was|were) given|takes exactly \w+ arguments? \(\d+ given\)|missing \d+ required positional argument"
)
_OURS: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")  # noqa: PTH118, PTH120 - no I/O


def as_element_error(
    error: BaseException, *, stage: str, origin: str | None, takes_parts: bool = False
) -> HeadraceError:
    """Makes the error that the user sees: one of ours keeps its kind, any other is a failure of the user's function.

    Args:
        error: what was raised.
        stage: the operation.
        origin: the element.
        takes_parts: whether the function gets the parts of a tuple as its arguments.
    """
    failure: HeadraceError
    if isinstance(error, HeadraceError):
        failure = error.located(stage=stage, origin=origin, cause=error)
    else:
        text = said(error)
        what = f"{type(error).__name__}: {text}" if text else type(error).__name__
        if takes_parts and _is_miscalled(error, text):
            what += (
                "; each part of a tuple is an argument of its own: lambda x, y: …, or lambda *parts: … for all of them"
            )
        failure = DataError(what, stage=stage, origin=origin)
        failure.__cause__ = error
    note_failed(failure)
    return failure


def _is_miscalled(error: BaseException, text: str) -> bool:
    """Returns whether the function was not entered, as it takes another number of arguments."""
    if type(error) is not TypeError or not _MISCALLED.search(text):
        return False
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    return frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OURS)


def inside_element(error: HeadraceError, outer: str) -> HeadraceError:
    """Makes the error of an element in a dataset that was made of the outer element."""
    if error.origin is None or ":" in error.origin:  # a file and a line need no further word
        return error
    return error.with_place(stage=error.stage, origin=f"{error.origin} of {outer}")


def input_changed(label: str, origin: str | None = None, *, failure: HeadraceError | None = None) -> InputChangedError:
    """Makes the error of a resumed run whose input has other elements than had been read, as far as their number says.

    A failure is the last that came while they were read again: it may be what has changed.
    """
    message = (
        "the input is not the one that had been read: the data changed since the state was saved; begin without it"
    )
    if failure is not None:
        message += f", or load it again if this has passed: {failure}"
    return InputChangedError(message, stage=label, origin=origin)


def not_run(node: Node) -> HeadraceError:
    """Makes the error of an operation that does not stand where it can run."""
    if node.deals:
        return InvalidArgumentError(
            "a dataset that a function makes cannot be dealt to ranks: put it after the operation that calls the function",
            stage=node.label,
        )
    return InternalError(f"nobody knows how to run {type(node).__name__}")
