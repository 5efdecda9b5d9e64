"""Iterators whose elements all lie ready when they are made.

Functions read datasets of few elements by the thousand, mostly in one loop or by ``list``, and ask nothing else. So such an iterator
has its elements, and no run: Python's own iterator gives them. When something else is asked, as its state or its figures are, it
becomes what every iterator is, where it stands.

What always holds: who takes elements at that moment, in another thread, in a call that began before, takes them from the same
iterator of Python's, before and after.
"""

from __future__ import annotations

import operator
import os
import threading
from itertools import chain
from typing import Any, ClassVar, Final, Self

from headrace.blocks.block import Block
from headrace.blocks.payload import Payload
from headrace.iterator.chained import by_calls
from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.iterator.forked import is_left_to_parent
from headrace.observe.iterators import ITERATORS
from headrace.plan.node import Node

__all__ = ["Ready", "ReadyIterator"]


class _Becoming:
    """What one thread at a time has that lets an iterator become another.

    A garbage collection may come in the middle, and with it somebody's code that asks another such iterator. In a copy of the process
    nobody would give it back.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def begin_anew(self) -> None:
        """Takes it from whichever thread of another process had it."""
        self.lock = threading.RLock()


_BECOMING: Final = _Becoming()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BECOMING.begin_anew)


class Ready(DatasetIterator):
    """One of which nothing was asked but its elements.

    Args:
        plan: what it would run, which is quiet.
        payload: all of its elements, which are one block of a run.
    """

    becomes: ClassVar[type[DatasetIterator]]

    def __new__(cls, plan: Node, payload: Payload) -> Self:
        """Makes the chain: of one iterator of Python's, with which it ends."""
        elements = cls._rows_in(payload)
        self = chain.__new__(cls, rows := iter(elements))
        self._built = plan
        self._rows = rows
        self._block_length = len(elements)
        return self

    def __init__(self, plan: Node, payload: Payload) -> None:
        """Does nothing: what an iterator has besides is made when it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which nothing of an iterator's is called
            raise AttributeError(f"{self.becomes.__name__!r} object has no attribute {name!r}")
        with _BECOMING.lock:
            if isinstance(self, Ready):
                self._become()
        return getattr(self, name)

    def _become(self) -> None:
        """Becomes what every iterator is."""
        full = self.becomes(self._built)
        start_s = full._now_s()  # noqa: SLF001 - of its own class, as below
        block = full._next_item(self._block_length)  # noqa: SLF001
        assert isinstance(block, Block)  # of all, as there is but one
        full._rows_of(block, start_s)  # noqa: SLF001
        full._rows = self._rows  # noqa: SLF001
        if not operator.length_hint(self._rows):
            full.close()
        vars(self).update(vars(full))
        self.__class__ = by_calls(self.becomes)  # type: ignore[assignment]  # its chain would not go on from a state
        ITERATORS.begins(self)
        is_left_to_parent(self)


class ReadyIterator(Ready):
    """Becomes a ``DatasetIterator``."""

    becomes = DatasetIterator
