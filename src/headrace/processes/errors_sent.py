"""Errors on their way to another process: with their causes, and in words what no pickle can carry."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from typing import Any, Final

from headrace.errors import DataError, HeadraceError, said
from headrace.processes.parcels import to_bytes

__all__ = ["received_error", "sent_error"]

_MOST_CAUSES: Final = 8
# Each error as it was pickled, or None; what it says; the traceback of where it came about.
_Sent = list[tuple[bytes | None, dict[str, Any], str]]


def sent_error(error: BaseException) -> _Sent:
    """Returns an error and its causes, the last one first, as plain data."""
    found: _Sent = []
    one: BaseException | None = error
    while one is not None and len(found) < _MOST_CAUSES:
        told = {
            "kind": type(one).__name__,
            "text": said(one),
            "reason": getattr(one, "reason", None),
            "stage": getattr(one, "stage", None),
            "origin": getattr(one, "origin", None),
            "notes": list(getattr(one, "__notes__", ())),
        }
        trace = "".join(traceback.format_tb(one.__traceback__)) if not isinstance(one, HeadraceError) else ""
        found.append((_pickled(one), told, trace))
        one = one.__cause__
    return found


def received_error(sent: _Sent, process: str) -> BaseException:
    """Returns the error again, whose causes tell in notes where in the other process they were raised."""
    cause: BaseException | None = None
    for pickled, told, trace in reversed(sent):
        error = _made(pickled, told)
        with contextlib.suppress(Exception):  # a class that takes no notes
            if not getattr(error, "__notes__", None):
                for note in told["notes"]:
                    error.add_note(note)
            if trace:
                error.add_note(f"raised in {process}:\n{trace.rstrip()}")
        with contextlib.suppress(AttributeError):
            error.__cause__ = cause
        cause = error
    assert cause is not None  # at least the error itself was sent
    return cause


def _pickled(error: BaseException) -> bytes | None:
    """Returns an exception pickled; where its constructor wants more than it keeps, its class, arguments and attributes."""
    with contextlib.suppress(Exception):  # an exception's own methods may raise anything
        body = to_bytes(error)
        if type(pickle.loads(body)) is type(error):  # some can be pickled, and not made again
            return body
    with contextlib.suppress(Exception):
        return to_bytes((type(error), error.args, vars(error)))
    return None


def _without_constructor(kind: type[BaseException], args: tuple[Any, ...], held: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(held)
    return error


def _made(pickled: bytes | None, told: dict[str, Any]) -> BaseException:
    if pickled is not None:
        with contextlib.suppress(Exception):  # the module of its class may be missing here
            error = pickle.loads(pickled)
            if isinstance(error, tuple):
                error = _without_constructor(*error)
            if isinstance(error, BaseException):
                return error
    if told["reason"] is not None:
        return DataError(told["reason"], stage=told["stage"], origin=told["origin"])
    return RuntimeError(f"{told['kind']}: {told['text']}")
