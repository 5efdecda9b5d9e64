"""Messages that have other features from one to the next, or in another order: their entries, found by their lengths, all at once.

What always holds: entries are those that protobuf finds, as each tag and each length is compared with what it has to be; where one of
them is not written as they mostly are, nothing is said of the batch.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from headrace.io.examples.layout import Joined, Place, Unlike
from headrace.io.examples.values import Values, check_values, numbers_at, read_values

__all__ = ["Entries", "entries_in"]

_MESSAGE: Final = 0x0A  # the tag of what an entry, a key, and the values of a list begin with
_VALUE: Final = 0x12  # of an entry's feature
_GOES_ON: Final = 0x80
_LENGTH_BYTES: Final = 4
_FLOAT_BYTES: Final = 4
# Keys are compared in words of so many bytes.
_WORD: Final = 8
# By the list of a feature: its tag.
_TAGS: Final = {"bytes_list": 0x0A, "float_list": 0x12, "int64_list": 0x1A}


class Entries:
    """The features of many messages, those that are asked for in the order of their numbers and of the messages.

    Args:
        joined: the messages.
        names: which feature each entry is: its number among those that are asked for, and -1 for any other.
        rows: of which message each is.
        tags: of the list that its values are in.
        place: where its values are, and how many bytes they have.
        kinds: the lists that the features that are asked for are in.

    Raises:
        Unlike: a feature is in another list, or a message has it twice.
    """

    def __init__(
        self, joined: Joined, names: np.ndarray, rows: np.ndarray, tags: np.ndarray, place: Place, kinds: Sequence[str]
    ) -> None:
        order = (names * joined.count + rows).argsort()
        self._joined, self._kinds = joined, kinds
        self._names, self._rows, self._tags, self._place = names[order], rows[order], tags[order], place.of(order)
        self._numbers = np.arange(len(kinds) + 1)
        self._bounds = self._names.searchsorted(self._numbers).tolist()
        asked = slice(self._bounds[0], None)
        names, rows = self._names[asked], self._rows[asked]
        if (self._tags[asked] != np.array([_TAGS[kind] for kind in kinds])[names]).any():
            raise Unlike
        if ((names[1:] == names[:-1]) & (rows[1:] == rows[:-1])).any():
            raise Unlike
        self._single = {kind: self._single_values(kind) for kind in set(kinds)}

    def _single_values(self, kind: str) -> tuple[np.ndarray, list[int]] | None:
        """Returns all values of a list that are asked for, and where those of each feature begin; None where a message has not one of each."""
        chosen = np.flatnonzero((self._tags == _TAGS[kind]) & (self._names >= 0))
        if not len(chosen):
            return None
        place = self._place.of(chosen)
        values: np.ndarray | None = None
        if kind == "int64_list":
            values = numbers_at(self._joined, place.starts, np.asarray(place.lengths))
        elif kind == "bytes_list":
            values = read_values(self._joined, _even(place), kind).flat
        elif (place.lengths == _FLOAT_BYTES).all():  # type: ignore[union-attr]  # they are one for each
            values = read_values(self._joined, Place(place.starts, _FLOAT_BYTES), kind).flat
        return None if values is None else (values, self._names[chosen].searchsorted(self._numbers).tolist())

    def has(self, number: int) -> bool:
        """Returns whether a message has a feature."""
        return bool(self._bounds[number] < self._bounds[number + 1])

    def values(self, number: int) -> tuple[np.ndarray, Values]:
        """Returns which messages have a feature, and its values in these.

        Raises:
            Unlike: those of a message are damaged.
        """
        part = slice(*self._bounds[number : number + 2])
        kind = self._kinds[number]
        single = self._single[kind]
        if single is None:
            return self._rows[part], read_values(self._joined, self._place.of(part), kind)
        values, bounds = single
        return self._rows[part], Values(values[bounds[number] : bounds[number + 1]].copy(), 1)

    def check_others(self) -> None:
        """Looks at the values that nobody asks for.

        Raises:
            Unlike: those of a message are damaged.
        """
        for kind, tag in _TAGS.items():
            chosen = np.flatnonzero(self._tags[: self._bounds[0]] == tag)
            if len(chosen):
                check_values(self._joined, self._place.of(chosen), kind)


def entries_in(joined: Joined, asked: Mapping[str, str]) -> Entries:
    """Returns the entries of messages.

    Args:
        joined: the messages.
        asked: by the names of the features that are asked for: the lists that they are in.

    Raises:
        Unlike: one of them is not written as entries mostly are.
    """
    flat = joined.flat
    rows, starts, ends = _walked(joined)
    _are_tags(flat, starts, _MESSAGE)
    keys = flat.take(starts + 1, mode="clip")
    if (keys >= _GOES_ON).any():
        raise Unlike
    after = starts + 2 + keys
    names = _numbers_of(joined, starts + 1, keys, asked)
    feature, length = _opened(flat, after, _VALUE)
    _same(feature + length, ends)
    tags = flat.take(feature, mode="clip")
    if not np.isin(tags, (*_TAGS.values(),)).all():
        raise Unlike
    values, length = _opened(flat, feature, None)
    _same(values + length, ends)
    first, length = _opened(flat, values, _MESSAGE)
    _same(first + length, ends)
    return Entries(joined, names, rows, tags, Place(first, length), [*asked.values()])


def _even(place: Place) -> Place:
    """Returns the same, with one length where all are of it."""
    assert not isinstance(place.lengths, int)  # one for each, until here
    first = int(place.lengths[0])
    return Place(place.starts, first) if (place.lengths == first).all() else place


def _walked(joined: Joined) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns of which message each entry is, and where its inside begins and ends."""
    flat, ends = joined.flat, joined.ends
    at, length = _opened(flat, joined.starts, _MESSAGE)
    _same(at + length, ends)
    rows = np.arange(joined.count)
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    while True:
        has_more = at < ends
        if not has_more.all():
            _same(at[~has_more], ends[~has_more])
            rows, at, ends = rows[has_more], at[has_more], ends[has_more]
        if not len(rows):
            break
        inside, length = _opened(flat, at, None)
        stop = inside + length
        found.append((rows, at, inside, stop))
        at = stop
    if not found:
        raise Unlike
    rows, tags_at, starts, stops = map(np.concatenate, zip(*found, strict=True))
    _are_tags(flat, tags_at, _MESSAGE)
    return rows, starts, stops


