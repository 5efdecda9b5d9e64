"""Pickles that take functions and classes of the program with them, as another process has another program.

In a process of headrace's own the classes that came so are found where they say that they are, as states, files and other pickles name them by that.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from collections.abc import Callable
from typing import Any, Final

from headrace.processes.class_copies import PROGRAMS, have_classes_found, reduced_class
from headrace.processes.definitions import reduced_definition
from headrace.processes.met_again import reduced_once
from headrace.processes.values_pickled import reduced

__all__ = ["PROGRAMS", "have_classes_found", "keeping_large", "pickled_by_value", "pickler_class"]

# How many parts cloudpickle's way of making a class has; with fewer it names it.
_OF_A_CLASS: Final = 6


def pickled_by_value(value: Any, keep: Callable[[pickle.PickleBuffer], bool] | None = None) -> bytes:
    """Returns anything pickled, functions and classes of the program by value.

    Raises:
        Exception: whatever a class says that cannot be pickled.
    """
    written = io.BytesIO()
    pickler_class()(written, pickle.HIGHEST_PROTOCOL, buffer_callback=keep).dump(value)
    return written.getvalue()


def pickler_class() -> Any:
    """Returns what pickles so; cloudpickle is imported when it is first needed."""
    import cloudpickle

    program = sys.modules.get("__mp_main__")
    if program is not None and "__mp_main__" not in cloudpickle.list_registry_pickle_by_value():
        cloudpickle.register_pickle_by_value(program)  # which no other process can import
    return _pickler_class()


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
            for reduce in (reduced_definition, reduced_once):
                found = reduce(obj)
                if found is not NotImplemented:
                    return found
            found = super().reducer_override(obj)
            if isinstance(obj, type) and isinstance(found, tuple) and len(found) == _OF_A_CLASS:
                return reduced_class(obj, found)
            return found

    return Pickler


def keeping_large(found: list[memoryview], smallest: int) -> Callable[[pickle.PickleBuffer], bool]:
    """Returns what has a pickle leave out buffers of so many bytes and more, and lists them."""

    def keep(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < smallest:
            return True
        found.append(raw)
        return False

    return keep
