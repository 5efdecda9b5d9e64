"""Plan nodes that read nothing: where elements come from."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from headrace.arguments import check_flags, check_int, check_runs
from headrace.elements.leaf_arrays import (
    NUMPYS_TEXTS,
    PLAIN_LEAVES,
    PYTHON_NUMBERS,
    array_of_items,
    check_unmasked,
    object_array,
    tensor_as_array,
)
from headrace.elements.leaf_specs import spec_of
from headrace.elements.ownership import read_only, read_only_array
from headrace.elements.rows_and_columns import scalars_as_elements
from headrace.elements.structure import (
    LEAF,
    Element,
    TreeDef,
    flatten,
    flatten_as_written,
    normalize,
    paths_of,
    unflatten,
)
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen, maker
from headrace.plan.node import INFINITE_CARDINALITY, Node, Spec
from headrace.plan.randomness import Randomness

__all__ = ["FromGenerator", "FromTensorSlices", "FromTensors", "RandomSource", "Range"]

_INT64 = np.dtype(np.int64)


@frozen(kw_only=True, eq=False)
class FromTensors(Node):
    """One element: the structure itself."""

    op: ClassVar[str] = "from_tensors"
    element: Element
    element_spec: Spec = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        known = _SCALARS.get(type(self.element))
        if known is not None:
            object.__setattr__(self, "element_spec", known)
            return
        if type(self.element) is np.ndarray and self.element.ndim and self.element.dtype.kind in "biufc":
            # As functions make them by the thousand: the same, without a look for structure.
            object.__setattr__(self, "element_spec", _spec_of_array(self.element.shape, self.element.dtype))
            object.__setattr__(self, "element", read_only_array(self.element))
            return
        object.__setattr__(self, "element_spec", spec_of(self.element))
        object.__setattr__(self, "element", scalars_as_elements(read_only(normalize(self.element))))

    def cardinality(self) -> int:
        """Returns 1; there is nothing to remember, here and below."""
        return 1

    def spec(self) -> Spec:
        """Returns what the element is; there is nothing to remember."""
        return self.element_spec

    def parameters(self) -> dict[str, Any]:
        """Returns its shape and type; the values are the user's own."""
        return {"element": str(self.spec())}


@frozen(kw_only=True, eq=False)
class FromTensorSlices(Node):
    """One element for each index of the arrays' first axis.

    Attributes:
        treedef: the structure of an element.
        columns: the arrays, of which nobody writes to these; what the user has is here in views.
        given: what the components were before they were arrays; None where they were arrays of numbers.
    """

    op: ClassVar[str] = "from_tensor_slices"
    changeable: ClassVar[str | None] = "length"
    treedef: TreeDef
    columns: tuple[np.ndarray, ...]
    given: Spec = None

    @classmethod
    def of(cls, tensors: Element, *, name: str | None = None) -> FromTensorSlices:
        """Returns the node for a structure of arrays.

        Raises:
            InvalidArgumentError: no component, a scalar, a mask, or lengths that differ; the component is named.
        """
        texts = _column_of_texts(tensors)
        if texts is not None:
            whole = _spec_of_array(texts.shape, type(tensors[0]))  # type: ignore[arg-type]  # every class has a hash
            return _new_slices(treedef=LEAF, columns=(texts,), given=whole, name=name)
        plain = _plain_arrays(tensors)
        if plain is not None:
            return cls._of_plain(*plain, name=name)
        tensors = _with_arrays(tensors)
        written = flatten_as_written(tensors)[0]
        leaves, treedef = flatten(normalize(tensors))
        if not leaves:
            raise InvalidArgumentError("there is no component to slice", stage=cls.op)
        for path, leaf in zip(paths_of(treedef), leaves, strict=True):
            check_unmasked(leaf, f"slices of component {path}" if path else "slices", stage=cls.op)
        columns = tuple(map(_sliceable, leaves, written if len(written) == len(leaves) else leaves))
        cls._check_lengths(columns, treedef)
        return cls(treedef=treedef, columns=columns, given=spec_of(tensors), name=name)

    @classmethod
    def _of_plain(cls, arrays: list[np.ndarray], treedef: TreeDef, *, name: str | None) -> FromTensorSlices:
        """Returns the same for arrays of numbers: functions make many such datasets, each of few elements."""
        columns = tuple(map(read_only_array, arrays))
        cls._check_lengths(columns, treedef)
        return _new_slices(treedef=treedef, columns=columns, name=name)

    @classmethod
    def _check_lengths(cls, columns: tuple[np.ndarray, ...], treedef: TreeDef) -> None:
        if len(columns) == 1 and columns[0].ndim:
            return
        lengths = {len(column) if column.ndim else None for column in columns}
        if len(lengths) == 1 and None not in lengths:
            return
        for path, column in zip(paths_of(treedef), columns, strict=True):
            if column.ndim == 0:
                what = f"component {path}" if path else "what it is given"
                message = f"{what} is a scalar, which has no slices: give a list or an array"
                raise InvalidArgumentError(message, stage=cls.op)
            if len(column) != len(columns[0]):
                message = f"component {path} has {len(column)} slices, the first component has {len(columns[0])}"
                raise InvalidArgumentError(message, stage=cls.op)

    def cardinality(self) -> int:
        """Returns the length of the first axis."""
        return len(self.columns[0])

    def _spec(self) -> Spec:
        """Returns the components without their first axis."""
        wholes: Sequence[Any] = self.columns if self.given is None else flatten(self.given)[0]
        return unflatten(self.treedef, [TensorSpec(whole.shape[1:], whole.dtype) for whole in wholes if whole.shape])

    def parameters(self) -> dict[str, Any]:
        """Shapes and types; the values are the user's own."""
        return {"length": self.cardinality(), "element": str(self.spec())}