# What the words of a key are multiplied with, so that few keys are alike.
_FACTORS: Final = np.array([0x9E3779B97F4A7C15 * factor % 2**64 | 1 for factor in range(1, 18)], np.uint64)


def _numbers_of(joined: Joined, starts: np.ndarray, lengths: np.ndarray, asked: Iterable[str]) -> np.ndarray:
    """Returns which features these keys name, each with its length before it."""
    width = (int(lengths.max()) // _WORD + 1) * _WORD
    keys = joined.windows(starts, width)
    keys *= np.arange(width) <= lengths[:, None]
    words = keys.view(np.uint64)
    known, hashes, order = _known_names(tuple(asked), width)
    if not len(known):
        numbers = np.full(len(keys), -1)
    else:
        candidates = order.take(hashes.searchsorted(_hashes(words)), mode="clip")
        numbers = np.where((known[candidates] == words).all(axis=1), candidates, -1)
    for key in set(keys[numbers < 0].view(f"V{width}").ravel().tolist()):
        _check_name(key[1 : 1 + key[0]])
    return numbers


@functools.lru_cache(maxsize=64)
def _known_names(names: tuple[str, ...], width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns names as keys of so many bytes, their hashes in order, and which names these are.

    Raises:
        Unlike: two names have one hash.
    """
    keys = [
        bytes([len(name)]) + name if len(name) < width else bytes([0xFF] * width) for name in map(str.encode, names)
    ]
    words = np.frombuffer(b"".join(key.ljust(width, b"\0") for key in keys), np.uint64).reshape(len(names), -1)
    hashes = _hashes(words)
    order = hashes.argsort()
    is_one = [len(name.encode()) < width for name in names]
    if len(set(hashes[is_one].tolist())) < sum(is_one):
        raise Unlike
    return words, hashes[order], order


def _hashes(words: np.ndarray) -> np.ndarray:
    hashes: np.ndarray = (words * _FACTORS[: words.shape[1]]).sum(axis=1, dtype=np.uint64)
    return hashes


def _check_name(key: bytes) -> None:
    try:
        key.decode()
    except UnicodeDecodeError:
        raise Unlike from None


def _opened(flat: np.ndarray, at: np.ndarray, tag: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns where the inside of fields begins, and how long it is."""
    if tag is not None:
        _are_tags(flat, at, tag)
    byte = flat.take(at + 1, mode="clip")
    if not (byte >= _GOES_ON).any():
        return at + 2, byte.astype(np.int64)
    length, inside = (byte & 0x7F).astype(np.int64), at + 2
    goes_on = byte >= _GOES_ON
    for shift in range(7, 7 * _LENGTH_BYTES, 7):
        byte = flat.take(inside, mode="clip")
        length += ((byte & 0x7F) * goes_on).astype(np.int64) << shift
        inside = inside + goes_on
        goes_on &= byte >= _GOES_ON
    if goes_on.any():
        raise Unlike
    return inside, length


def _are_tags(flat: np.ndarray, at: np.ndarray, tag: int) -> None:
    if (flat.take(at, mode="clip") != tag).any():
        raise Unlike


def _same(one: np.ndarray, other: np.ndarray) -> None:
    if (one != other).any():
        raise Unlike
