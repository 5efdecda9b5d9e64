"""An iterator over blocks whose elements come without a call of Python's: there is one for each block.

It is an ``itertools.chain``, whose source asks the iterator itself for block after block. Such a chain is over for good once its
source has raised anything, be it the end, but an iterator goes on after a failure, and after its end from a state. From then on it
has another ``__next__``, which is called for each element, and is what it was in all else.
"""

from __future__ import annotations

import functools
import types
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from itertools import chain
from typing import Any, Self

from headrace.elements.structure import Element
from headrace.errors import HeadraceError

__all__ = ["Chained", "by_calls"]


class Chained(chain[Element]):
    """Delivers the elements of blocks one by one."""

    _source: _Source
    _rows: Iterator[Element]  # of the latest block, what was not delivered yet

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Makes the chain; its source does not keep it alive, so that who drops it ends it."""
        source = _Source(by_calls(cls))
        self = super().from_iterable(source)
        assert isinstance(self, cls)  # what `from_iterable` makes
        source.reader = weakref.ref(self)
        self._source = source
        return self

    def _go_on(self) -> None:
        """Has elements come again, also where the chain is over and its source does not know: Ctrl-C came before its first line."""
        if isinstance(self, _ByCalls):
            return
        self._source.is_tried = True
        try:
            chain.__next__(self)
        except StopIteration:
            self.__class__ = self._source.by_calls

    @abstractmethod
    def _next_block(self) -> Iterator[Element]:
        """Returns the elements of the next block, one at least, which are then ``_rows``.

        Raises:
            StopIteration: there is none.
            HeadraceError: it stands in place of the next element.
        """

    @abstractmethod
    def _broke_off(self) -> None:
        """Ends it, as Ctrl-C came, or the engine itself failed."""


class _Source:
    """What a chain asks for one block after the other.

    Args:
        by_calls: the class that its reader has once the chain is over.

    Attributes:
        is_tried: whether it is asked next only to see that it is still asked.
    """

    __slots__ = ("by_calls", "is_tried", "reader")
    reader: weakref.ref[Chained]

    def __init__(self, by_calls: type[Chained]) -> None:
        self.by_calls = by_calls
        self.is_tried = False

    def __iter__(self) -> Iterator[Iterator[Element]]:
        return self

    def __next__(self) -> Iterator[Element]:
        if self.is_tried:
            self.is_tried = False
            return iter((None,))
        reader: Any = self.reader()  # who asks it holds it
        try:
            return reader._next_block()  # type: ignore[no-any-return]  # noqa: SLF001 - of its own file
        # No call before a class changes: Ctrl-C comes after a call, and would leave a chain that is over.
        except (StopIteration, HeadraceError):
            reader.__class__ = self.by_calls
            raise
        except BaseException:
            reader.__class__ = self.by_calls
            reader._broke_off()  # noqa: SLF001 - of its own file
            raise


class _ByCalls(Chained):
    """One whose chain is over."""

    def __next__(self) -> Element:
        try:
            while True:
                for element in self._rows:  # no call of `next`, after which Ctrl-C might come
                    return element
                self._next_block()
        except (StopIteration, HeadraceError):
            raise
        except BaseException:
            self._broke_off()
            raise


@functools.cache
def by_calls(kind: type[Chained]) -> type[Chained]:
    """Returns the class of iterators that were of this one, and whose chain is over."""
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return types.new_class(kind.__name__, (kind, _ByCalls), exec_body=lambda scope: scope.update(names))
