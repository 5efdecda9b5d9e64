"""What a cache's state says, and whose fault it is where one cannot be filled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from headrace.blocks.cursor import State
from headrace.caching.kept import Filling
from headrace.errors import HeadraceError, ResourceExhaustedError
from headrace.semantics.cache_fillings import Pin

__all__ = ["CACHE_REMEDY", "cache_state", "located_in_cache"]


CACHE_REMEDY: Final = "Cache in a folder, cache(folder), or before what makes the elements large"


def cache_state(index: int, pin: Pin, failures: int) -> State:
    """The state of a cache."""
    return {"index": index, "failures": failures, **pin.state()}


@contextlib.contextmanager
def located_in_cache(filling: Filling) -> Iterator[None]:
    """What goes wrong while a cache is filled is the cache's, and leaves nothing of the filling."""
    try:
        yield
    except HeadraceError as error:
        filling.abandon()
        raise error.with_place(stage="cache", origin=None) from error.__cause__
    except OSError as error:
        filling.abandon()
        raise ResourceExhaustedError(f"the cache could not be written: {error}", stage="cache") from error
