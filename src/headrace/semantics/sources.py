"""Sources that are read by index: arrays, one element, a range, random numbers, a file of headrace's own."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Indices, as_array
from headrace.blocks.payload import IndexSource, Rows
from headrace.elements.ownership import has_fixed_contents, read_only, read_only_array
from headrace.elements.rows_and_columns import needs_rows, rows_of
from headrace.elements.structure import LEAF, Element, TreeDef, normalize
from headrace.errors import InputChangedError, InternalError
from headrace.plan.node import Node
from headrace.plan.sources import FromTensors, FromTensorSlices, RandomSource, Range
from headrace.plan.storing import Stored
from headrace.semantics.random_streams import Key, random_int64
from headrace.semantics.run_context import RunContext
from headrace.semantics.storing import StoredSource

__all__ = ["ArraysSource", "OneSource", "RandomNumbers", "RangeSource", "fewer_elements", "index_source"]


class ArraysSource:
    """Slices of arrays along their first axis."""

    __slots__ = ("_has_fixed_contents", "arrays", "is_columnar", "treedef")

    def __init__(self, treedef: TreeDef, arrays: tuple[np.ndarray, ...]) -> None:
        self.treedef = treedef
        self.arrays = arrays
        self._has_fixed_contents = self.is_columnar = True
        if not all(map(_has_numbers_or_texts, arrays)):  # a look at each item, once
            self._has_fixed_contents = all(map(has_fixed_contents, arrays))
            self.is_columnar = not needs_rows(arrays)

    @classmethod
    def of(cls, node: FromTensorSlices) -> ArraysSource:
        """Returns that of a node; the same for each run, where nobody else can change what its arrays of objects hold."""
        if all(column.flags.owndata for column in node.columns if column.dtype.hasobject):
            return node.recall("source", lambda: cls(node.treedef, node.columns))
        return cls(node.treedef, node.columns)

    @property
    def has_tuples(self) -> bool | None:
        if self.treedef.is_leaf() and not self.is_columnar:
            return None
        return self.treedef.type is tuple

    def _picked(self, indices: Indices) -> list[np.ndarray]:
        if isinstance(indices, range):  # a view: nothing is copied
            part = slice(indices.start, indices.stop, indices.step) if len(indices) else slice(0, 0)
            return [array[part] for array in self.arrays]
        return [array.take(indices, axis=0) for array in self.arrays]

    def rows(self, indices: Indices) -> list[Element]:
        picked = self._picked(indices)
        if not self._has_fixed_contents:
            picked = list(map(read_only_array, picked))
        for array in picked:  # a view must be, so a copy is as well: no one can tell which was cheaper
            array.flags.writeable = False
        rows = rows_of(self.treedef, picked)
        return rows if self.is_columnar else list(map(normalize, rows))

    def columns(self, indices: Indices) -> Columns:
        if not self.is_columnar:
            return Rows(self.rows(indices)).columns()
        picked = self._picked(indices)
        return Columns(self.treedef, picked if self._has_fixed_contents else list(map(read_only_array, picked)))


def _has_numbers_or_texts(array: np.ndarray) -> bool:
    if not array.dtype.hasobject:
        return True
    return array.dtype.kind == "O" and set(map(type, array.ravel().tolist())) <= {str, bytes}


class OneSource:
    """One element, which is no array of elements."""

    __slots__ = ("element",)

    is_columnar = False

    def __init__(self, element: Element) -> None:
        self.element = element

    @property
    def has_tuples(self) -> bool | None:
        return type(self.element) is tuple

    def rows(self, indices: Indices) -> list[Element]:
        return [read_only(self.element) for _ in range(len(indices))]

    def columns(self, indices: Indices) -> Columns:
        return Rows(self.rows(indices)).columns()


# A counter that comes here goes on at the other end of int64, as tf.data's.
_AROUND: Final = 1 << 63


class RangeSource:
    """The numbers of a range."""

    __slots__ = ("dtype", "numbers")

    has_tuples = False
    is_columnar = True
    # A range without an end stops where no index of Python's can count further.
    ENDLESS = 1 << 62

    def __init__(self, start: int, stop: int | None, step: int, dtype: np.dtype[Any]) -> None:
        self.numbers = range(start, start + step * self.ENDLESS if stop is None else stop, step)
        self.dtype = dtype

    def _array(self, indices: Indices) -> np.ndarray:
        numbers: np.ndarray = self.numbers.start + self.numbers.step * as_array(indices)
        return numbers.astype(self.dtype, copy=False)

    def rows(self, indices: Indices) -> list[Element]:
        if isinstance(indices, range) and self.dtype == np.int64:
            numbers = self.numbers[indices.start : indices.stop : indices.step] if len(indices) else range(0)
            if not numbers or -_AROUND <= numbers[-1] < _AROUND:
                return list(numbers)
        return rows_of(LEAF, [self._array(indices)])

    def columns(self, indices: Indices) -> Columns:
        return Columns(LEAF, [self._array(indices)])


class RandomNumbers:
    """Endless random integers, by index."""

    __slots__ = ("key",)

    has_tuples = False
    is_columnar = True

    def __init__(self, key: Key) -> None:
        self.key = key

    def _array(self, indices: Indices) -> np.ndarray:
        wanted = as_array(indices)
        low, high = int(wanted.min()), int(wanted.max()) + 1
        drawn: np.ndarray = random_int64(self.key, low, high - low)[wanted - low]
        return drawn

    def rows(self, indices: Indices) -> list[Element]:
        return rows_of(LEAF, [self._array(indices)])

    def columns(self, indices: Indices) -> Columns:
        return Columns(LEAF, [self._array(indices)])


def fewer_elements(length: int, index: int) -> InputChangedError:
    """Makes the error of a source that has fewer elements than were read of it."""
    return InputChangedError(f"it has {length} elements, and reading is to go on at element {index}: it has changed")


def index_source(node: Node, context: RunContext) -> tuple[IndexSource, int | None]:
    """Returns the indexed source of a node that has one, and its length, None if it never ends."""
    match node:
        case FromTensors():
            return OneSource(node.element), 1
        case FromTensorSlices():
            return ArraysSource.of(node), len(node.columns[0])
        case Range():
            return RangeSource(node.start, node.stop, node.step, node.dtype), (
                None if node.stop is None else node.cardinality()
            )
        case RandomSource():
            key = context.key(node, each_epoch=node.rerandomize_each_iteration)
            return RandomNumbers(key), None
        case Stored():
            return StoredSource(node.file), len(node.file)
    raise InternalError(f"{type(node).__name__} is not read by index")
