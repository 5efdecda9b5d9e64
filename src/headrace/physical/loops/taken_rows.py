"""The rows of a block as a loop takes them, and what a first filter sees of each.

A filter sees each element as others may see it, which is another row for it alone. Where rows are made for it, all those of a block
would push each other out of the processor's cache, and Python's collector of garbage would go through all of them several times:
a third of the time of rows with two arrays. So they are made a few at a time, as the loop comes to them.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from headrace.blocks.columns import Columns
from headrace.blocks.handing_out import protected
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.elements.ownership import FIXED
from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.physical.loops.text import Head, Kind

__all__ = ["Taken", "are_fixed"]

# So many at a time: twice or half as many cost the same.
_FEW: Final = 128


@frozen
class Taken:
    """The rows of a block, as a loop takes them.

    Attributes:
        head: what is known of them.
        rows: them.
        seen: what a first filter sees of each, where that is another list.
    """

    head: Head
    rows: Sequence[Element]
    seen: Sequence[Element]

    @classmethod
    def of(cls, payload: Payload, kinds: Sequence[Kind]) -> Taken:
        """Returns those of a payload for links that do this; what a filter does to an element, nobody after it sees."""
        has_tuples = payload.has_tuples
        width = None
        if has_tuples and isinstance(payload, (Columns, Zipped)):
            width = payload.treedef.num_children
        head = Head(has_tuples, width)
        if kinds[0] != "filter":
            return cls(head, payload.rows(), ())
        only_filters = kinds.count("filter") == len(kinds)
        if len(payload) > _FEW and _is_cut_quickly(payload) and not are_fixed(_first(payload)):
            made = _Made(payload, only_seen=only_filters)
            return cls(head._replace(is_fixed=len(kinds) == 1), made, ())
        if only_filters:
            rows = protected(payload).rows()
            return cls(head._replace(is_fixed=len(kinds) == 1 or are_fixed(rows)), rows, ())
        rows = payload.rows()
        if are_fixed(rows):
            return cls(head._replace(is_fixed=True), rows, ())
        return cls(head, rows, protected(payload).rows())

    def read(self, start: int = 0) -> tuple[Iterator[Element], Callable[[], Element]]:
        """Returns an iterator over the rows from one on, and what gives for each, in its turn, what a first filter sees of it."""
        if isinstance(self.rows, _Made):
            return self.rows.read(start)
        return _from(self.rows, start), _from(self.seen, start).__next__


def are_fixed(rows: Sequence[Element]) -> bool:
    """Returns whether nobody can change any of them: they are leaves that are so, or flat tuples of such."""
    first = rows[0]  # mostly it is that which is not
    if type(first) is not tuple:
        return FIXED.issuperset(map(type, rows))
    if not FIXED.issuperset(map(type, first)):
        return False
    return set(map(type, rows)) == {tuple} and FIXED.issuperset(map(type, itertools.chain.from_iterable(rows)))


class _Made(Sequence[Element]):
    """Rows that are made anew whenever somebody goes through them, a few at a time.

    Args:
        payload: what they are made of.
        only_seen: whether they are what filters see, as nobody else looks at them.
    """

    def __init__(self, payload: Payload, *, only_seen: bool) -> None:
        self._payload = payload
        self._only_seen = only_seen

    def __len__(self) -> int:
        return len(self._payload)

    def __getitem__(self, index: Any) -> Any:
        chosen = range(len(self))[index]
        part = chosen if isinstance(chosen, range) else range(chosen, chosen + 1)
        rows = (_seen_of if self._only_seen else _rows_of)(self._payload.subset(part))
        return rows if part is chosen else rows[0]

    def __iter__(self) -> Iterator[Element]:
        return self.read(0)[0]

    def read(self, start: int) -> tuple[Iterator[Element], Callable[[], Element]]:
        """Returns an iterator over them from one on, and what gives for each, in its turn, what a filter sees of it.

        Both are made together: where there is no memory for some, neither is ahead of the other.
        """
        seen: deque[Element] = deque()
        return itertools.chain.from_iterable(self._pieces(start, seen)), seen.popleft

    def _pieces(self, start: int, seen: deque[Element]) -> Iterator[Iterable[Element]]:
        # A row is held by the list that it lies in and by nobody else, as if all lay in one: who counts references counts the same.
        there = _from(self._payload.rows(), start) if isinstance(self._payload, Rows) else None
        for begin in range(start, len(self), _FEW):
            part = self._payload.subset(range(begin, min(len(self), begin + _FEW)))
            if self._only_seen:
                yield _seen_of(part)
                continue
            rows = itertools.islice(there, _FEW) if there is not None else part.rows()
            seen.extend(_seen_of(part))
            del part
            yield rows


def _is_cut_quickly(payload: Payload) -> bool:
    """Returns whether a part of it costs what a part should, and nothing is made twice that was made once."""
    if isinstance(payload, Zipped):
        return all(map(_is_cut_quickly, payload.parts))
    return isinstance(payload, (Columns, Indexed, Rows))


def _first(payload: Payload) -> Sequence[Element]:
    return payload.rows()[:1] if isinstance(payload, Rows) else payload.subset(range(1)).rows()


def _rows_of(payload: Payload) -> list[Element]:
    return payload.rows()


def _seen_of(payload: Payload) -> list[Element]:
    return protected(payload).rows()


def _from(rows: Sequence[Element], start: int) -> Iterator[Element]:
    """Returns an iterator over rows from one on; mostly the first, where nothing needs to count."""
    return itertools.islice(rows, start, None) if start else iter(rows)
