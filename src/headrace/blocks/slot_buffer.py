"""Numbered slots that hold elements in the form in which they come, so that a gather from them is one copy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns, is_alike
from headrace.blocks.joining import join
from headrace.blocks.origin import as_array
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.elements.key_orders import has_same_structure
from headrace.elements.structure import Element, object_array

__all__ = ["SlotBuffer"]

# Slots that are known to come have their memory from the beginning, up to this much: the system gives what is touched.
_MOST_RESERVED_BYTES: Final = 64 << 20


class SlotBuffer:
    """Slots for elements; they grow as they are filled.

    Indexed elements are kept as indices, columns as columns, payloads side by side each as what it is, all else as objects.
    The first payload decides, and one of another form turns what is there into objects. As long as there was only one
    payload, it is kept as it is.

    Args:
        expected: how many there will be, if all goes as it mostly does.
    """

    __slots__ = ("_arrays", "_came", "_came_bytes", "_expected", "_filled", "_only", "_template", "any_failure")

    def __init__(self, expected: int = 0) -> None:
        self._expected = expected
        self._template: Payload | None = None
        self._only: Payload | None = None
        self._arrays: list[np.ndarray] = []
        self._filled = 0  # slots up to the last that was filled
        self._came = self._came_bytes = 0  # elements that were put in so far, and what they weighed
        self.any_failure = False  # whether a Failure was ever put in: then outputs must be looked at one by one

    def put(self, slots: np.ndarray, payload: Payload) -> None:
        """Puts elements into these slots, the last one where a slot is named twice."""
        if not len(slots):
            return
        if self._only is not None:
            only, self._only = self._only, None
            self.put(np.arange(len(only)), only)
        if self._template is None or not _same_form(self._template, payload):
            self._change_form(payload)
        filled = int(slots.max()) + 1
        self._grow(filled)
        self._filled = max(self._filled, filled)
        self._came += len(payload)
        self._came_bytes += payload.nbytes
        for array, values in zip(self._arrays, _values(self._template, payload), strict=True):
            array[slots] = values

    def put_first(self, payload: Payload) -> None:
        """Puts elements into the first slots, none of which has one yet."""
        self._only = payload

    def __len__(self) -> int:
        """Returns how many are filled."""
        return min(self._filled, self._came) if self._only is None else len(self._only)

    @property
    def nbytes(self) -> int:
        """About how many bytes the slots hold."""
        if self._only is not None:
            return _nbytes_of(self._only)
        if self._template is None:
            return 0
        if all(isinstance(part, (Indexed, Columns)) for part in _parts_of(self._template)):
            return sum(len(self) * (array.nbytes // max(1, len(array))) for array in self._arrays)
        return len(self) * self._came_bytes // max(1, self._came)

    def rows(self) -> list[Element]:
        """Returns the elements, of which the bytes are to be counted: in index space their indices alone."""
        held = self._only if self._only is not None else self.get(np.arange(self._filled))
        return [
            row
            for part in _parts_of(held)
            for row in ([as_array(part.indices)] if isinstance(part, Indexed) else part.rows())
        ]

    def get(self, slots: np.ndarray) -> Payload:
        """Returns the elements in these slots."""
        if self._only is not None:
            return self._only.subset(slots)
        assert self._template is not None  # something was put in
        return _as_payload(self._template, iter([array[slots] for array in self._arrays]))

    def get_before(self, slots: np.ndarray, payload: Payload, again: np.ndarray, earlier: np.ndarray) -> Payload:
        """Returns what is taken out of these slots, one after the other, while a payload is put into them.

        Args:
            slots: the slots.
            payload: an element for each of them, which is put in when what was there has been taken.
            again: the positions in ``slots`` of those that stand there before; all others hold what they held.
            earlier: for each of these, where it stands last before.
        """
        if self._template is None or self._only is not None or not _same_form(self._template, payload):
            whole = join([self.get(slots), payload])
            order = np.arange(len(slots))
            order[again] = len(slots) + earlier
            return whole.subset(order)
        picked = [array[slots] for array in self._arrays]
        for array, values in zip(picked, _values(self._template, payload), strict=True):
            array[again] = values[earlier]
        return _as_payload(self._template, iter(picked))

    def _grow(self, size: int) -> None:
        # Each by itself: one of small elements may have all its memory when one of large elements has hardly begun.
        self._arrays = [
            array if size <= len(array) else _grown(array, max(size, self._reserved(array), 2 * len(array)))
            for array in self._arrays
        ]

    def _reserved(self, array: np.ndarray) -> int:
        # What has no bytes has a shape all the same, which must be one that NumPy takes.
        nbytes = self._expected * array.itemsize * max(1, math.prod(array.shape[1:]))
        return self._expected if nbytes * len(self._arrays) <= _MOST_RESERVED_BYTES else 0

    def _change_form(self, payload: Payload) -> None:
        """Takes the payload's form while there is nothing inside, and the form of objects otherwise."""
        if self._template is None:
            self._template = payload
            self._arrays = [np.empty((0, *values.shape[1:]), values.dtype) for values in _values(payload, payload)]
            return
        filled = self.get(np.arange(self._filled))
        self._template = Rows([])
        self._arrays = [object_array(filled.rows())]


