"""The form of messages that differ in nothing but their values: where these are is counted, and not looked for.

It is learned from one message of a batch of one layout. What always holds: messages of a form are of its layout, as each byte of theirs
between the values, and each length, is compared with what it has to be; where one of them is not, the form says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import numpy as np

from headrace.io.examples.layout import Column, Joined, Layout, Length, Place, Unlike, parts_of
from headrace.io.examples.values import runs

__all__ = ["Form", "RecentForm", "Trials"]

# A length has seven bits in a byte, and says in the eighth whether it goes on.
_LENGTH_BITS: Final = 7
_GOES_ON: Final = 0x80
# Values that vary are taken out of all bytes, which takes longer than to look for features that have more of these each.
_LONG_BYTES: Final = 256
# Where the values are most of the bytes, only those between them are compared.
_MOSTLY_FRAMES: Final = 2


class _Varying(NamedTuple):
    """A feature whose values have more bytes in some messages than in others; places are those in a message without such values."""

    length_at: int  # how many bytes its values have
    values_at: int


class Form:
    """Messages of one layout in which the values of most features have as many bytes in each.

    Args:
        message: one of them.
        varying: the features of whose values others may have more bytes, or fewer.

    Attributes:
        lists: as of its layout.
        varying: as given.

    Raises:
        Unlike: it has no form.
    """

    def __init__(self, message: bytes, layout: Layout, varying: AbstractSet[str]) -> None:
        whole, *parts = parts_of(message)
        self.lists, self.varying = layout.lists, varying
        self._outer = whole.lengths[0]
        self._inside = len(whole.head)
        kept, mask = bytearray(whole.head), bytearray(b"\xff" * len(whole.head))
        if varying:
            mask[self._outer.at : self._inside] = bytes(self._inside - self._outer.at)
        self._values: list[_Varying | slice] = []
        lengths: list[tuple[int, int, int]] = []
        for part in parts:
            begun = len(kept)
            kept += part.head
            mask += b"\xff" * len(part.head)
            if part.name not in varying:
                self._values.append(slice(len(kept), len(kept) + part.length))
                kept += bytes(part.length)
                mask += bytes(part.length)
                continue
            *counting, own = _single(part.lengths)
            number = sum(isinstance(values, _Varying) for values in self._values)
            self._values.append(_Varying(begun + own.at, len(kept)))
            for length in part.lengths:
                mask[begun + length.at] = 0
            lengths += [(begun + length.at, number, length.counted) for length in counting]
        if varying and len(kept) > _LONG_BYTES * len(parts):
            raise Unlike
        self._lengths_at, self._numbers, self._counted = np.array(lengths, np.int64).reshape(-1, 3).T
        self._length = len(kept)
        compared = np.flatnonzero(np.frombuffer(bytes(mask), np.uint8))
        self._compared = slice(None) if len(compared) * _MOSTLY_FRAMES > len(kept) else compared
        self._mask = np.frombuffer(bytes(mask), np.uint8)[self._compared]
        self._fixed = np.frombuffer(bytes(kept), np.uint8)[self._compared] & self._mask

    def places(self, joined: Joined) -> list[Place | Column] | None:
        """Returns where messages have the values of each feature; None where not all of them have this form."""
        if not self.varying:
            return self._columns_of(joined) if joined.length == self._length else None
        found = self._varying_places(joined)
        lengths = np.stack([place.lengths for place in found], axis=1)
        if not self._are_of_messages(joined, lengths):
            return None
        rows = self._without(joined, found, lengths)
        if not self._fits(rows) or not self._says(rows, joined, lengths):
            return None
        varying = iter(found)
        return [Column(rows[:, values]) if isinstance(values, slice) else next(varying) for values in self._values]

    def _columns_of(self, joined: Joined) -> list[Place | Column] | None:
        """Returns the same for messages that have as many bytes as they have to where nothing varies."""
        rows: np.ndarray = np.ndarray((joined.count, self._length), np.uint8, joined.whole)
        columns: list[Place | Column] = [
            Column(rows[:, values]) for values in self._values if isinstance(values, slice)
        ]
        return columns if self._fits(rows) else None

    def _fits(self, rows: np.ndarray) -> bool:
        """Returns whether all between the values is as it was, but for lengths that vary."""
        return bool(((rows[:, self._compared] & self._mask) == self._fixed).all())

    def _varying_places(self, joined: Joined) -> list[Place]:
        """Returns where the values that vary would be, as the lengths before them say."""
        flat, shift, found = joined.flat, joined.starts, list[Place]()
        for values in self._values:
            if isinstance(values, _Varying):
                length = flat.take(values.length_at + shift, mode="clip").astype(np.int64)
                found.append(Place(values.values_at + shift, length))
                shift = shift + length
        return found

    def _are_of_messages(self, joined: Joined, lengths: np.ndarray) -> bool:
        """Returns whether messages of such lengths have as many bytes as these, and each length has one byte."""
        counted = lengths[:, self._numbers] + self._counted
        is_short = not lengths.size or int(max(lengths.max(), counted.max())) < _GOES_ON
        return is_short and bool((joined.starts + self._length + lengths.sum(axis=1) == joined.ends).all())

    def _without(self, joined: Joined, found: Sequence[Place], lengths: np.ndarray) -> np.ndarray:
        """Returns the bytes of each message but those of values that vary."""
        starts = np.stack([place.starts for place in found], axis=1)
        is_kept = np.ones(int(joined.ends[-1]), bool)
        is_kept[runs(starts.ravel(), lengths.ravel())] = False
        rows: np.ndarray = joined.flat[: len(is_kept)][is_kept].reshape(joined.count, self._length)
        return rows

    def _says(self, rows: np.ndarray, joined: Joined, lengths: np.ndarray) -> bool:
        """Returns whether the lengths that count others agree with those."""
        if (rows[:, self._lengths_at] != lengths[:, self._numbers] + self._counted).any():
            return False
        left = joined.ends - joined.starts - self._inside
        for at in range(self._outer.at, self._inside):
            goes_on = _GOES_ON if at < self._inside - 1 else 0
            if (rows[:, at] != (left & (_GOES_ON - 1) | goes_on)).any():
                return False
            left = left >> _LENGTH_BITS
        return not left.any()


def _single(lengths: Sequence[Length]) -> Sequence[Length]:
    """Returns the lengths, each of which has one byte.

    Raises:
        Unlike: one has more.
    """
    if any(length.width > 1 for length in lengths):
        raise Unlike
    return lengths


# Batches until what was for nothing is tried once more, at most.
_LONGEST_WAIT: Final = 1024


class Trials:
    """When to try what may be for nothing: with the next batch, and twice as many batches later each time that it was for nothing."""

    def __init__(self) -> None:
        self._left, self._wait = 0, 1

    def is_due(self) -> bool:
        """Returns whether it is to be tried with this batch."""
        self._left -= 1
        return self._left < 0

    def failed(self) -> None:
        """Notes that it was for nothing."""
        self._left, self._wait = self._wait, min(2 * self._wait, _LONGEST_WAIT)

    def succeeded(self) -> None:
        """Notes that it was not."""
        self._left, self._wait = 0, 1


class RecentForm:
    """The form of the messages of the latest batch, if they had one; of threads that use it at once each may lose what another learned."""

    def __init__(self) -> None:
        self._form: Form | None = None
        self._trials = Trials()  # to learn one

    def found(self, joined: Joined) -> tuple[Form, Sequence[Place | Column]] | None:
        """Returns the form, and where messages have their values; None where they have another one."""
        form = self._form
        places = None if form is None else form.places(joined)
        if form is None or places is None:
            return None
        self._trials.succeeded()
        return form, places

    def learn(self, message: bytes, layout: Layout, places: Sequence[Place]) -> None:
        """Learns the form of messages of a layout that were looked for, of which this is one."""
        if not self._trials.is_due():
            return
        self._trials.failed()  # until it is found
        before = self._form
        names = {name for name, place in zip(layout.lists, places, strict=True) if not isinstance(place.lengths, int)}
        if before is not None and before.lists == layout.lists:
            names |= before.varying
        try:
            self._form = Form(message, layout, names)
        except Unlike:
            self._form = None
