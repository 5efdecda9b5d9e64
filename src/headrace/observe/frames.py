"""What a thread is doing, read from its frames when somebody asks: who works writes nothing down for it.

Functions that work on elements say, where they are defined, what their local variables tell:

    holds     its element, and the operation whose element it is
    counts    how many of the elements that its caller gave it are done
    reaches   the same where that takes more than a list: any description that its caller understands
    since     when what it works on was begun
    within    the element in which lie those that it reads
    waits     nothing: its thread waits for other threads of the run, and they hold what is to come
    hands_over  which thread does for it what it waits for: the frames of that one are as if it had called them
    begins    that here a run begins, perhaps inside a function of another one

The marks are kept by code object, so a call costs what it did before. A frame that is looked at goes on meanwhile: what
no longer fits together is no answer, as it no longer hangs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

from headrace.frozen import frozen
from headrace.thread_frames import frames_of_threads, frames_outwards

__all__ = ["Held", "begins", "counts", "hands_over", "held_in", "holds", "reaches", "since", "waits", "within"]

F = TypeVar("F", bound=Callable[..., Any])
# The local variables of a frame.
Locals = Mapping[str, Any]
# An operation, its element, and the index of the frame that says so.
_Found = tuple[str, str | None, int]

_OUR_FOLDER: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")  # noqa: PTH118, PTH120 - no I/O, and no pathlib for it

_holds: Final[dict[CodeType, Callable[[Locals, Any], tuple[str, str | None]]]] = {}
_reaches: Final[dict[CodeType, Callable[[FrameType], Any]]] = {}
_since: Final[dict[CodeType, str]] = {}
_within: Final[dict[CodeType, Callable[[Locals], str | None]]] = {}
_waits: Final[set[CodeType]] = set()
_hands_over: Final[dict[CodeType, Callable[[Locals], int | None]]] = {}
_begins: Final[set[CodeType]] = set()


@frozen
class Held:
    """What one thread holds.

    Attributes:
        stage: the operation.
        origin: its element, where that is known.
        since_s: when the block with it was begun, on the monotonic clock; None where nobody says.
        frames: those of what the operation called, the innermost last.
    """

    stage: str
    origin: str | None
    since_s: float | None
    frames: Sequence[FrameType]


def holds(describe: Callable[[Locals, Any], tuple[str, str | None]]) -> Callable[[F], F]:
    """Marks what works on an element: ``describe(locals, done)`` names the operation and the element.

    ``done`` is how far what it called has come, as that says by ``counts`` or ``reaches``; 0 where that says nothing.
    """
    return _marked(_holds, describe)


def counts(results: str) -> Callable[[F], F]:
    """Marks what collects in a list, its local variable of that name, one result for each element that is done."""
    return _marked(_reaches, lambda frame: len(frame.f_locals[results]))


def reaches(function: Callable[..., Any], where: Callable[[FrameType], Any]) -> None:
    """Marks what was generated: ``where(frame)`` says how far it has come."""
    _marked(_reaches, where)(function)


def since(variable: str) -> Callable[[F], F]:
    """Marks what noted when it began in its local variable of that name."""
    return _marked(_since, variable)


def within(describe: Callable[[Locals], str | None]) -> Callable[[F], F]:
    """Marks what reads the dataset that was made of an element: ``describe(locals)`` names that element."""
    return _marked(_within, describe)


def waits(function: F) -> F:
    """Marks what only waits for other threads."""
    _waits.add(function.__code__)
    return function


def hands_over(thread: Callable[[Locals], int | None]) -> Callable[[F], F]:
    """Marks what waits for a thread that works for it alone: ``thread(locals)`` is that thread's ident."""
    return _marked(_hands_over, thread)


def begins(function: F) -> F:
    """Marks the method by which a run is read."""
    _begins.add(function.__code__)
    return function


def _marked(marks: dict[CodeType, Any], mark: Any) -> Callable[[F], F]:
    def mark_it(function: F) -> F:
        marks[function.__code__] = mark
        return function

    return mark_it


def held_in(innermost: FrameType, run: object) -> Held | None:
    """Returns what a thread of a run holds whose innermost frame this is; None where it holds nothing or only waits."""
    try:
        frames = _with_handed_over(frames_outwards(innermost))
        return _held(frames, _part_of(frames, run))
    except Exception:  # noqa: BLE001 - the thread has moved on while it was looked at, so nothing hangs here
        return None


def _with_handed_over(frames: list[FrameType]) -> list[FrameType]:
    """Returns the frames of a thread, with those of the thread that works for it instead of its wait."""
    for index, frame in enumerate(frames):
        if frame.f_code in _hands_over:
            threads = frames_of_threads()
            inner = threads.get(_hands_over[frame.f_code](frame.f_locals) or 0)
            threads.clear()  # this very frame is among them, and would keep all others with what they hold
            return [*frames_outwards(inner), *frames[index + 1 :]]
    return frames


def _part_of(frames: Sequence[FrameType], run: object) -> range:
    """Returns which of the frames are the run's own: neither those of who reads it, nor those of a run inside of it."""
    begun = [index for index, frame in enumerate(frames) if frame.f_code in _begins]
    outermost = next((index for index in begun if frames[index].f_locals["self"] is run), len(frames))
    inner = max((index for index in begun if index < outermost), default=-1)
    return range(inner + 1, outermost)


def _held(frames: Sequence[FrameType], own: range) -> Held | None:
    found: _Found | None = None
    done: Any = 0
    since_s: float | None = None
    for index in own:
        frame = frames[index]
        code = frame.f_code
        if found is None and code in _waits:
            return None
        if code in _reaches:
            done = _reaches[code](frame)
        if since_s is None and code in _since:
            since_s = frame.f_locals[_since[code]]
        if code in _holds and (found is None or found[1] is None):
            found = _holding(found, (*_holds[code](frame.f_locals, done), index))
        elif found is not None and code in _within and (outer := _within[code](frame.f_locals)):
            found = (found[0], _joined(found[1], outer), found[2])
    if found is None:
        return None
    return Held(found[0], found[1], since_s, _called_by(frames, found[2]))


def _holding(found: _Found | None, further: _Found) -> _Found:
    """Returns what holds an element; what knows only the operation learns the element from what called it for that."""
    if found is None:
        return further
    return (*further[:2], found[2]) if further[0] == found[0] else found


def _joined(inner: str | None, outer: str) -> str:
    """Returns the words of an element in a dataset that was made of another: a file and a line need no further word."""
    if inner is None:
        return outer
    return inner if ":" in inner.partition(" (")[0] else f"{inner} of {outer}"


def _called_by(frames: Sequence[FrameType], index: int) -> Sequence[FrameType]:
    """Returns what the frame called: from the first function that is not ours, or all, where nothing else was called."""
    called = frames[:index][::-1]
    theirs = [number for number, frame in enumerate(called) if not frame.f_code.co_filename.startswith(_OUR_FOLDER)]
    return called[theirs[0] :] if theirs else frames[: index + 1][::-1]
