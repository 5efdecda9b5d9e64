"""Elements that are tuples of components with known dtypes, as in TensorFlow: checked on the way in, stacked on the way out.

An element is given as a list or a tuple of values, as one bare value where there is one component, or as a dict where
the components have names; a list is components, never an array. It comes out as a tuple, a bare value or a dict.
TensorFlow silently drops a value too many; here that is an error. Arrays are copied on their way in, as there: who has
enqueued one may go on writing to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from headrace.elements.ownership import copied
from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import LEAF, Element, nbytes_of, object_array, stack
from headrace.elements.tensor_spec import TensorSpec, checked_shape
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.queues.any_elements import Row, check_lengths
from headrace.queues.leaf_fit import check_shape, fit_leaf

__all__ = ["DTypes", "Names", "Shapes", "TypedElements", "list_of_shapes", "typed_elements"]

DTypes: TypeAlias = Any  # one dtype or a list of them; a dtype is whatever TensorSpec takes
Shapes: TypeAlias = Any  # one shape or a list of them
Names: TypeAlias = str | Sequence[str] | None


@frozen(kw_only=True)
class TypedElements:
    """How elements of known components go in and come out.

    Attributes:
        queue: how messages call the queue.
        specs: dtype and shape of each component; a shape of None is not checked.
        names: what the components are called where elements are dicts, or None.
        pads: whether a size of None varies, and is padded when elements are stacked.
    """

    queue: str
    specs: tuple[TensorSpec, ...]
    names: tuple[str, ...] | None = None
    pads: bool = False

    def pack(self, vals: Element) -> Row:
        """Returns the components of one element, each as its dtype and shape say."""
        values = self._split(vals)
        pairs = enumerate(zip(values, self.specs, strict=True))
        return tuple([_fitted(value, spec, self._label(at)) for at, (value, spec) in pairs])

    def pack_many(self, vals: Element) -> list[Row]:
        """Returns the elements that lie along the first axis of every component."""
        labels = [self._label(at) for at in range(len(self.specs))]
        columns = [
            _fitted(_column(value, spec), TensorSpec(None, spec.dtype), label)
            for value, spec, label in zip(self._split(vals), self.specs, labels, strict=True)
        ]
        check_lengths(columns, labels)
        for column, spec, label in zip(columns, self.specs, labels, strict=True):
            check_shape(column.shape[1:], spec, label)
        return list(zip(*(rows_of(LEAF, [column]) for column in columns), strict=True))

    def unpack(self, row: Row) -> Element:
        """Returns a dict where there are names, the bare value where there is one component, else a tuple."""
        if self.names is not None:
            return dict(zip(self.names, row, strict=True))
        return row[0] if len(row) == 1 else tuple(row)

    def check_stackable(self) -> None:
        """Components whose shapes were not given need not have equal ones."""
        if any(spec.shape is None for spec in self.specs):
            raise InvalidArgumentError(
                f"{self.queue}: dequeue_many and dequeue_up_to need the shapes of all components"
            )

    def stack(self, rows: Sequence[Row]) -> Element:
        """Returns the components of all elements, each with a new first axis."""
        columns = zip(*rows, strict=True) if rows else [()] * len(self.specs)
        return self.unpack([self._stack(column, spec) for column, spec in zip(columns, self.specs, strict=True)])

    def nbytes(self, row: Row) -> int:
        """Returns about how many bytes the components hold."""
        return nbytes_of(row)

    def _stack(self, column: Sequence[Any], spec: TensorSpec) -> np.ndarray:
        if not column:
            return np.zeros((0, *(size or 0 for size in spec.shape or ())), _array_dtype(spec))
        if spec.shape is not None and None in spec.shape:
            return _stack_padded([np.asarray(value) for value in column], spec)
        return object_array(column) if spec.dtype is object else stack(column)

    def _split(self, vals: Element) -> Sequence[Any]:
        """Returns the values of the components, in their order."""
        if isinstance(vals, dict):
            return self._split_dict(vals)
        if self.names is not None:
            raise InvalidArgumentError(f"{self.queue} has names: enqueue a dict with the keys {sorted(self.names)}")
        values = vals if isinstance(vals, (list, tuple)) else (vals,)
        if len(values) != len(self.specs):
            hint = "; one component that is a list is written as [value]" if len(self.specs) == 1 else ""
            raise InvalidArgumentError(f"{self.queue}: expected {len(self.specs)} components, got {len(values)}{hint}")
        return values

    def _split_dict(self, vals: dict[str, Any]) -> Sequence[Any]:
        if self.names is None:
            raise InvalidArgumentError(f"{self.queue} has no names: enqueue a tuple, or make the queue with names=")
        if vals.keys() != set(self.names):
            keys = sorted(map(str, vals))
            raise InvalidArgumentError(f"{self.queue}: the keys {keys} are not its names {sorted(self.names)}")
        return [vals[name] for name in self.names]

    def _label(self, at: int) -> str:
        return f"{self.queue}, component {at if self.names is None else repr(self.names[at])}"


def _column(value: Any, spec: TensorSpec) -> Any:
    """Returns an array of the items, where a list is given of what is any object: each is an element, as it is."""
    return object_array(value) if spec.dtype is object and isinstance(value, (list, tuple)) else value


def _fitted(value: Any, spec: TensorSpec, label: str) -> Any:
    """Returns the value as a leaf of that dtype and shape, in memory of its own."""
    leaf = fit_leaf(value, spec, label)
    # A cast has copied, unless it found nothing to do and gave a view.
    return copied(leaf) if leaf is value or (isinstance(leaf, np.ndarray) and leaf.base is not None) else leaf


def typed_elements(queue: str, dtypes: DTypes, shapes: Shapes, names: Names, *, pads: bool = False) -> TypedElements:
    """Checks and bring together what a queue's constructor was told about its components.

    Raises:
        TypeError: ``shapes`` is neither a shape nor a list of shapes.
        InvalidArgumentError: shapes or names do not fit the dtypes in number, or a size is missing.
    """
    if dtypes is None:
        raise InvalidArgumentError(f"{queue}: shapes and names are those of components, which need dtypes")
    kinds = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]
    sizes = [None] * len(kinds) if shapes is None else list_of_shapes(queue, shapes)
    if len(sizes) != len(kinds):
        raise InvalidArgumentError(f"{queue}: {len(kinds)} dtypes, but {len(sizes)} shapes")
    labels = None if names is None else (names,) if isinstance(names, str) else tuple(names)
    if labels is not None and len(labels) != len(kinds):
        raise InvalidArgumentError(f"{queue}: {len(kinds)} dtypes, but {len(labels)} names")
    specs = tuple(TensorSpec(shape, kind) for shape, kind in zip(sizes, kinds, strict=True))
    elements = TypedElements(queue=queue, specs=specs, names=labels, pads=pads)
    if not pads and any(None in (spec.shape or ()) for spec in specs):
        raise InvalidArgumentError(f"{queue}: a size of None in shapes={shapes} needs a PaddingFIFOQueue")
    return elements


def list_of_shapes(queue: str, shapes: Shapes) -> list[tuple[int | None, ...]]:
    """Returns one shape for each component; a shape alone is that of the only one, and an int n among shapes is ``(n,)``.

    Raises:
        TypeError: it is neither a shape nor a list of shapes.
        InvalidArgumentError: a shape is None, or has a negative size.
    """
    if not isinstance(shapes, (list, tuple)):
        raise TypeError(f"{queue}: shapes must be a shape or a list of shapes, not {type(shapes).__name__}")
    alone = all(size is None or isinstance(size, int) for size in shapes)
    listed = [checked_shape(shape, f"{queue}: a shape in shapes") for shape in ([tuple(shapes)] if alone else shapes)]
    if None in listed:
        raise InvalidArgumentError(f"{queue}: shapes has a shape for each component, or is None for all: not {shapes}")
    return [shape for shape in listed if shape is not None]


def _array_dtype(spec: TensorSpec) -> np.dtype[Any]:
    return np.dtype(object) if isinstance(spec.dtype, type) else spec.dtype


def _stack_padded(arrays: Sequence[np.ndarray], spec: TensorSpec) -> np.ndarray:
    """Stacks arrays of one rank, each at the beginning of its place; the rest is 0, or the empty string."""
    assert spec.shape is not None  # only a size of None is padded
    largest = [max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True)]
    sizes = [most if size is None else size for size, most in zip(spec.shape, largest, strict=True)]
    stacked = np.zeros((len(arrays), *sizes), _array_dtype(spec))
    if isinstance(spec.dtype, type):
        stacked.fill(None if spec.dtype is object else spec.dtype())
    for place, array in zip(stacked, arrays, strict=True):
        place[tuple(slice(size) for size in array.shape)] = array
    return stacked
