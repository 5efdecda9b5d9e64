"""To which shape each component of a padded batch is padded, and with what."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.errors import DataLossError, InvalidArgumentError
from headrace.ragged import padded
from headrace.structure import TreeDef, flatten, paths_of
from headrace.tensor_spec import TensorSpec

__all__ = ["Padding"]

Shape = tuple[int | None, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """What a user said of shapes and values; how it fits elements is seen when one is there, or its specification.

    Attributes:
        shapes: None, or a structure like the elements' with a shape in place of each component: its sizes, None or -1
            where the longest of the batch counts.
        values: None, or one value for all components, or a structure of values.
    """

    shapes: Any = None
    values: Any = None

    def check(self, spec: Any, *, stage: str) -> None:
        """Refuses what is known not to fit.

        Raises:
            InvalidArgumentError: structure, rank or size do not fit, or a rank is unknown and no shape is given.
            TypeError: a value is of another kind than its component.
        """
        leaves, treedef = flatten(spec)
        try:
            shapes = self.shapes_of(treedef, [leaf.shape for leaf in leaves])
            values = self._values_of(treedef)
        except InvalidArgumentError as error:
            raise error.located(stage=stage, origin=None) from None
        for path, leaf, shape, value in zip(paths_of(treedef), leaves, shapes, values, strict=True):
            _check_component(path, leaf, shape, value, stage=stage)

    def shapes_of(self, treedef: TreeDef, known: Sequence[Shape | None]) -> list[Shape]:
        """The shape for each component; ``known`` are those of the components as far as one knows them.

        Raises:
            InvalidArgumentError: the structure is not the elements', a shape is none, or a rank is not known.
        """
        if self.shapes is None:
            for path, shape in zip(paths_of(treedef), known, strict=True):
                if shape is None:
                    component = f"component {path}" if path else "the element"
                    raise InvalidArgumentError(f"the rank of {component} is not known: give padded_shapes")
            # A size that is known to be the same for all is the longest as well.
            return [tuple(shape or ()) for shape in known]
        parts = _like(treedef, self.shapes, "padded_shapes")
        return [_shape(part) for part in parts]

    def _values_of(self, treedef: TreeDef) -> list[Any]:
        if self.values is None or treedef.is_leaf() or _is_scalar(self.values):
            return [self.values] * treedef.num_leaves
        return _like(treedef, self.values, "padding_values")

    def stacked(self, treedef: TreeDef, columns: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
        """The padded batch, an array for each component.

        Raises:
            InvalidArgumentError: the arrays do not fit together, or not with what was said.
            DataLossError: one is longer than its shape.
            TypeError: a value is of another kind than its component.
        """
        shapes = self.shapes_of(treedef, [(None,) * column[0].ndim for column in columns])
        made = []
        for path, column, shape, value in zip(
            paths_of(treedef), columns, shapes, self._values_of(treedef), strict=True
        ):
            try:
                made.append(_padded(column, shape, value))
            except (InvalidArgumentError, DataLossError, TypeError) as error:
                reason = getattr(error, "reason", str(error))
                raise type(error)(f"component {path}: {reason}" if path else reason) from None
        return made


def _padded(column: Sequence[np.ndarray], shape: Shape, value: Any) -> np.ndarray:
    for array in column:
        if array.ndim != len(shape):
            raise InvalidArgumentError(f"the padded shape {list(shape)} does not fit the shape {list(array.shape)}")
        if any(size is not None and size < own for size, own in zip(shape, array.shape, strict=True)):
            raise DataLossError(f"an element of shape {list(array.shape)} does not fit into {list(shape)}")
    _check_kind(value, column[0].dtype if column[0].dtype != object else str)
    return padded(list(column), shape, value)


def _like(treedef: TreeDef, given: Any, name: str) -> list[Any]:
    """The parts of what was given, one for each component."""
    try:
        return [given] if treedef.is_leaf() else treedef.flatten_up_to(given)
    except ValueError:
        raise InvalidArgumentError(f"{name} must have the elements' structure, and {given!r} has not") from None


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, bytes)) or (np.ndim(value) == 0 and not isinstance(value, (dict, tuple, list)))


def _shape(part: Any) -> Shape:
    if not isinstance(part, (list, tuple, np.ndarray)):
        raise InvalidArgumentError(f"a padded shape is a list of sizes, not {part!r}")
    return tuple(_size(size) for size in part)


def _size(size: Any) -> int | None:
    if size is None or (hasattr(size, "__index__") and size.__index__() == -1):
        return None
    if isinstance(size, bool) or not hasattr(size, "__index__") or size.__index__() < 0:
        raise InvalidArgumentError(
            f"a size in a padded shape is at least 0, or None or -1 for the longest, not {size!r}"
        )
    return int(size.__index__())


def _check_component(path: str, leaf: TensorSpec, shape: Shape, value: Any, *, stage: str) -> None:
    component = f"component {path}" if path else "the element"
    if leaf.shape is not None:
        fits = len(shape) == len(leaf.shape) and all(
            wanted is None or own is None or wanted >= own for wanted, own in zip(shape, leaf.shape, strict=True)
        )
        if not fits:
            message = f"the padded shape {list(shape)} does not fit the shape {list(leaf.shape)} of {component}"
            raise InvalidArgumentError(message, stage=stage)
    _check_kind(value, leaf.dtype, f"{stage}: {component}: ")


def _check_kind(value: Any, dtype: Any, where: str = "") -> None:
    """Refuses a value that is of another kind than a component: a float for ints, a text for numbers."""
    if value is None or dtype is object:
        return
    is_text = isinstance(value, (str, bytes))
    if dtype in (str, bytes):
        fits = is_text
    else:
        fits = not is_text and np.can_cast(np.min_scalar_type(value), dtype, "same_kind")
    if not fits:
        name = dtype.__name__ if isinstance(dtype, type) else dtype.name
        raise TypeError(f"{where}the padding value {value!r} does not fit the dtype {name}")
