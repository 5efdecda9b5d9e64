"""Plan nodes that put elements together or take them apart: the batches, unbatch, rebatch."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from headrace.arguments import check_flags, check_int, check_parallel_calls
from headrace.elements.ragged import RaggedTensor
from headrace.elements.structure import flatten, normalize, unflatten
from headrace.elements.tensor_spec import DatasetSpec, TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Spec, UnaryNode
from headrace.plan.padding import Padding

__all__ = ["PADS_NO_DATASETS", "Batch", "CyclingBatch", "PaddedBatch", "RaggedBatch", "Unbatch"]

_INT64 = np.dtype(np.int64)
PADS_NO_DATASETS = (
    "a dataset cannot be padded; to pad what windows hold, flat_map(lambda window: window.padded_batch(…))"
)


@frozen(kw_only=True, eq=False)
class Batch(UnaryNode):
    """Runs of consecutive elements, stacked along a new first axis."""

    op: ClassVar[str] = "batch"
    changeable: ClassVar[str | None] = "batch_size"
    tuning: ClassVar[frozenset[str]] = frozenset({"num_parallel_calls", "deterministic"})
    # Whether a remainder in which an element failed is dropped like any other, where remainders are.
    drops_failed: ClassVar[bool] = False
    batch_size: int
    drop_remainder: bool = False
    num_parallel_calls: int | None = None
    deterministic: bool | None = None

    def __post_init__(self) -> None:
        if self.num_parallel_calls is not None:
            check_parallel_calls(self.num_parallel_calls, stage=self.op)
        check_flags(self, "drop_remainder")
        if self.deterministic is not None:
            check_flags(self, "deterministic")
        size = self.batch_size
        if type(size) is not int:
            size = check_int(size, field="batch_size", stage=self.op)
            object.__setattr__(self, "batch_size", size)
        if size < 1:
            raise InvalidArgumentError(f"batch_size must be at least 1, not {size}", stage=self.op)

    def _cardinality(self) -> int:
        """Returns the number of whole batches, and one for the rest unless it is dropped."""
        count = self.input.cardinality()
        if count < 0:
            return count
        return count // self.batch_size if self.drop_remainder else -(-count // self.batch_size)

    def _spec(self) -> Spec:
        """Returns the spec of its input, with the batch's axis first."""
        inner = self.input.spec()
        if inner is None:
            return None
        leaves, treedef = flatten(inner)
        size = self.batch_size if self.drop_remainder or self._divides() else None
        return unflatten(treedef, [leaf.with_shape(_batched_shape(size, leaf)) for leaf in leaves])

    def _divides(self) -> bool:
        """Returns whether it batches anew what came in batches of a known size, a multiple of its own: then no rest is left."""
        return isinstance(self.input, Unbatch) and _divide(self.batch_size, self.input.input.spec())

    def parameters(self) -> dict[str, Any]:
        """Returns its size, what becomes of the rest, and how it is made."""
        parallel = {"num_parallel_calls": self.num_parallel_calls} if self.num_parallel_calls is not None else {}
        return {"batch_size": self.batch_size, "drop_remainder": self.drop_remainder, **parallel}


@frozen(kw_only=True, eq=False)
class PaddedBatch(Batch):
    """Runs of consecutive elements, padded to one shape."""

    op: ClassVar[str] = "padded_batch"
    padding: Padding

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is another class than the one that is written here.
        Batch.__post_init__(self)
        if self.input.spec_is_of_elements and self.padding.fits_all:
            return  # what is to be refused is when the elements are padded
        spec = self.input.spec()
        if spec is None:
            return
        if any(isinstance(leaf, DatasetSpec) for leaf in flatten(spec)[0]):
            raise TypeError(f"{self.op}: {PADS_NO_DATASETS}")
        self.padding.check(spec, stage=self.op)

    def _spec(self) -> Spec:
        """Returns the spec of its input, padded, with the batch's axis first."""
        inner = self.input.spec()
        if inner is None:
            return None
        size = self.batch_size if self.drop_remainder else None
        leaves, treedef = flatten(inner)
        shapes = self.padding.shapes_of(treedef, [leaf.shape for leaf in leaves])
        specs = [leaf.with_shape((size, *shape)) for shape, leaf in zip(shapes, leaves, strict=True)]
        return unflatten(treedef, specs)

    def parameters(self) -> dict[str, Any]:
        """Returns its size, the shapes and what they are padded with."""
        return {
            "batch_size": self.batch_size,
            "padded_shapes": self.padding.shapes,
            "padding_values": self.padding.values,
            "drop_remainder": self.drop_remainder,
        }