# Functions make such datasets of elements by the thousand.
_new_slices: Final = maker(FromTensorSlices)

_NUMBERS: Final = "biufc"  # the kinds of dtypes of which an array is what it seems, and an element's leaf as it is
_PLAIN_NUMBERS: Final = ({int}, {float}, {bool}, set[type]())
_PLAIN_TEXTS: Final = ({str}, {bytes})
# What Python's own scalars are as elements: themselves.
_SCALARS: Final = {kind: TensorSpec((), dtype) for kind, dtype in (*PYTHON_NUMBERS.items(), (str, str), (bytes, bytes))}


def _column_of_texts(element: Element) -> np.ndarray | None:
    """Returns the array of a list of texts of one kind, as functions make of what they split; None of anything else."""
    if type(element) is not list or set(map(type, element)) not in _PLAIN_TEXTS:
        return None
    column = object_array(element)
    column.flags.writeable = False
    return column


def _plain_arrays(element: Element) -> tuple[list[np.ndarray], TreeDef] | None:
    """Returns the arrays in a structure that plainly holds arrays of numbers, as most do, and that structure; else None."""
    kind = type(element)
    if kind is np.ndarray:
        return ([element], LEAF) if element.dtype.kind in _NUMBERS else None
    if kind is list:
        return _plain_arrays(array_of_items(element)) if set(map(type, element)) in _PLAIN_NUMBERS else None
    parts = element if kind is tuple else element.values() if kind is dict else ()
    for part in parts:
        if type(part) is not np.ndarray or part.dtype.kind not in _NUMBERS:
            return None
    if kind is dict and set(map(type, element)) == {str}:
        keys, treedef = _structure_of(tuple(element))
        return [element[key] for key in keys], treedef
    return flatten(element) if parts else None


@functools.lru_cache(maxsize=128)
def _structure_of(keys: tuple[str, ...]) -> tuple[list[str], TreeDef]:
    """Returns the keys of a dict of leaves in the order of its structure, and that.

    To find it takes as long as all else, and one object for many datasets is seen to be the same at once.
    """
    return flatten(dict(zip(keys, keys, strict=True)))


def _with_arrays(element: Element) -> Element:
    """Returns the element with the arrays of other libraries as NumPy's, so that their shapes are known."""
    leaves, treedef = flatten_as_written(element)
    return unflatten(treedef, [np.asarray(tensor_as_array(leaf)) if _is_foreign(leaf) else leaf for leaf in leaves])


def _is_foreign(leaf: Any) -> bool:
    return (
        type(leaf) not in PLAIN_LEAVES and hasattr(leaf, "__array__") and not isinstance(leaf, np.ndarray | np.generic)
    )