def _parts_of(payload: Payload) -> list[Payload]:
    """Returns the payloads that lie side by side in one, or that one."""
    return [leaf for part in payload.parts for leaf in _parts_of(part)] if isinstance(payload, Zipped) else [payload]


def _as_payload(template: Payload, picked: Iterator[np.ndarray]) -> Payload:
    """Returns elements of the template's form, with their arrays taken from these."""
    if isinstance(template, Zipped):
        return Zipped(template.treedef, [_as_payload(part, picked) for part in template.parts])
    if isinstance(template, Indexed):
        return Indexed(template.source, next(picked))
    if isinstance(template, Columns):
        if template.matrix is not None:
            return template.with_matrix(next(picked))
        arrays = list(itertools.islice(picked, len(template.arrays)))
        return Columns(template.treedef, arrays, locked=template.locked)
    return Rows(next(picked).tolist())


def _nbytes_of(payload: Payload) -> int:
    # A run of indices is kept as its ends, until some of them are exchanged; but it will be, so it counts as it will.
    return sum(8 * len(part) if isinstance(part, Indexed) else part.nbytes for part in _parts_of(payload))


def _same_form(template: Payload, payload: Payload) -> bool:
    if isinstance(template, Zipped):
        return (
            isinstance(payload, Zipped)
            and has_same_structure(template.treedef, payload.treedef)
            and all(map(_same_form, template.parts, payload.parts))
        )
    if isinstance(template, Indexed):
        return isinstance(payload, Indexed) and payload.source is template.source
    if isinstance(template, Columns):
        # A matrix and columns are not kept in one form, equal as their elements may be.
        same = isinstance(payload, Columns) and (template.matrix is None) == (payload.matrix is None)
        return same and is_alike(template, payload)
    return True  # anything can be objects


def _values(template: Payload | None, payload: Payload) -> list[np.ndarray]:
    """Returns the elements of a payload as arrays in the template's form."""
    if isinstance(template, Zipped) and isinstance(payload, Zipped):
        return [array for pair in zip(template.parts, payload.parts, strict=True) for array in _values(*pair)]
    if isinstance(template, Indexed) and isinstance(payload, Indexed):
        return [as_array(payload.indices)]
    if isinstance(template, Columns) and isinstance(payload, Columns):
        return [payload.matrix] if payload.matrix is not None else list(payload.arrays)
    return [object_array(payload.rows())]


def _grown(array: np.ndarray, room: int) -> np.ndarray:
    # Where nothing was put, an object would be None, but an index or a text would be whatever happens to lie in memory,
    # and is looked at when the form changes. A float, at worst, is a strange float.
    make = np.empty if array.dtype.kind == "f" else np.zeros
    larger: np.ndarray[Any, Any] = make((room, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
