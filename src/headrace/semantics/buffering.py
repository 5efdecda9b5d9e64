"""What a cache's state says, and whose fault it is where one cannot be filled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from headrace.blocks.cursor import State
from headrace.caching.store import CacheWriter, CannotKeep, Store
from headrace.errors import HeadraceError, ResourceExhaustedError
from headrace.log import warn_once
from headrace.observe.tables import counted
from headrace.semantics.cache_fillings import Pin

__all__ = ["CACHE_REMEDY", "cache_state", "keeping", "tell_unkept"]

CACHE_REMEDY: Final = "Cache in a folder, cache(folder), or before what makes the elements large"


def cache_state(index: int, pin: Pin, failures: int, *, is_unkept: bool = False) -> State:
    """Writes down the state of a cache.

    Args:
        index: how many elements were handed on, or had the error in their place that they cannot be kept.
        pin: which filling it reads or makes.
        failures: how many errors of what is above were handed on.
        is_unkept: whether the error that an element cannot be kept was handed on.
    """
    return {"index": index, "failures": failures, **pin.state(), **({"unkept": True} if is_unkept else {})}


@contextlib.contextmanager
def keeping(writer: CacheWriter, stage: str, taken: int = 0) -> Iterator[None]:
    """Tells what goes wrong while a cache is filled as the cache's, and leaves nothing of the filling.

    Args:
        writer: what it is filled by.
        stage: how errors call it.
        taken: how many of the elements that are added stand before the one whose place an error takes, unless it says so.

    Raises:
        CannotKeep: the error, and whose place it takes.
    """
    try:
        yield
    except CannotKeep as cannot:
        writer.abandon()
        raise CannotKeep(cannot.error.located(stage=stage, origin=None), cannot.taken) from None
    except HeadraceError as error:
        writer.abandon()
        raise CannotKeep(error.with_place(stage=stage, origin=None), taken) from None
    except OSError as error:
        writer.abandon()
        told = ResourceExhaustedError(f"the elements could not be written: {error}", stage=stage)
        told.__cause__ = error
        raise CannotKeep(told, taken) from None


def tell_unkept(store: Store, count: int) -> None:
    """Says in the log that an epoch was left and nothing of it is kept; once of each cache, as the next epochs are left the same way."""
    message = (
        f"{store.stage}: an epoch was left after {counted(count, 'element')}, so nothing is kept; "
        "to keep a part of a dataset, write take(k).cache() instead of cache().take(k)"
    )
    warn_once(message, about=f"what is left of {store.identity}")
