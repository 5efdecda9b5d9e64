"""What a cache is to those who fill it and read it: in memory or on disk, the rules are the same.

What always holds: a cache is either empty or complete. It becomes complete in one step, when some iterator has read a
whole epoch; what a partial epoch collected is dropped with it. One iterator at a time fills a cache on disk; others read
through it meanwhile.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Protocol

from headrace.blocks.kept import KeptSource
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload, Rows
from headrace.errors import HeadraceError, said
from headrace.frozen import frozen

if TYPE_CHECKING:
    from headrace.io.elements.file import ElementFile

__all__ = ["CacheWriter", "CachedEpoch", "CannotKeep", "Filled", "RefusedElement", "Store"]


class RefusedElement(Exception):  # noqa: N818 - it carries an error, to the place where the element stands
    """A user's function that says where an element goes failed on it: the error takes the element's place."""

    def __init__(self, error: HeadraceError) -> None:
        super().__init__(said(error))
        self.error = error


class CannotKeep(Exception):  # noqa: N818 - it carries an error, to the place where the element stands
    """An element cannot be kept, so the epoch cannot: the error takes the element's place, and the filling is over.

    Attributes:
        error: what the user sees.
        taken: how many of the elements that were added stand before that one.
    """

    def __init__(self, error: HeadraceError, taken: int) -> None:
        super().__init__(said(error))
        self.error = error
        self.taken = taken


@frozen
class Filled:
    """What decides which elements a cache was filled with, and in what order.

    Attributes:
        epoch: the number of the iterator's epoch.
        seeds: what the operations above that were given no seed draw from, in the order of the plan as it was written.
        entropy: what those inside functions draw from; None where no function makes datasets.
        caches: what the caches above were filled with.
    """

    epoch: tuple[int, ...]
    seeds: tuple[int, ...] = ()
    entropy: int | None = None
    caches: tuple[Filled, ...] = ()

    def state(self) -> dict[str, Any]:
        """Returns it as plain data."""
        state: dict[str, Any] = {"epoch": list(self.epoch)}
        if self.seeds:
            state["seeds"] = list(self.seeds)
        if self.entropy is not None:
            state["entropy"] = self.entropy
        if self.caches:
            state["caches"] = [filled.state() for filled in self.caches]
        return state

    @classmethod
    def of(cls, state: dict[str, Any]) -> Filled:
        """Returns what ``state`` wrote down.

        Raises:
            LookupError, TypeError: it is of another form.
        """
        epoch = tuple(map(operator.index, state["epoch"]))
        seeds = tuple(map(operator.index, state.get("seeds", ())))
        entropy = state.get("entropy")
        caches = tuple(map(cls.of, state.get("caches", ())))
        return cls(epoch, seeds, None if entropy is None else operator.index(entropy), caches)


@frozen
class CachedEpoch:
    """All elements of one epoch, and which epoch it was.

    Attributes:
        filled: what decided which elements they are.
        source: the elements, where they are in memory.
        origin: where these came from; None where there are none.
        file: elements on disk, instead.
        content: what tells one filling of a cache on disk from another; None in memory.
    """

    filled: Filled
    source: KeptSource = KeptSource(Rows([]))
    origin: Origin | None = None
    file: ElementFile | None = None
    content: str | None = None


class CacheWriter(Protocol):
    """Writes an epoch into a cache, for one iterator."""

    @property
    def content(self) -> str | None:
        """What will tell this filling from others, where it lasts longer than the process."""
        ...

    @property
    def one_by_one(self) -> bool:
        """Whether each element is added by itself, because any may be refused."""
        ...

    def add(self, elements: Payload, origin: Origin) -> None:
        """Takes in the next elements.

        Raises:
            RefusedElement: the only element of them is not taken in; the epoch will not be whole.
            CannotKeep: one of them cannot be stored, or the cache would exceed its ``max_bytes`` with it.
            HeadraceError: nothing more can be written.
        """
        ...

    def complete(self) -> CachedEpoch | None:
        """Gives the cache the whole epoch, from now on; returns it where it lies in memory."""
        ...

    def abandon(self) -> None:
        """Leaves nothing of the epoch; does nothing after ``complete``."""
        ...


class Store(Protocol):
    """A cache, shared by every iterator over one cached dataset."""

    @property
    def stage(self) -> str:
        """What the user called for: ``cache`` or ``snapshot``."""
        ...

    @property
    def identity(self) -> str:
        """Tells it from all others of the program, also in the processes that the program has."""
        ...

    @property
    def cached(self) -> CachedEpoch | None:
        """The epoch in the cache, once one was complete."""
        ...

    def begin_write(self, filled: Filled, content: str | None) -> CacheWriter | None:
        """Returns a writer of the empty cache; None where another one has begun, and this epoch is only read.

        Args:
            filled: what decides which elements will come.
            content: of the filling that a resumed run had begun; it is the same elements once more.
        """
        ...
