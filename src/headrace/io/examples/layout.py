"""The layout of a ``tf.train.Example``: which bytes stand between its values, learned from one message and found in many.

Programs write their examples alike: the same features in the same order, whose values differ, and may differ in length. What always
holds: a message fits a layout only where each byte between its values is that of the layout, or part of a length, and all lengths
agree with each other and with the message's own. Such a message is one that protobuf reads, and as it is read here, as far
as its numbers are encoded as they should be, which ``values`` looks at.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

__all__ = ["Column", "Joined", "Layout", "Length", "Part", "Place", "Unlike", "learned_layout", "parts_of"]

_MESSAGE: Final = (
    0x0A  # the tag of field 1, of a length: of the features, of an entry, of a key and of all values of a list
)
_VALUE: Final = 0x12  # of an entry's feature
# By the tag of a feature: the list of its values.
_LISTS: Final = {0x0A: "bytes_list", 0x12: "float_list", 0x1A: "int64_list"}
# A byte of a length that others follow is as large at least.
_GOES_ON: Final = 0x80
# Bytes of a length: so many hold all that a message may be long.
_LENGTH_BYTES: Final = 4


class Unlike(Exception):  # noqa: N818 - no error: who raises it leaves the messages to protobuf
    """A message is not written as messages mostly are, or it is damaged."""


class Joined:
    """Messages one after the other.

    Attributes:
        whole: all their bytes, and so many more that a frame fits after the last one.
        count: how many they are.
        length: of each of them; None where they differ in length.
    """

    def __init__(self, records: Sequence[bytes]) -> None:
        self.count = len(records)
        self._lengths = np.fromiter(map(len, records), np.int64, self.count)
        first = int(self._lengths[0])
        self.length = first if (self._lengths == first).all() else None
        self.whole = b"".join([*records, bytes(_LONGEST_FRAME)])

    @functools.cached_property
    def ends(self) -> np.ndarray:
        """Where each ends."""
        return self._lengths.cumsum()

    @functools.cached_property
    def starts(self) -> np.ndarray:
        """Where each begins."""
        starts: np.ndarray = self.ends - self._lengths
        return starts

    @property
    def flat(self) -> np.ndarray:
        """All bytes as an array."""
        return np.frombuffer(self.whole, np.uint8)

    def rows_at(self, place: Place | Column) -> np.ndarray | None:
        """Returns the bytes of a feature's values as rows, one a message; None where they have more in some than in others."""
        if isinstance(place, Column):
            return place.rows
        return self.windows(place.starts, place.lengths) if isinstance(place.lengths, int) else None

    def windows(self, starts: np.ndarray, size: int) -> np.ndarray:
        """Returns ``size`` bytes from each of these places on, as rows; places after the end are read as the end."""
        rows: np.ndarray[Any, Any] = np.ndarray((len(self.whole) - size + 1, size), np.uint8, self.whole, 0, (1, 1))
        found: np.ndarray = rows[np.minimum(starts, len(rows) - 1)]
        return found


class Place(NamedTuple):
    """Where the values of a feature are in each message, and how many bytes they have: one number where that is the same."""

    starts: np.ndarray
    lengths: np.ndarray | int

    def of(self, chosen: np.ndarray | slice) -> Place:
        """Returns the same for some of the messages."""
        lengths = self.lengths if isinstance(self.lengths, int) else self.lengths[chosen]
        return Place(self.starts[chosen], lengths)


class Column(NamedTuple):
    """The values of a feature that have as many bytes in each message: these bytes, a row a message."""

    rows: np.ndarray


class Length(NamedTuple):
    """A length in a frame: where it stands, how many bytes it has, and how much of the frame it counts beside the values."""

    at: int
    width: int
    counted: int