@frozen(kw_only=True, eq=False)
class RaggedBatch(Batch):
    """Runs of consecutive elements, rows of different lengths one after the other."""

    op: ClassVar[str] = "ragged_batch"
    row_splits_dtype: np.dtype[Any] = _INT64

    def __post_init__(self) -> None:
        Batch.__post_init__(self)
        dtype = np.dtype(self.row_splits_dtype)
        if dtype not in (np.dtype(np.int32), _INT64):
            raise InvalidArgumentError(f"row_splits_dtype must be int32 or int64, not {dtype}", stage=self.op)
        object.__setattr__(self, "row_splits_dtype", dtype)

    def _spec(self) -> Spec:
        """Returns the spec of its input, with a ``RaggedTensor`` in place of each component that has an axis."""
        inner = self.input.spec()
        if inner is None:
            return None
        leaves, treedef = flatten(inner)
        if any(leaf.shape is None for leaf in leaves):
            return None  # whether it has an axis
        size = self.batch_size if self.drop_remainder else None
        return normalize(unflatten(treedef, [self._ragged(size, leaf) for leaf in leaves]))

    def _ragged(self, size: int | None, leaf: TensorSpec) -> Any:
        if not leaf.shape:
            return leaf.with_shape((size,))
        splits = None if size is None else size + 1
        return RaggedTensor(leaf.with_shape((None, *leaf.shape[1:])), TensorSpec((splits,), self.row_splits_dtype))

    def parameters(self) -> dict[str, Any]:
        """Returns its size and the dtype of where rows end."""
        return {
            "batch_size": self.batch_size,
            "drop_remainder": self.drop_remainder,
            "row_splits_dtype": self.row_splits_dtype.name,
        }


@frozen(kw_only=True, eq=False)
class CyclingBatch(UnaryNode):
    """Runs of consecutive elements, of sizes in turn."""

    op: ClassVar[str] = "rebatch"
    batch_sizes: tuple[int, ...]
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        check_flags(self, "drop_remainder")
        sizes = tuple(check_int(size, field="batch_size", stage=self.op) for size in self.batch_sizes)
        if not sizes or min(sizes) < 0 or not any(sizes):
            message = f"the sizes must be at least 0, and one of them at least 1, not {list(sizes)}"
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "batch_sizes", sizes)

    def _cardinality(self) -> int:
        """Returns UNKNOWN_CARDINALITY, as only a run could tell, unless it never ends."""
        count = self.input.cardinality()
        return count if count == INFINITE_CARDINALITY else UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Returns the spec of its input, with the batch's axis first."""
        inner = self.input.spec()
        if inner is None:
            return None
        (first, *others), (leaves, treedef) = self.batch_sizes, flatten(inner)
        alike = all(size == first for size in others)
        size = first if alike and (self.drop_remainder or self._divides(first)) else None
        return unflatten(treedef, [leaf.with_shape(_batched_shape(size, leaf)) for leaf in leaves])

    def _divides(self, size: int) -> bool:
        return isinstance(self.input, Unbatch) and _divide(size, self.input.input.spec())

    def parameters(self) -> dict[str, Any]:
        """Returns its sizes and what becomes of the rest."""
        return {"batch_sizes": list(self.batch_sizes), "drop_remainder": self.drop_remainder}


def _divide(size: int, batches: Spec) -> bool:
    """Returns whether batches of this size divide all of those."""
    shapes = [leaf.shape for leaf in flatten(batches)[0]] if batches is not None else []
    return bool(shapes) and all(shape and shape[0] is not None and shape[0] % size == 0 for shape in shapes)


def _batched_shape(size: int | None, leaf: TensorSpec) -> tuple[int | None, ...] | None:
    return None if leaf.shape is None else (size, *leaf.shape)


@frozen(kw_only=True, eq=False)
class Unbatch(UnaryNode):
    """The slices of each element along its first axis."""

    op: ClassVar[str] = "unbatch"

    def __post_init__(self) -> None:
        spec = self.input.spec()
        if spec is None:
            return
        shapes = [leaf.shape for leaf in flatten(spec)[0] if leaf.shape is not None]
        if any(not shape for shape in shapes):
            raise InvalidArgumentError("a scalar cannot be unbatched", stage=self.op)
        sizes = {shape[0] for shape in shapes} - {None}
        if len(sizes) > 1:
            message = f"the components' first axes have different lengths: {sorted(sizes)}"
            raise InvalidArgumentError(message, stage=self.op)

    def _cardinality(self) -> int:
        """Returns the number of rows, where every element has the same, known length."""
        count, spec = self.input.cardinality(), self.input.spec()
        sizes = [leaf.shape and leaf.shape[0] for leaf in flatten(spec)[0]] if spec is not None else []
        known = {size for size in sizes if isinstance(size, int)}
        if count == INFINITE_CARDINALITY:
            return count
        # One length is enough: components that differ from it fail when they come.
        return count * known.pop() if count >= 0 and len(known) == 1 else UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Returns the spec of its input, without the first axis."""
        inner = self.input.spec()
        if inner is None:
            return None
        leaves, treedef = flatten(inner)
        return unflatten(treedef, [leaf.with_shape(leaf.shape and leaf.shape[1:]) for leaf in leaves])