def _sliceable(leaf: Any, written: Any) -> np.ndarray:
    """Returns a leaf as an array that nobody writes to: itself, where it was made here of what was written, else a view."""
    was_made = type(written) is list or (type(written) is np.ndarray and written.dtype.kind in NUMPYS_TEXTS)
    if was_made and type(leaf) is np.ndarray and leaf.flags.owndata:
        leaf.flags.writeable = False
        return leaf
    return read_only(np.asarray(leaf))  # type: ignore[no-any-return]  # an array stays one


# What tf.data holds a range's numbers in: others would come around at the other end, in silence.
_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 63) - 1


@frozen(kw_only=True, eq=False)
class Range(Node):
    """``start, start + step, …`` before ``stop``; without a stop it never ends."""

    op: ClassVar[str] = "range"
    changeable: ClassVar[str | None] = "stop"
    start: int
    stop: int | None
    step: int
    dtype: np.dtype[Any] = _INT64

    def __post_init__(self) -> None:
        start, stop, step = self.start, self.stop, self.step
        is_plain = type(start) is type(stop) is type(step) is int
        if not is_plain or not (_LEAST <= start <= _MOST and _LEAST <= stop <= _MOST and _LEAST <= step <= _MOST):  # type: ignore[operator]  # all are ints
            self._have_numbers()
        if self.dtype is not _INT64:
            object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if self.step == 0 and self.stop is not None:
            raise InvalidArgumentError("step must not be 0", stage=self.op)

    def _have_numbers(self) -> None:
        for field, value in (("start", self.start), ("stop", self.stop), ("step", self.step)):
            if value is not None or field != "stop":
                number = check_int(value, field=field, stage=self.op)
                if not _LEAST <= number <= _MOST:
                    message = f"{field} must be an int of 64 bits, from {_LEAST} to {_MOST}, not {number}"
                    raise InvalidArgumentError(message, stage=self.op)
                object.__setattr__(self, field, number)

    def cardinality(self) -> int:
        """Returns the number of steps before the stop."""
        if self.stop is None:
            return INFINITE_CARDINALITY
        return len(range(self.start, self.stop, self.step))

    def spec(self) -> Spec:
        """Returns a scalar; there is nothing to remember."""
        return _spec_of_scalars(self.dtype)

    def parameters(self) -> dict[str, Any]:
        """Returns its three numbers and its dtype."""
        return {"start": self.start, "stop": self.stop, "step": self.step, "dtype": self.dtype.name}


@functools.lru_cache(maxsize=32)
def _spec_of_scalars(dtype: np.dtype[Any]) -> TensorSpec:
    return TensorSpec((), dtype)


@functools.lru_cache(maxsize=256)
def _spec_of_array(shape: tuple[int, ...], dtype: Hashable) -> TensorSpec:
    return TensorSpec(shape, dtype)


@frozen(kw_only=True, eq=False)
class RandomSource(Node):
    """Endless uniform integers of 64 bits."""

    op: ClassVar[str] = "random"
    randomness: Randomness
    rerandomize_each_iteration: bool = False

    def __post_init__(self) -> None:
        check_flags(self, "rerandomize_each_iteration")

    def cardinality(self) -> int:
        """Returns INFINITE_CARDINALITY: it never ends."""
        return INFINITE_CARDINALITY

    def _spec(self) -> Spec:
        """Returns a scalar int64."""
        return TensorSpec((), _INT64)

    def parameters(self) -> dict[str, Any]:
        """Returns its seed and whether epochs differ."""
        return {"seed": self.randomness.seed, "rerandomize_each_iteration": self.rerandomize_each_iteration}


@frozen(kw_only=True, eq=False)
class FromGenerator(Node):
    """What a user's generator yields, run anew in every epoch."""

    op: ClassVar[str] = "from_generator"
    generator: Callable[..., Any]
    args: tuple[Any, ...] = ()
    signature: Spec = None

    def __post_init__(self) -> None:
        if not callable(self.generator):
            raise TypeError(
                f"from_generator: generator must be a function that is called for each epoch, not {type(self.generator).__name__}"
            )
        check_runs(self.generator, stage=self.op, may_yield=True)

    def _spec(self) -> Spec:
        """Returns the signature that the user gave."""
        return self.signature

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the generator function."""
        return (self.generator,)

    def parameters(self) -> dict[str, Any]:
        """Returns the signature."""
        return {"signature": str(self.signature), "args": len(self.args)}
