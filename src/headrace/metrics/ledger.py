"""What all pipelines of this process did together: totals of those that have ended, and figures of those that are open.

What always holds: an iterator that ends, at its end, by ``close`` or by an error, is counted once and whole; of one that is dropped before, what it had done when somebody last
looked. Nothing here keeps an iterator, and before somebody asked for metrics nothing is counted. There are at most some hundred names of
pipelines and a thousand of stages: those that come later are counted together as ``other``.
"""

from __future__ import annotations

import threading
import weakref
from typing import Final

from headrace.errors import InvalidArgumentError
from headrace.feed.feed_iterator import FeedIterator
from headrace.iterator import DatasetIterator
from headrace.log import LOG
from headrace.metrics.table import WAITED, Figures, Kind, joined, of_pipeline, of_steps
from headrace.observe.folded import Folded, drained
from headrace.observe.iterators import ITERATORS, Iterators
from headrace.plan.buffering import options_of
from headrace.plan.explain import name_of
from headrace.plan.node import Node
from headrace.processes.snapshot import all_of
from headrace.ranks import current

__all__ = ["LEDGER", "Ledger"]

# Time series are kept by others, who do not like more.
_MOST_PIPELINES: Final = 100
_MOST_STAGES: Final = 1000
_OTHER: Final = "other"

# What of an iterator was counted, and what it says now. What it said later may come first, which then counts nothing.
_Record = tuple[Figures, Figures]
_Iterator = DatasetIterator | FeedIterator


class Ledger(Folded[_Record]):
    """Counts what iterators do, and adds it up.

    Args:
        iterators: those of the process.
    """

    def __init__(self, iterators: Iterators = ITERATORS) -> None:
        super().__init__()
        self._iterators = iterators
        self._counted: weakref.WeakKeyDictionary[_Iterator, Figures] = weakref.WeakKeyDictionary()
        self._totals: Figures = {}
        self._pipelines, self._stages = _Names(_MOST_PIPELINES), _Names(_MOST_STAGES)

    def begin(self) -> None:
        """Counts on from now when iterators have ended; may be called again."""
        if self._iterators.told is None:  # also in a copy of the process, which begins with nothing
            self._folding, self._totals = threading.Lock(), {}
            self._fresh.clear()
            self._counted.clear()
            self._iterators.told = self.ended

    def ended(self, iterator: _Iterator) -> None:
        """Counts the last of an iterator; it may be begun again from a state, and then counts from zero, but for the time of its waiting."""
        counted = self._counted.get(iterator, {})
        figures = self._figures(iterator)
        self.add((counted, figures))
        waited = {key: value for key, value in figures.items() if key[0] is WAITED}
        self._counted[iterator] = waited

    def figures(self) -> Figures:
        """Returns all figures: totals since ``begin``, and gauges of what is open now."""
        gauges: Figures = {}
        for iterator in all_of(self._iterators.begun):
            counted = self._counted.setdefault(iterator, {})  # first: it may end from here on
            if not iterator.is_open:
                continue
            figures = self._figures(iterator)
            self.add((counted, figures))
            joined(gauges, ((*key, value) for key, value in figures.items() if key[0].kind is not Kind.COUNTER))
        self._fold()
        return self._totals | gauges

    def _figures(self, iterator: _Iterator) -> Figures:
        figures: Figures = {}
        try:
            pipeline = iterator.pipeline if isinstance(iterator, FeedIterator) else iterator
            name, rank = self._pipelines.of(name_of(pipeline.built_plan)), _rank(pipeline.built_plan)
            stats = iterator.stats()
            if isinstance(iterator, FeedIterator) or not iterator.is_fed:
                joined(figures, of_steps(stats, name, rank))
            if isinstance(iterator, DatasetIterator):
                joined(figures, of_pipeline(iterator.stats(), name, rank, self._stages.of))
        except Exception as failed:  # noqa: BLE001 - no run fails because somebody looks at it
            LOG.info("an iterator could not be measured: %s", failed)
        return figures

    def _fold_fresh(self) -> None:
        for counted, figures in drained(self._fresh):
            for key, value in figures.items():
                if key[0].kind is not Kind.COUNTER:
                    continue
                more = value - counted.get(key, 0.0)
                if more >= 0:
                    self._totals[key] = self._totals.get(key, 0.0) + more
                    counted[key] = value


class _Names:
    """The first so many names; those that come later are one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        if len(self._known) < self._most:
            self._known.add(name)
        return name if name in self._known else _OTHER


def _rank(plan: Node) -> str:
    options = options_of(plan)
    try:
        return str(current(options.rank, options.world_size).rank)
    except InvalidArgumentError:
        return "0"


LEDGER: Final = Ledger()
