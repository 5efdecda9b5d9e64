"""The rows of a block as a loop takes them, and what a first filter sees of each.

A filter sees each element as others may see it, which is another row for it alone. Where rows are made for it, all those of a block
would push each other out of the processor's cache, and Python's collector of garbage would go through all of them several times:
a third of the time of rows with two arrays. So they are made a few at a time, as the loop comes to them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
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
        few_at_a_time = len(payload) > _FEW and _is_cut_quickly(payload) and not are_fixed(_first(payload))
        if kinds.count("filter") == len(kinds):
            rows = _seen(payload, few_at_a_time=few_at_a_time)
            is_fixed = len(kinds) == 1 or (not few_at_a_time and are_fixed(rows))
            return cls(head._replace(is_fixed=is_fixed), rows, ())
        if few_at_a_time:
            rows = payload.rows() if isinstance(payload, Rows) else _Made(payload, _rows_of)
        elif are_fixed(rows := payload.rows()):
            return cls(head._replace(is_fixed=True), rows, ())
        return cls(head, rows, _seen(payload, few_at_a_time=few_at_a_time))


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
        rows_of: makes those of a part of it.
    """

    def __init__(self, payload: Payload, rows_of: Callable[[Payload], Sequence[Element]]) -> None:
        self._payload = payload
        self._rows_of = rows_of

    def __len__(self) -> int:
        return len(self._payload)

    def __getitem__(self, index: Any) -> Any:
        chosen = range(len(self))[index]
        if isinstance(chosen, range):
            return self._rows_of(self._payload.subset(chosen))
        return self._rows_of(self._payload.subset(range(chosen, chosen + 1)))[0]

    def __iter__(self) -> Iterator[Element]:
        # A row is held by the list that it lies in, as if all lay in one: who counts references counts the same.
        return itertools.chain.from_iterable(self[start : start + _FEW] for start in range(0, len(self), _FEW))


def _is_cut_quickly(payload: Payload) -> bool:
    """Returns whether a part of it costs what a part should, and nothing is made twice that was made once."""
    if isinstance(payload, Zipped):
        return all(map(_is_cut_quickly, payload.parts))
    return isinstance(payload, (Columns, Indexed, Rows))


def _first(payload: Payload) -> Sequence[Element]:
    return payload.rows()[:1] if isinstance(payload, Rows) else payload.subset(range(1)).rows()


def _rows_of(payload: Payload) -> Sequence[Element]:
    return payload.rows()


def _seen(payload: Payload, *, few_at_a_time: bool) -> Sequence[Element]:
    """Returns the rows as a filter sees them."""
    if not few_at_a_time:
        return protected(payload).rows()
    if isinstance(payload, Rows):
        return _Made(payload, _seen_of)
    return _Made(protected(payload), _rows_of)


def _seen_of(payload: Payload) -> Sequence[Element]:
    return protected(payload).rows()
