"""The values of a feature in many messages of one layout: all of them in one array, and how many each message has."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from headrace.elements.structure import object_array
from headrace.io.examples.layout import Column, Joined, Place, Unlike

__all__ = ["Values", "check_values", "numbers_at", "read_values", "runs"]

# Longer ones are not copied twice, which is the quicker way for short ones.
_SHORT_BYTES: Final = 64
# An int64 has at most so many bytes in a message, and of the last one a single bit.
_INT64_BYTES: Final = 10
# The digits of as many fit into 32 bits.
_UINT32_BYTES: Final = 4
# By how many bytes a number has: which bits of these are its digits.
_DIGITS: Final = np.tri(_INT64_BYTES, _INT64_BYTES - 1, -1, dtype=np.uint8) * np.uint8(0x7F)
# What a bit of each of them but the last one counts.
_WEIGHTS: Final = 128 ** np.arange(_INT64_BYTES - 1, dtype=np.int64)


class Values(NamedTuple):
    """The values of many messages, one message after the other.

    Attributes:
        flat: all values.
        counts: how many of them each message has: one number where that is the same.
    """

    flat: np.ndarray
    counts: np.ndarray | int

    def are(self, count: int) -> bool:
        """Returns whether each message has so many of them."""
        return self.counts == count if isinstance(self.counts, int) else bool((self.counts == count).all())

    def counts_of(self, messages: int) -> np.ndarray:
        """Returns how many of them each of so many messages has."""
        return np.full(messages, self.counts) if isinstance(self.counts, int) else self.counts


def runs(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Returns the numbers of runs, one after the other: each from its start on, as many as it is long."""
    offsets = starts - (lengths.cumsum() - lengths)
    numbers: np.ndarray = np.repeat(offsets, lengths)
    numbers += np.arange(len(numbers))
    return numbers


def read_values(joined: Joined, place: Place | Column, kind: str) -> Values:
    """Returns the values in a list of this kind.

    Raises:
        Unlike: those of a message are damaged.
    """
    return _READERS[kind](joined, place)


def check_values(joined: Joined, place: Place | Column, kind: str) -> None:
    """Looks at values that nobody asked for.

    Raises:
        Unlike: those of a message are damaged.
    """
    if kind != "bytes_list":
        read_values(joined, place, kind)


def _bytes(joined: Joined, place: Place | Column) -> Values:
    rows = joined.rows_at(place)
    if rows is None:
        values = _cut_out(joined, place)
    elif rows.shape[1] > _SHORT_BYTES:
        values = list(map(np.ndarray.tobytes, rows))
    elif rows.shape[1]:
        values = np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel().tolist()
    else:
        values = [b""] * len(rows)
    return Values(object_array(values), 1)


def _cut_out(joined: Joined, place: Place | Column) -> list[bytes]:
    """Returns the bytes of the values of each message, where they are more in some than in others."""
    assert isinstance(place, Place)  # a column has rows
    ends = (place.starts + place.lengths).tolist()
    return [joined.whole[start:end] for start, end in zip(place.starts.tolist(), ends, strict=True)]


def _payload(joined: Joined, place: Place | Column) -> tuple[np.ndarray, np.ndarray]:
    """Returns the bytes of all values, and how many each message has."""
    rows = joined.rows_at(place)
    if rows is not None:
        return rows.ravel(), np.full(*rows.shape)
    assert isinstance(place, Place)  # as above
    assert not isinstance(place.lengths, int)  # as above
    return np.frombuffer(bytearray().join(_cut_out(joined, place)), np.uint8), place.lengths


def _floats(joined: Joined, place: Place | Column) -> Values:
    rows = joined.rows_at(place)
    flat, lengths = _payload(joined, place) if rows is None else (rows.ravel(), rows.shape[1])
    if not Values(flat, lengths % 4).are(0):
        raise Unlike
    return Values(flat.view("<f4").astype(np.float32, copy=False), lengths // 4)


def _int64s(joined: Joined, place: Place | Column) -> Values:
    alone = _one_each(joined, place)
    if alone is not None:
        return Values(alone, 1)
    flat, lengths = _payload(joined, place)
    is_last = flat < 0x80
    if is_last.all():  # small numbers
        return Values(flat.astype(np.int64), lengths)
    ends = lengths.cumsum()
    if not is_last[ends[lengths > 0] - 1].all():
        raise Unlike
    last = np.flatnonzero(is_last)
    return Values(_numbers(flat, last), np.diff(last.searchsorted(ends), prepend=0))


def _one_each(joined: Joined, place: Place | Column) -> np.ndarray | None:
    """Returns the number of each message, where each has one, of fewer bytes than the longest; else None."""
    rows = joined.rows_at(place)
    if rows is not None:
        width = rows.shape[1]
        if not 0 < width < _INT64_BYTES:
            return None
        goes_on = rows >= 0x80
        if goes_on[:, -1].any() or not goes_on[:, :-1].all():
            return None
        numbers: np.ndarray = (rows & 0x7F) @ _WEIGHTS[:width]
        return numbers
    assert isinstance(place, Place)  # a column has rows
    assert not isinstance(place.lengths, int)  # as above
    return numbers_at(joined, place.starts, place.lengths)


def numbers_at(joined: Joined, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray | None:
    """Returns the numbers in these places, where each has one, of fewer bytes than the longest; else None."""
    width = int(lengths.max())
    if width >= _INT64_BYTES or not lengths.all():
        return None
    rows = joined.windows(starts, width)
    is_last = rows < 0x80
    # The first last byte of each is where its length says, and there is one.
    if (is_last.argmax(axis=1) + 1 != lengths).any() or not is_last.any(axis=1).all():
        return None
    numbers: np.ndarray = (rows & _DIGITS[lengths, :width]) @ _WEIGHTS[:width]
    return numbers


def _numbers(flat: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Returns the numbers whose last bytes are at these places: their digits from the last one on, all numbers at once."""
    widths = np.empty_like(last)
    widths[0] = last[0] + 1
    np.subtract(last[1:], last[:-1], out=widths[1:])
    widest = int(widths.max())
    if widest > _INT64_BYTES:
        raise Unlike
    numbers = flat[last].astype(np.uint32 if widest <= _UINT32_BYTES else np.uint64)
    if widest == _INT64_BYTES and (numbers[widths == widest] > 1).any():
        raise Unlike
    for back in range(1, widest):
        has_more = widths > back  # of others neither the digits nor the place of these count
        numbers <<= has_more * np.uint8(7)
        numbers |= (flat[last - back] & 0x7F) * has_more
    signed: np.ndarray = numbers.astype(np.uint64, copy=False).view(np.int64)
    return signed


_READERS: Final = {"bytes_list": _bytes, "float_list": _floats, "int64_list": _int64s}
