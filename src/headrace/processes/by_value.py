"""Pickles that take functions and classes of the program with them, as another process has another program.

In a process of headrace's own the classes that came so are found where they say that they are, as states, files and other pickles name them by that.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any, Final

from headrace.processes.values_pickled import reduced

__all__ = ["PROGRAMS", "have_classes_found", "keeping_large", "pickled_by_value"]

# How the module is called that the program is, here and in a process that multiprocessing started.
PROGRAMS: Final = ("__main__", "__mp_main__")


def pickled_by_value(value: Any, keep: Callable[[pickle.PickleBuffer], bool] | None = None) -> bytes:
    """Returns anything pickled, functions and classes of the program by value.

    Raises:
        Exception: whatever a class says that cannot be pickled.
    """
    import cloudpickle

    program = sys.modules.get("__mp_main__")
    if program is not None and "__mp_main__" not in cloudpickle.list_registry_pickle_by_value():
        cloudpickle.register_pickle_by_value(program)  # which no other process can import
    written = io.BytesIO()
    _pickler_class()(written, pickle.HIGHEST_PROTOCOL, buffer_callback=keep).dump(value)
    return written.getvalue()


@functools.cache
def _pickler_class() -> Any:
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
        """Has arrays and structured scalars arrive as they are."""

        def reducer_override(self, obj: Any) -> Any:
            found = reduced(obj)
            if found is not NotImplemented:
                return found
            if isinstance(obj, io.TextIOWrapper) and not obj.closed and obj not in (sys.stdout, sys.stderr):
                raise pickle.PicklingError("cannot pickle an open file")  # cloudpickle would send all that is in it
            found = super().reducer_override(obj)
            if isinstance(obj, type) and obj.__module__ in PROGRAMS and isinstance(found, tuple):
                make, arguments, *rest = found
                return _made_class, (obj.__qualname__, make, _with_slots(obj, make, arguments)), *rest
            return found

    return Pickler


def _with_slots(kind: type, make: Callable[..., type], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Has a class keep its slots, which cloudpickle forgets: its objects would come back with a ``__dict__``, for which they have no room here."""
    slots = vars(kind).get("__slots__")
    if slots is None or make.__name__ != "_make_skeleton_class":
        return arguments
    *before, names, tracker, extra = arguments
    return *before, {**names, "__slots__": slots if isinstance(slots, str) else tuple(slots)}, tracker, extra


_program: types.ModuleType | None = None


def have_classes_found(program: types.ModuleType) -> None:
    """Has classes of another program's be attributes of this one, which has none of its own."""
    global _program  # noqa: PLW0603 - one of a process
    _program = program


def _made_class(name: str, make: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    kind = make(*arguments)
    if _program is not None and "." not in name:
        setattr(_program, name, kind)
    return kind


def keeping_large(found: list[memoryview], smallest: int) -> Callable[[pickle.PickleBuffer], bool]:
    """Returns what has a pickle leave out buffers of so many bytes and more, and lists them."""

    def keep(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < smallest:
            return True
        found.append(raw)
        return False

    return keep