class _Frame:
    """What stands before the values of a feature, or of the whole: fixed bytes and lengths, the last of them that of the values."""

    def __init__(self, head: bytes, lengths: Sequence[tuple[int, int]], length: int) -> None:
        self.head = np.frombuffer(head, np.uint8)
        self.length = length
        self.lengths = [Length(at, width, len(head) - at - width) for at, width in lengths]
        self._mask = np.full(len(head), 0xFF, np.uint8)
        for at, width in lengths:
            self._mask[at : at + width] = 0x80  # whether a length goes on
        self._fixed = self.head & self._mask

    def lengths_in(self, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns which of these are such frames, and how many bytes the values after each have."""
        fits = ((heads & self._mask) == self._fixed).all(axis=1)
        *outer, inner = self.lengths
        found = _numbers(heads, inner)
        for length in outer:
            fits &= _numbers(heads, length) == found + length.counted
        return fits, found


def _numbers(heads: np.ndarray, length: Length) -> np.ndarray:
    """Returns a length of each frame."""
    found = (heads[:, length.at] & 0x7F).astype(np.int64)
    for index in range(1, length.width):
        found |= (heads[:, length.at + index] & 0x7F).astype(np.int64) << (7 * index)
    return found


class _Field:
    """What stands before some values: a frame, and more of them where lengths have more bytes in some messages than in others."""

    def __init__(self, name: str | None, kind: str, frame: _Frame) -> None:
        self.name = name
        self.kind = kind
        self._frames = [frame]
        self._recent = frame.head.tobytes(), frame.length  # what stood before as many bytes last

    @property
    def learned(self) -> Part:
        """As it was in the message of which it was learned."""
        frame = self._frames[0]
        return Part(self.name, frame.head.tobytes(), frame.lengths, frame.length)

    def found(self, joined: Joined, starts: np.ndarray, ends: np.ndarray, fits: np.ndarray) -> Place:
        """Returns what comes after it in each message; ``fits`` becomes false where it is not there."""
        first = self._frames[0]
        heads = joined.windows(starts, len(first.head))
        after = starts + len(first.head)
        if (heads == heads[0]).all():  # mostly, where the values have a length that seldom changes
            length = self._length_after(heads[:1])
            if length is not None:
                return Place(after, length)
        fitting, lengths = first.lengths_in(heads)
        rest = self._of_its_name(joined, starts, np.flatnonzero(fits & ~fitting), fits)
        tried = 1
        while len(rest):
            at, end = int(starts[rest[0]]), int(ends[rest[0]])
            if tried == len(self._frames) and not self._learns(joined.whole[at:end]):
                break
            frame = self._frames[tried]
            tried += 1
            fitting, found = frame.lengths_in(joined.windows(starts[rest], len(frame.head)))
            chosen = rest[fitting]
            after[chosen] = starts[chosen] + len(frame.head)
            lengths[chosen] = found[fitting]
            rest = rest[~fitting]
        fits[rest] = False
        return Place(after, lengths)

    def _of_its_name(self, joined: Joined, starts: np.ndarray, rest: np.ndarray, fits: np.ndarray) -> np.ndarray:
        """Returns those of the rest of the messages that have this feature here, in another frame perhaps; others do not fit."""
        if self.name is None or not len(rest):
            return rest
        name = self.name.encode()
        if len(name) >= _GOES_ON:
            return rest
        key = np.frombuffer(bytes([_MESSAGE, len(name)]) + name, np.uint8)
        after = (joined.windows(starts[rest] + 1 + width, len(key)) for width in range(1, _LENGTH_BYTES + 1))
        has_it = np.logical_or.reduce([(keys == key).all(axis=1) for keys in after])
        fits[rest[~has_it]] = False
        found: np.ndarray = rest[has_it]
        return found

    def _length_after(self, heads: np.ndarray) -> int | None:
        """Returns how many bytes come after a frame as it stands in all messages; None where it is not the first one that is known."""
        head = heads.tobytes()
        recent, length = self._recent
        if head != recent:
            fitting, lengths = self._frames[0].lengths_in(heads)
            if not fitting[0]:
                return None
            length = int(lengths[0])
            self._recent = head, length
        return length

    def _learns(self, message: bytes) -> bool:
        """Adds the frame with which the rest of a message begins; returns False where that is of another feature."""
        if len(self._frames) == _FRAMES:
            return False
        try:
            other = _entry(message)[0] if self.name is not None else _whole(message)[0]
        except Unlike:
            return False
        if (other.name, other.kind) != (self.name, self.kind):
            return False
        self._frames += other._frames  # noqa: SLF001 - of its own class
        return True


class Layout:
    """The layout of one message.

    Attributes:
        lists: by the names of the features in their order: the list that the values of each are in.
    """

    def __init__(self, whole: _Field, fields: Sequence[_Field]) -> None:
        self._whole = whole
        self._fields = fields
        self.lists = {field.name: field.kind for field in fields if field.name is not None}

    @property
    def learned(self) -> list[Part]:
        """The whole of the message of which it was learned, and its features."""
        return [field.learned for field in (self._whole, *self._fields)]

    def places(self, joined: Joined, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, list[Place]]:
        """Returns which of these messages have this layout, and for each feature where its values would be."""
        fits = np.ones(len(starts), bool)
        outer = self._whole.found(joined, starts, ends, fits)
        fits &= outer.starts + outer.lengths == ends
        at = outer.starts
        places = []
        for field in self._fields:
            place = field.found(joined, at, ends, fits)
            at = place.starts + place.lengths
            places.append(place)
        fits &= at == ends
        return fits, places


class Part(NamedTuple):
    """A feature of one message, or the whole: what stands before its values, and how many bytes these have."""

    name: str | None
    head: bytes
    lengths: Sequence[Length]
    length: int


def parts_of(message: bytes) -> list[Part]:
    """Returns the whole of a message, and its features in their order.

    Raises:
        Unlike: it has no layout that is known here.
    """
    return learned_layout(message).learned


# ------------------------------------------------------------------------------------------------ learning

# Names of features are shorter than this.
_LONGEST_NAME: Final = 256
_LONGEST_FRAME: Final = _LONGEST_NAME + 8 * (1 + _LENGTH_BYTES)
# A feature has four lengths, each of which may have a byte more than in the message before, twice.
_FRAMES: Final = 9


def learned_layout(record: bytes) -> Layout:
    """Returns the layout of a message.

    Raises:
        Unlike: it has none that is known here.
    """
    whole, at = _whole(record)
    fields: list[_Field] = []
    while at < len(record):
        field, length = _entry(record[at:])
        fields.append(field)
        at += length
    layout = Layout(whole, fields)
    if len(layout.lists) < len(fields):  # a feature comes twice
        raise Unlike
    return layout


def _whole(message: bytes) -> tuple[_Field, int]:
    """Returns what stands before the features of a message, and how long that is."""
    inside, length, of_all = _opened(message, 0, _MESSAGE)
    _same(inside + length, len(message))
    return _Field(None, "", _Frame(message[:inside], [of_all], length)), inside


def _entry(message: bytes) -> tuple[_Field, int]:
    """Returns what stands before the values of the feature with which the rest of a message begins, and how long that feature is."""
    inside, length, of_entry = _opened(message, 0, _MESSAGE)
    end = inside + length
    key, key_length, _ = _opened(message, inside, _MESSAGE)
    feature, length, of_feature = _opened(message, key + key_length, _VALUE)
    _same(feature + length, end)
    tag = message[feature] if feature < min(end, len(message)) else 0
    values, length, of_list = _opened(message, feature, tag)
    _same(values + length, end)
    first, length, of_values = _opened(message, values, _MESSAGE)
    _same(first + length, end)
    if tag not in _LISTS or key_length >= _LONGEST_NAME or end > len(message):
        raise Unlike
    frame = _Frame(message[:first], [of_entry, of_feature, of_list, of_values], length)
    return _Field(_name(message[key : key + key_length]), _LISTS[tag], frame), end


def _name(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise Unlike from None


def _opened(record: bytes, at: int, tag: int) -> tuple[int, int, tuple[int, int]]:
    """Returns where the inside of a field begins, how long it is, and where that stands, and in how many bytes."""
    if at >= len(record) or record[at] != tag:
        raise Unlike
    length = 0
    for width, byte in enumerate(record[at + 1 : at + 1 + _LENGTH_BYTES], 1):
        length |= (byte & 0x7F) << (7 * (width - 1))
        if byte < 0x80:
            return at + 1 + width, length, (at + 1, width)
    raise Unlike


def _same(one: int, other: int) -> None:
    if one != other:
        raise Unlike
