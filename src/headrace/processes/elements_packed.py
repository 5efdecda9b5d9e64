"""Blocks one after the other, packed: of one that is like the last, only where it lies is new.

Batches of arrays differ in nothing but what is in them, and that lies in shared memory. To pickle such a block anew takes three times as long as to see
that it is like the one before.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Payload
from headrace.elements.structure import TreeDef
from headrace.processes.elements_sent import as_columns, received_elements, sent_elements
from headrace.processes.leases import Leases
from headrace.processes.parcels import Parcel, Writer, buffers_of, packed, unpacked
from headrace.processes.values_pickled import SMALL_BYTES

__all__ = ["ElementsPacker", "ElementsUnpacker"]

_Likeness = tuple[TreeDef, bool, tuple[Any, ...], tuple[bool, ...]]


class ElementsPacker:
    """Packs blocks of elements for one reader.

    Args:
        memory: what it shares with that.
    """

    def __init__(self, memory: Writer) -> None:
        self._memory = memory
        self._last: _Likeness | None = None
        self._body = b""

    def packed(self, payload: Payload) -> Parcel:
        """Puts elements into shared memory, as far as they are large.

        Raises:
            ResourceExhaustedError: the system has no more memory.
            Exception: whatever a class says that cannot be pickled.
        """
        payload = as_columns(payload)
        arrays = _whole_arrays(payload)
        if arrays is None:
            return packed(sent_elements(payload), self._memory)
        assert isinstance(payload, Columns)  # it has arrays
        likeness = _likeness(payload, arrays)
        if self._last is not None and likeness == self._last:
            raws = [pickle.PickleBuffer(array.data).raw() for array in arrays]
            parts = tuple((self._memory.placed(raw), raw.nbytes, raw.readonly) for raw in raws)
            return Parcel(self._body, parts, self._memory.dropped())
        # The small ones beside them as well, or what is pickled would be new each time.
        parcel = packed(sent_elements(payload), self._memory, smallest=1)
        if isinstance(parcel.body, bytes) and parcel.is_plain and len(parcel.parts) == len(arrays):
            self._last, self._body = likeness, parcel.body
        return parcel


class ElementsUnpacker:
    """Makes blocks again: one whose pickle is that of the last has arrays of the same kinds, and nothing is made of the pickle again."""

    def __init__(self) -> None:
        self._body: bytes | None = None  # of the last, where it has nothing but arrays beside it
        self._treedef: TreeDef | None = None
        self._locked: Sequence[bool] = ()
        self._kinds: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] = ()

    def unpacked(self, parcel: Parcel, leases: Leases) -> Payload:
        """Returns the elements, whose large arrays lie where they were written.

        Raises:
            Exception: whatever a class says that cannot be made again.
        """
        if self._treedef is not None and parcel.body == self._body:
            raws = buffers_of(parcel, leases)
            arrays = [raw.view(dtype).reshape(shape) for raw, (dtype, shape) in zip(raws, self._kinds, strict=True)]
            return Columns(self._treedef, arrays, None, list(self._locked))
        sent = unpacked(parcel, leases)
        payload = received_elements(sent)
        self._treedef = None
        if isinstance(payload, Columns) and payload.matrix is None and isinstance(parcel.body, bytes):
            found = _whole_arrays(payload)
            if (
                found is not None
                and len(found) == len(parcel.parts)
                and all(array.flags.c_contiguous for array in found)
            ):
                self._body, self._treedef, self._locked = parcel.body, payload.treedef, sent[3]
                self._kinds = [(array.dtype, array.shape) for array in found]
        return payload


def _whole_arrays(payload: Payload) -> Sequence[np.ndarray] | None:
    """Returns the arrays of a block, if all are of numbers and lie in one piece, and one is large; else None."""
    if not isinstance(payload, Columns):
        return None
    arrays = payload.arrays if payload.matrix is None else [payload.matrix]
    is_large = False
    for array in arrays:
        if type(array) is not np.ndarray or array.dtype.kind not in "biufc":
            return None
        flags, nbytes = array.flags, array.nbytes
        if not (flags.c_contiguous or flags.f_contiguous) or not nbytes:
            return None
        is_large = is_large or nbytes >= SMALL_BYTES
    return arrays if is_large else None


def _likeness(payload: Columns, arrays: Sequence[np.ndarray]) -> _Likeness:
    """Returns what is pickled of a block, in short."""
    kinds = tuple((array.dtype, array.shape, array.flags.c_contiguous) for array in arrays)
    is_matrix = payload.matrix is not None
    return payload.treedef, is_matrix, kinds, () if is_matrix else tuple(payload.locked)
