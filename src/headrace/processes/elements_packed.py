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
from headrace.processes.elements_sent import as_columns, sent_elements
from headrace.processes.parcels import Parcel, Writer, packed
from headrace.processes.values_pickled import SMALL_BYTES

__all__ = ["ElementsPacker"]

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
