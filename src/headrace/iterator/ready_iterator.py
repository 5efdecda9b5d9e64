"""An iterator whose elements all lie ready when it is made.

Functions read datasets of few elements by the thousand, mostly in one loop or by ``list``, and ask nothing else. So such an iterator
has its elements, and no run: Python's own iterator gives them. When something else is asked, as its state or its figures are, it
becomes what every iterator is, where it stands.

What always holds: who takes elements at that moment, in another thread, in a call that began before, takes them from the same
iterator of Python's, before and after.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, Self

from headrace.blocks.block import Block
from headrace.elements.structure import Element
from headrace.iterator.chained import by_calls
from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.iterator.forked import is_left_to_parent
from headrace.observe.iterators import ITERATORS
from headrace.plan.node import Node

__all__ = ["ReadyIterator"]

_becoming: Final = threading.Lock()


class ReadyIterator(DatasetIterator):
    """One of which nothing was asked but its elements.

    Args:
        plan: what it would run, which is quiet.
        elements: all of them, which are one block of a run.
    """

    def __new__(cls, plan: Node, elements: list[Element]) -> Self:
        """Makes the chain: of one iterator of Python's, with which it ends."""
        self = chain.__new__(cls, rows := iter(elements))
        self._built = plan
        self._rows = rows
        self._block_length = len(elements)
        return self

    def __init__(self, plan: Node, elements: list[Element]) -> None:
        """Does nothing: what an iterator has besides is made when it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which nothing of an iterator's is called
            raise AttributeError(f"{DatasetIterator.__name__!r} object has no attribute {name!r}")
        with _becoming:
            if type(self) is ReadyIterator:
                self._become()
        return getattr(self, name)

    def _become(self) -> None:
        """Becomes what every iterator is."""
        vars(self).update(vars(_Begun(self._built, self._rows, self._block_length)))
        self.__class__ = by_calls(DatasetIterator)  # type: ignore[assignment]  # its chain would not go on from a state
        ITERATORS.begins(self)
        is_left_to_parent(self)


class _Begun(DatasetIterator):
    """One that has begun, and whose elements were taken from an iterator of Python's.

    Args:
        plan: what it runs.
        rows: what was not taken yet.
        length: how many elements there are in all.
    """

    def __init__(self, plan: Node, rows: Iterator[Element], length: int) -> None:
        super().__init__(plan)
        start_s = self._now_s()
        block = self._next_item(length)
        assert isinstance(block, Block)  # of all, as there is but one
        self._rows_of(block, start_s)
        self._rows = rows
        if not operator.length_hint(rows):
            self._end()
