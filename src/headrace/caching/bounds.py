"""Which element is the first that a cache cannot keep: found one by one, so that it is the same one however they come.

``max_bytes`` is compared with what the elements hold, not with the size of a file, which depends on how they came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload
from headrace.caching.store import CannotKeep
from headrace.elements.structure import Element, nbytes_of
from headrace.errors import InvalidArgumentError, ResourceExhaustedError

__all__ = ["add_storable", "rows_within", "too_large"]

# Of objects, texts and records each may hold another number of bytes.
_ALIKE: Final = frozenset("biufcmM")


def rows_within(elements: Payload, room: int) -> tuple[int, int]:
    """Returns how many of the elements, from the first on, have room in ``room`` bytes, and how many bytes they hold.

    Example:
        >>> from headrace.blocks.payload import Rows
        >>> from headrace.caching.bounds import rows_within
        >>> rows_within(Rows([b"ab", b"cde", b"f"]), 5)
        (2, 5)
    """
    if isinstance(elements, Columns) and all(array.dtype.kind in _ALIKE for array in elements.arrays):
        each = nbytes_of(elements.subset(range(1)).rows()[0])
        count = min(len(elements), room // each) if each else len(elements)
        return count, count * each
    nbytes = 0
    for number, element in enumerate(elements.rows()):
        size = nbytes_of(element)
        if nbytes + size > room:
            return number, nbytes
        nbytes += size
    return len(elements), nbytes


def add_storable(
    elements: Payload, origin: Origin, extend: Callable[[Sequence[Element]], bool], add: Callable[[Element], None]
) -> None:
    """Adds elements to what a file will keep.

    Args:
        elements: they.
        origin: where they come from.
        extend: adds all of them, or returns False; then they are added one by one.
        add: adds one, or says why it cannot be stored.

    Raises:
        CannotKeep: the first of them that cannot be stored.
    """
    rows = elements.rows()
    if extend(rows):
        return
    for number, element in enumerate(rows):
        try:
            add(element)
        except InvalidArgumentError as error:
            raise CannotKeep(error.located(stage=None, origin=origin.describe(number)), number) from None


def too_large(limit: int, count: int) -> ResourceExhaustedError:
    """Returns the error of the first element for which there is no room.

    Args:
        limit: ``max_bytes``.
        count: how many elements stand before it.
    """
    return ResourceExhaustedError(
        f"with it the elements need more than max_bytes={limit:,} (there is room for the first {count:,}), so nothing is "
        "kept in this epoch; give a larger max_bytes, or cache a part: take(k).cache()"
    )
