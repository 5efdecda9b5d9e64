"""What is used up by whoever looks at it, and so is no element: it could neither be read again nor be sent, and is empty the second time."""

from __future__ import annotations

import inspect
from typing import Any, Final

from headrace.errors import InvalidArgumentError

__all__ = ["check_lasts"]

# Of these modules are Python's own generators, coroutines and iterators: ``zip``, ``map``, ``itertools.chain``, those of lists.
_PYTHONS: Final = frozenset({"builtins", "itertools"})


def check_lasts(leaf: Any) -> None:
    """Refuses a leaf that is a coroutine, a generator, or another of Python's own iterators, but no file, which can be read again.

    Raises:
        InvalidArgumentError: it is one; it is closed.
    """
    kind = type(leaf)
    if kind.__module__ not in _PYTHONS:
        return
    if inspect.iscoroutine(leaf) or inspect.isasyncgen(leaf):
        if inspect.iscoroutine(leaf):
            leaf.close()  # otherwise Python warns that nobody awaited it
        raise InvalidArgumentError(
            f"an element cannot hold a {kind.__name__} ('{leaf.__qualname__}'), of which nothing has run: run it to its end first, as with "
            "asyncio.run"
        )
    if hasattr(kind, "__next__"):
        shown = (
            f"a generator ('{leaf.__qualname__}')" if inspect.isgenerator(leaf) else f"an iterator ({kind.__name__})"
        )
        raise InvalidArgumentError(
            f"an element cannot hold {shown}, which the first to look at it uses up: make it a list or a tuple, or, where it gives "
            "several elements, a dataset in flat_map: hr.Dataset.from_generator"
        )
