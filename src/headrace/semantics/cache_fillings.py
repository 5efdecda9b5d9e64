"""Which filling of a cache a run goes by: it is one and the same, wherever and however often the run reads the cache.

What a cache gives is decided when an epoch begins to fill it: by the index of that epoch, by what the random operations
above it draw from, and by what the caches above it give. That is a ``Filled``, which a state notes. A run that goes on
from the state reads what is kept only where it is that filling; otherwise it reads what is above the cache once more,
from the same seeds, and keeps it for itself.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final, Protocol

from headrace.caching.memory import MemoryCache
from headrace.caching.store import CachedEpoch, Filled, Store
from headrace.errors import HeadraceError
from headrace.frozen import mutable
from headrace.plan.buffering import Cache
from headrace.plan.node import Node, nodes_of

__all__ = ["Fillings", "Pin", "Randomized"]

State = dict[str, Any]


class Randomized(Protocol):
    """The seeds of a run."""

    @property
    def drawn(self) -> dict[int, int]:
        """The seeds of operations that were given none, by their entropy."""
        ...

    @property
    def entropy(self) -> int:
        """What operations inside functions draw theirs from."""
        ...


@mutable
class Pin:
    """What one cache gives in one run.

    Attributes:
        filled: the filling.
        content: what tells it from others on disk; None in memory, and where nobody has begun to write it.
        own: the filling, where the run itself made it.
    """

    filled: Filled
    content: str | None
    own: CachedEpoch | None = None

    def kept_in(self, store: Store) -> CachedEpoch | None:
        """Returns the filling, if it is there to be read."""
        if self.own is not None:
            return self.own
        kept = store.cached
        return kept if kept is not None and (kept.content, kept.filled) == (self.content, self.filled) else None

    def state(self) -> State:
        """Writes it down as plain data."""
        state = self.filled.state()
        return state if self.content is None else {**state, "content": self.content}

    @classmethod
    def of(cls, state: State) -> Pin:
        """Reads what ``state`` wrote down."""
        return cls(Filled.of(state), state.get("content"))


class Fillings:
    """What each cache of a run gives, from when the run first asks."""

    def __init__(self) -> None:
        self._lock: Final = threading.RLock()  # inner plans are opened by workers
        self._is_restored = False
        # The first of the caches that a function of the plan reads, by the names of what opened it.
        self._inside: Final[dict[str, Pin]] = {}
        self._pins: Final[weakref.WeakKeyDictionary[Store, Pin]] = weakref.WeakKeyDictionary()

    def pin(
        self,
        node: Cache,
        seeds: Randomized,
        epoch: tuple[int, ...],
        *,
        within: Sequence[object] = (),
        state: State | None = None,
    ) -> Pin:
        """Returns what a cache gives, in an epoch of the whole iterator, or from a state on.

        Args:
            node: the cache.
            seeds: of the run.
            epoch: of the whole iterator.
            within: the names of the operations in whose functions the cache stands.
            state: of the cache, where it was saved.
        """
        with self._lock:
            pin = self._pins.get(node.store)
            if state is not None:
                saved = Pin.of(state)
                if pin is None or pin.filled != saved.filled or saved.content not in (None, pin.content):
                    self._pins[node.store] = pin = saved
                return pin
            # What is on disk may be written by another process meanwhile, which is why this one does not.
            if pin is None or (pin.content is None and not isinstance(node.store, MemoryCache)):
                self._pins[node.store] = pin = self._first(node, seeds, epoch, within)
            return pin

    def _first(self, node: Cache, seeds: Randomized, epoch: tuple[int, ...], within: Sequence[object]) -> Pin:
        """Returns what a cache gives where neither the run nor its state has read it."""
        name = "/".join(map(str, within))
        if within and self._is_restored:
            # What the run that was saved had read there; before that, what it would have filled.
            found = self._inside.get(name)
            return Pin(found.filled, found.content) if found else Pin(self._filled(node, seeds, epoch), None)
        kept = node.store.cached
        pin = Pin(kept.filled, kept.content) if kept is not None else Pin(self._filled(node, seeds, epoch), None)
        if within:
            self._inside.setdefault(name, pin)
        return pin

    def _filled(self, node: Cache, seeds: Randomized, epoch: tuple[int, ...]) -> Filled:
        """Returns what the run fills the cache with."""
        above = node.above
        drawn = tuple(seeds.drawn[entropy] for entropy in above.unseeded)
        caches = tuple(self.pin(cache, seeds, epoch).filled for cache in above.caches)
        return Filled(epoch, drawn, seeds.entropy if above.opens_plans else None, caches)

    def above(self, node: Cache, filled: Filled) -> Fillings:
        """Returns the fillings with which a cache is filled again."""
        wanted = dict(zip((cache.store for cache in node.above.caches), filled.caches, strict=False))
        with self._lock:
            if all(store in self._pins and self._pins[store].filled == one for store, one in wanted.items()):
                return self
        again = Fillings()
        for store, one in wanted.items():
            kept = store.cached
            again._pins[store] = Pin(one, kept.content if kept is not None and kept.filled == one else None)
        return again

    def state(self, plan: Node, seeds: Randomized, epoch: tuple[int, ...]) -> State | None:
        """Writes down what each of the caches gives, as plain data; None where there are none."""
        found: list[State | None] = []
        for node in _caches_of(plan):
            try:
                found.append(self.pin(node, seeds, epoch).state())
            except HeadraceError:  # of a folder: the reader of the cache raises it
                found.append(None)
        with self._lock:
            inside = {name: pin.state() for name, pin in self._inside.items()}
        return {"plan": found, "inside": inside} if found or inside else None

    @classmethod
    def restored(cls, plan: Node, state: State | None) -> Fillings:
        """Returns the fillings of the run that saved a state."""
        fillings = cls()
        fillings._is_restored = True
        if state is not None:
            for node, saved in zip(_caches_of(plan), state["plan"], strict=True):
                if saved is not None:
                    fillings._pins[node.store] = Pin.of(saved)
            fillings._inside.update({name: Pin.of(saved) for name, saved in state["inside"].items()})
        return fillings


def _caches_of(plan: Node) -> list[Cache]:
    """Lists the caches of a plan, in its order."""
    return [node for node in nodes_of(plan) if isinstance(node, Cache)]
