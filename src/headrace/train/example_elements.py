"""Examples in a queue whose components nobody has declared: the first one shows what they are.

TensorFlow knows dtypes and shapes before anything runs; here a callable is asked only when a runner starts. So the first
example that comes in says what all others must be: their structure, dtypes and shapes. One that differs is refused
where it is put in, in the runner's thread, whose failure names the component and reaches ``join``; not later, where a
batch is made of it and nobody knows where it came from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from headrace.elements.leaf_arrays import plain_array
from headrace.elements.leaf_specs import leaf_spec
from headrace.elements.rows_and_columns import normalize_rows
from headrace.elements.structure import Element, TreeDef, flatten, nbytes_of, normalize, unflatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.queues.any_elements import Row, check_lengths
from headrace.queues.typed_elements import Shapes, TypedElements, list_of_shapes
from headrace.train.pulled import components

__all__ = ["ExampleElements"]

_Shape: TypeAlias = tuple[int | None, ...] | None


@frozen
class _Known:
    """What the first example has shown."""

    treedef: TreeDef
    typed: TypedElements


class ExampleElements:
    """How examples go in and come out.

    Args:
        queue: how messages call the queue.
        shapes: the shape of each component, or None for those of the first example.
        dynamic_pad: whether sizes vary, and examples are padded to the largest in a batch: those that are None in
            ``shapes``, or all where that is None.

    Raises:
        InvalidArgumentError: a size in ``shapes`` is None without ``dynamic_pad``.
    """

    def __init__(self, queue: str, shapes: Shapes, *, dynamic_pad: bool) -> None:
        self._queue = queue
        self._shapes = None if shapes is None else list_of_shapes(queue, shapes)
        self._dynamic_pad = dynamic_pad
        self._known: _Known | None = None
        self._learning = threading.Lock()
        if not dynamic_pad and any(None in shape for shape in self._shapes or ()):
            raise InvalidArgumentError(f"{queue}: a size of None in shapes={shapes} needs dynamic_pad=True")

    def pack(self, vals: Element) -> Row:
        """Returns the leaves of one example, as those of the first were."""
        example = components(vals)
        leaves, treedef = flatten(normalize_rows([example], {type(example)})[0])
        return self._as_known(treedef, leaves, leaf_spec).pack(leaves)

    def pack_many(self, vals: Element) -> list[Row]:
        """Returns the examples that lie along the first axis of every component."""
        leaves, treedef = flatten(normalize(components(vals)))
        columns = [plain_array(leaf, "examples") for leaf in leaves]
        check_lengths(columns, [f"{self._queue}, component {number}" for number in range(len(columns))])
        if not columns or not len(columns[0]):
            return []
        return self._as_known(treedef, columns, _spec_of_rows).pack_many(columns)

    def unpack(self, row: Row) -> Element:
        """Returns the example as it went in."""
        return unflatten(self._shown().treedef, row)

    def check_stackable(self) -> None:
        """Allows all: all examples that are let in fit together."""

    def stack(self, rows: Sequence[Row]) -> Element:
        """Returns a batch: each component an array with a new first axis."""
        known = self._shown()
        stacked = known.typed.stack(rows)
        return unflatten(known.treedef, [stacked] if known.treedef.num_leaves == 1 else stacked)

    def nbytes(self, row: Row) -> int:
        """Returns about how many bytes the leaves hold."""
        return nbytes_of(row)

    # ---- learning

    def _shown(self) -> _Known:
        if self._known is None:
            raise InvalidArgumentError(f"{self._queue}: before the first example, nothing says what examples look like")
        return self._known

    def _as_known(self, treedef: TreeDef, leaves: Sequence[Any], spec_of: Callable[[Any], TensorSpec]) -> TypedElements:
        if self._known is None:
            self._learn(treedef, [spec_of(leaf) for leaf in leaves])
        known = self._shown()
        if treedef != known.treedef:
            raise InvalidArgumentError(
                f"{self._queue}: an example has another structure than the first: {treedef}, not {known.treedef}"
            )
        return known.typed

    def _learn(self, treedef: TreeDef, specs: Sequence[TensorSpec]) -> None:
        with self._learning:  # two threads may bring the first example at once
            if self._known is None:
                self._known = self._first(treedef, specs)

    def _first(self, treedef: TreeDef, specs: Sequence[TensorSpec]) -> _Known:
        shapes: Sequence[_Shape] = self._shapes or [self._shape(spec) for spec in specs]
        if len(shapes) != len(specs):
            raise InvalidArgumentError(f"{self._queue}: {len(shapes)} shapes, but examples of {len(specs)} components")
        known = tuple(TensorSpec(shape, spec.dtype) for shape, spec in zip(shapes, specs, strict=True))
        return _Known(treedef, TypedElements(queue=self._queue, specs=known, pads=self._dynamic_pad))

    def _shape(self, spec: TensorSpec) -> _Shape:
        return (None,) * len(spec.shape or ()) if self._dynamic_pad else spec.shape


def _spec_of_rows(column: np.ndarray) -> TensorSpec:
    dtype: Any = leaf_spec(column).dtype
    return TensorSpec(column.shape[1:], dtype)
