"""What the caches of a plan give that runs in another process."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Final, Protocol

from headrace.blocks.cursor import State
from headrace.plan.node import Node
from headrace.processes.host import Gone
from headrace.semantics.cache_fillings import Fillings, Randomized

__all__ = ["RemoteFillings"]


class TellsCaches(Protocol):
    """A run, as far as its caches are asked for."""

    @property
    def is_closed(self) -> bool:
        """Whether it has ended, and has told all that it will."""
        ...

    def caches(self) -> State | None:
        """Returns what its caches give."""
        ...


class RemoteFillings(Fillings):
    """What the caches of a plan give that runs in another process.

    Args:
        saved: what they gave where a state was saved.
        is_restored: whether there is such a state.
    """

    def __init__(self, saved: State | None, *, is_restored: bool) -> None:
        super().__init__()
        self.is_restored: Final = is_restored
        self.saved: State | None = saved
        self._run: Callable[[], TellsCaches | None] = lambda: None
        self._told_at_end: Callable[[], State | None] | None = None

    def state(self, plan: Node, seeds: Randomized, epoch: tuple[int, ...]) -> State | None:
        """Asks for them; None where there are none."""
        self.settle()
        return self.saved

    def follow(self, run: TellsCaches) -> None:
        """Asks a run from now on."""
        self._run = weakref.ref(run)  # which has these fillings

    def settle_later(self, told: Callable[[], State | None]) -> None:
        """Has them be what a run told at its end, or raises ``Gone`` where it died before."""
        self._told_at_end = told

    def settle(self) -> None:
        """Asks for them while the process has them."""
        if (told := self._told_at_end) is not None:
            self._told_at_end = None
            with contextlib.suppress(Gone):
                self.saved = told()
        run = self._run()
        if run is not None and not run.is_closed:
            self.saved = run.caches()
