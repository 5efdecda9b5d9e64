"""The values of a feature in many messages of one layout: all of them in one array, and how many each message has."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from headrace.elements.structure import object_array
from headrace.io.examples.layout import Joined, Place, Unlike

__all__ = ["Values", "check_values", "read_values", "runs"]

# To copy longer ones twice takes longer than to cut out one after the other.
_SHORT_BYTES: Final = 64
# An int64 has at most so many bytes in a message, and of the last one a single bit.
_INT64_BYTES: Final = 10
# What a bit of each of them but the last one counts.
_WEIGHTS: Final = 128 ** np.arange(_INT64_BYTES - 1, dtype=np.int64)


class Values(NamedTuple):
    """The values of many messages, one message after the other.

    Attributes:
        flat: all values.
        counts: how many of them each message has.
    """

    flat: np.ndarray
    counts: np.ndarray


def runs(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Returns the numbers of runs, one after the other: each from its start on, as many as it is long."""
    offsets = starts - (lengths.cumsum() - lengths)
    numbers: np.ndarray = np.repeat(offsets, lengths)
    numbers += np.arange(len(numbers))
    return numbers


def read_values(joined: Joined, place: Place, kind: str) -> Values:
    """Returns the values in a list of this kind.

    Raises:
        Unlike: those of a message are damaged.
    """
    return _READERS[kind](joined, place)


def check_values(joined: Joined, place: Place, kind: str) -> None:
    """Looks at values that nobody asked for.

    Raises:
        Unlike: those of a message are damaged.
    """
    if kind != "bytes_list":
        read_values(joined, place, kind)


def _bytes(joined: Joined, place: Place) -> Values:
    if isinstance(place.lengths, int) and 0 < place.lengths <= _SHORT_BYTES:
        values = joined.values_at(place).copy().view(f"V{place.lengths}").ravel().tolist()
    else:
        whole, starts = joined.whole, place.starts.tolist()
        ends = (place.starts + place.lengths).tolist()
        values = [whole[start:end] for start, end in zip(starts, ends, strict=True)]
    return Values(object_array(values), np.ones(len(values), np.int64))


def _payload(joined: Joined, place: Place) -> tuple[np.ndarray, np.ndarray]:
    """Returns the bytes of all values, and how many each message has."""
    if isinstance(place.lengths, int):
        lengths = np.full(len(place.starts), place.lengths)
        return joined.values_at(place).ravel(), lengths
    return np.frombuffer(joined.whole, np.uint8)[runs(place.starts, place.lengths)], place.lengths


def _floats(joined: Joined, place: Place) -> Values:
    flat, lengths = _payload(joined, place)
    if (lengths % 4).any():
        raise Unlike
    return Values(flat.view("<f4").astype(np.float32, copy=False), lengths // 4)


def _int64s(joined: Joined, place: Place) -> Values:
    alone = _one_each(joined, place)
    if alone is not None:
        return Values(alone, np.ones(len(alone), np.int64))
    flat, lengths = _payload(joined, place)
    is_last = flat < 0x80
    if is_last.all():  # small numbers
        return Values(flat.astype(np.int64), lengths)
    before = np.zeros(len(flat) + 1, np.int64)
    np.cumsum(is_last, out=before[1:])
    ends = lengths.cumsum()
    if not is_last[ends[lengths > 0] - 1].all():
        raise Unlike
    return Values(_numbers(flat, np.flatnonzero(is_last)), before[ends] - before[ends - lengths])


def _one_each(joined: Joined, place: Place) -> np.ndarray | None:
    """Returns the number of each message, where each has one, of as many bytes as the others; else None."""
    width = place.lengths
    if not isinstance(width, int) or not 0 < width < _INT64_BYTES:
        return None
    rows = joined.values_at(place)
    goes_on = rows >= 0x80
    if goes_on[:, -1].any() or not goes_on[:, :-1].all():
        return None
    numbers: np.ndarray = (rows & 0x7F) @ _WEIGHTS[:width]
    return numbers


def _numbers(flat: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Returns the numbers whose last bytes are at these places."""
    first = np.empty_like(last)
    first[0] = 0
    first[1:] = last[:-1] + 1
    widths = last - first
    if (widest := int(widths.max())) >= _INT64_BYTES:
        raise Unlike
    numbers = (flat[first] & 0x7F).astype(np.uint64)
    going_on = np.arange(len(first))
    for index in range(1, widest + 1):
        going_on = going_on[widths[going_on] >= index]
        digits = flat[first[going_on] + index]
        if index == _INT64_BYTES - 1 and (digits > 1).any():
            raise Unlike
        numbers[going_on] |= (digits & 0x7F).astype(np.uint64) << np.uint64(7 * index)
    signed: np.ndarray = numbers.view(np.int64)
    return signed


_READERS: Final = {"bytes_list": _bytes, "float_list": _floats, "int64_list": _int64s}
