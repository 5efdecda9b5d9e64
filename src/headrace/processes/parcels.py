"""What goes from one process to another: large arrays by shared memory, written once and read where they lie; the rest beside them.

What comes out is what went in: types, dtypes, which arrays may be written to, and classes of ``__main__``, which cloudpickle knows again.
"""

from __future__ import annotations

import io
import pickle
import types
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, Self

import numpy as np

from headrace.processes.arena import Place
from headrace.processes.by_value import PROGRAMS, keeping_large, pickled_by_value
from headrace.processes.leases import Leases
from headrace.processes.values_pickled import SMALL_BYTES, is_plain, reduced

__all__ = ["Parcel", "Writer", "buffers_of", "packed", "to_bytes", "unpacked"]

# A longer message goes into shared memory as a whole, for a socket moves it piece by piece.
_LONG_BYTES: Final = 64 << 10


class Parcel(NamedTuple):
    """Something on its way.

    Attributes:
        body: pickled, or where it lies and how long it is.
        parts: where its arrays lie: the place, how many bytes, and whether nobody may write to them.
        dropped: the numbers of segments that its writer has let go.
        is_plain: whether it can be made again wherever it comes: no class of anybody else's has a say in that.
    """

    body: bytes | tuple[Place, int]
    parts: tuple[tuple[Place, int, bool], ...] = ()
    dropped: tuple[int, ...] = ()
    is_plain: bool = True

    def in_tuples(self) -> tuple[Any, ...]:
        """Returns it without classes, which pickles take several times as long for."""
        body = self.body if isinstance(self.body, bytes) else (tuple(self.body[0]), self.body[1])
        return body, tuple((tuple(place), *rest) for place, *rest in self.parts), self.dropped, self.is_plain

    @classmethod
    def of_tuples(cls, sent: tuple[Any, ...]) -> Self:
        """Returns what was sent so."""
        body, parts, dropped, is_plain = sent
        body = body if isinstance(body, bytes) else (Place(*body[0]), body[1])
        return cls(body, tuple((Place(*place), *rest) for place, *rest in parts), dropped, is_plain)


class Writer(Protocol):
    """Shared memory, to who puts something into it."""

    def placed(self, raw: memoryview) -> Place:
        """Returns where the reader finds these bytes."""
        ...

    def dropped(self) -> tuple[int, ...]:
        """Returns the numbers of the segments that were let go since it was asked last."""
        ...


class _Pickler(pickle.Pickler):
    """Refuses classes and functions of the program, which another pickler sends by value."""

    is_plain = True

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not np.ndarray:  # of which there may be one in each element
            if isinstance(obj, type | types.FunctionType) and obj.__module__ in PROGRAMS:
                raise pickle.PicklingError("another process has another program: it goes by value")
            if self.is_plain and not is_plain(obj):
                self.is_plain = False
        return reduced(obj)


def to_bytes(value: Any) -> bytes:
    """Returns anything pickled, functions and classes of ``__main__`` by value.

    Raises:
        Exception: whatever a class says that cannot be pickled.
    """
    try:
        return _pickled(value, None)[0]
    except Exception:  # noqa: BLE001 - as below
        return pickled_by_value(value)


_Keep = Callable[[pickle.PickleBuffer], bool] | None


def _pickled(value: Any, keep: _Keep) -> tuple[bytes, bool]:
    """Returns a pickle, and whether all in it is plain."""
    written = io.BytesIO()
    pickler = _Pickler(written, pickle.HIGHEST_PROTOCOL, buffer_callback=keep)
    pickler.dump(value)
    return written.getvalue(), pickler.is_plain


def packed(value: Any, memory: Writer, smallest: int = SMALL_BYTES) -> Parcel:
    """Puts something into shared memory, as far as it is large.

    Args:
        value: anything.
        memory: where.
        smallest: how many bytes an array has at least that is put there.

    Raises:
        ResourceExhaustedError: the system has no more memory.
        Exception: whatever a class says that cannot be pickled.
    """
    found: list[memoryview] = []
    try:
        body, is_all_plain = _pickled(value, keeping_large(found, smallest))
    except Exception:  # noqa: BLE001 - cloudpickle, which is slower, can do more, or says why not
        found.clear()
        body, is_all_plain = pickled_by_value(value, keeping_large(found, smallest)), False
    parts = tuple((memory.placed(raw), raw.nbytes, raw.readonly) for raw in found)
    if len(body) <= _LONG_BYTES:
        return Parcel(body, parts, memory.dropped(), is_all_plain)
    return Parcel((memory.placed(memoryview(body)), len(body)), parts, memory.dropped(), is_all_plain)


def unpacked(parcel: Parcel, leases: Leases) -> Any:
    """Returns what was sent; its arrays lie where they were written.

    Raises:
        Exception: whatever a class says that cannot be made again.
    """
    body = parcel.body if isinstance(parcel.body, bytes) else leases.bytes_at(*parcel.body).data
    return pickle.loads(body, buffers=buffers_of(parcel, leases))


def buffers_of(parcel: Parcel, leases: Leases) -> list[np.ndarray]:
    """Returns the bytes of its arrays, where they were written."""
    leases.drop(parcel.dropped)
    buffers = []
    for place, nbytes, is_locked in parcel.parts:
        array = leases.bytes_at(place, nbytes)
        if is_locked:
            array.flags.writeable = False
        buffers.append(array)
    return buffers
