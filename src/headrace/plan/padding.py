"""To which shape each component of a padded batch is padded, and with what."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.ragged import padded
from headrace.elements.structure import TreeDef, flatten, flatten_as_written, paths_of
from headrace.elements.tensor_spec import Spec, TensorSpec
from headrace.errors import DataLossError, InvalidArgumentError
from headrace.frozen import frozen
from headrace.known_as import known_as

__all__ = ["Padding", "check_kind"]

Shape = tuple[int | None, ...]


@known_as("padding")
@frozen(kw_only=True)
class Padding:
    """What a user said of shapes and values; how it fits elements is seen when one is there, or its specification.

    Attributes:
        shapes: None, or a structure like the elements' with a shape in place of each component: its sizes, None or -1
            where the longest of the batch counts.
        values: None, or one value for all components, or a structure of values, in which None is the default for whatever
            stands in its place.
    """

    shapes: Any = None
    values: Any = None

    @property
    def fits_all(self) -> bool:
        """Whether nothing was said, so that all that can be padded to its longest fits."""
        return self.shapes is None and self.values is None

    def check(self, spec: Any, *, stage: str) -> None:
        """Refuses what is known not to fit.

        Raises:
            InvalidArgumentError: structure, rank or size do not fit, or a rank is unknown and no shape is given.
            TypeError: a value is of another kind than its component, or a size is no int.
        """
        leaves, treedef = flatten(spec)
        try:
            shapes = self.shapes_of(treedef, [leaf.shape for leaf in leaves])
            values = self.values_of(treedef)
        except InvalidArgumentError as error:
            raise error.located(stage=stage, origin=None) from None
        except TypeError as error:
            raise TypeError(f"{stage}: {error}") from None
        for path, leaf, shape, value in zip(paths_of(treedef), leaves, shapes, values, strict=True):
            _check_component(path, leaf, shape, value, stage=stage)

    def shapes_of(self, treedef: TreeDef, known: Sequence[Shape | None]) -> list[Shape]:
        """Returns the shape for each component; ``known`` are those of the components as far as one knows them.

        Raises:
            InvalidArgumentError: the structure is not the elements', a shape is none, or a rank is not known.
            TypeError: a size is no int.
        """
        if self.shapes is None:
            for index, shape in enumerate(known):
                if shape is None:
                    path = paths_of(treedef)[index]
                    component = f"component {path}" if path else "the element"
                    raise InvalidArgumentError(f"the rank of {component} is not known: give padded_shapes")
            # A size that is known to be the same for all is the longest as well.
            return [tuple(shape or ()) for shape in known]
        parts = _like(treedef, self.shapes, "padded_shapes")
        return [_shape(part) for part in parts]

    def values_of(self, treedef: TreeDef) -> list[Any]:
        """Returns what each component is padded with; None for 0, or an empty text.

        Raises:
            InvalidArgumentError: the structure is not the elements'.
        """
        if treedef.is_leaf() or _is_scalar(self.values):
            return [self.values] * treedef.num_leaves
        return _values(treedef, self.values)

    def stacked(
        self, treedef: TreeDef, columns: Sequence[np.ndarray | list[np.ndarray]], known: Callable[[], Spec]
    ) -> list[np.ndarray]:
        """Returns the padded batch, an array for each component.

        Args:
            treedef: the structure of the elements.
            columns: of each component its arrays, or one array of all, where they are scalars.
            known: returns the specification of the elements, or None: it tells bytes from texts where none is there.

        Raises:
            InvalidArgumentError: the arrays do not fit together, or not with what was said.
            DataLossError: one is longer than its shape.
            TypeError: a value is of another kind than its component.
        """
        ranks = [0 if isinstance(column, np.ndarray) else column[0].ndim for column in columns]
        shapes = self.shapes_of(treedef, [(None,) * rank for rank in ranks])
        made = []
        for index, (column, shape, value) in enumerate(zip(columns, shapes, self.values_of(treedef), strict=True)):
            try:
                if isinstance(column, np.ndarray):
                    made.append(_scalars(column, shape, value))
                else:
                    made.append(_padded(column, shape, _empty_bytes(column, known, index) if value is None else value))
            except (InvalidArgumentError, DataLossError) as error:
                raise error.with_reason(_of_component(treedef, index, error.reason)) from None
            except TypeError as error:
                raise TypeError(_of_component(treedef, index, str(error))) from None
        return made


def _of_component(treedef: TreeDef, index: int, reason: str) -> str:
    path = paths_of(treedef)[index]
    return f"component {path}: {reason}" if path else reason


def _empty_bytes(column: Sequence[np.ndarray], known: Callable[[], Spec], index: int) -> bytes | None:
    """Returns what bytes are padded with, where there are none of which that could be seen."""
    if column[0].dtype != object or any(array.size for array in column):
        return None
    spec = known()
    leaves = [] if spec is None else flatten(spec)[0]
    return b"" if index < len(leaves) and leaves[index].dtype is bytes else None


_ndim: Final = operator.attrgetter("ndim")


def _scalars(column: np.ndarray, shape: Shape, value: Any) -> np.ndarray:
    """Returns scalars, in which there is nothing to pad."""
    if shape:
        raise _does_not_fit(shape, ())
    check_kind(value, column.dtype if column.dtype != object else str)
    return column


def _does_not_fit(shape: Shape, own: Shape) -> InvalidArgumentError:
    return InvalidArgumentError(f"the padded shape {list(shape)} does not fit the shape {list(own)}")


def _padded(column: list[np.ndarray], shape: Shape, value: Any) -> np.ndarray:
    is_open = all(size is None for size in shape)
    for array in column if not is_open or set(map(_ndim, column)) != {len(shape)} else ():
        if array.ndim != len(shape):
            raise _does_not_fit(shape, array.shape)
        if any(size is not None and size < own for size, own in zip(shape, array.shape, strict=True)):
            raise DataLossError(f"an element of shape {list(array.shape)} does not fit into {list(shape)}")
    check_kind(value, column[0].dtype if column[0].dtype != object else str)
    return padded(column, shape, value)


def _like(treedef: TreeDef, given: Any, name: str) -> list[Any]:
    """Returns the parts of what was given, one for each component."""
    try:
        return [given] if treedef.is_leaf() else treedef.flatten_up_to(given)
    except ValueError:
        raise InvalidArgumentError(f"{name} must have the elements' structure, and {given!r} has not") from None


def _values(treedef: TreeDef, given: Any) -> list[Any]:
    """Returns a value for each component; None stands for the defaults of a whole part of the structure."""
    if given is None:
        return [None] * treedef.num_leaves
    if treedef.is_leaf():
        return [given]
    one_level = treedef.one_level()
    assert one_level is not None  # only a leaf has none
    parts = zip(treedef.children(), _like(one_level, given, "padding_values"), strict=True)
    return [value for child, part in parts for value in _values(child, part)]


def _is_scalar(value: Any) -> bool:
    if value is None or isinstance(value, (str, bytes)):
        return True
    return flatten_as_written(value)[1].is_leaf() and np.ndim(value) == 0


def _shape(part: Any) -> Shape:
    sizes = (part,) if hasattr(part, "__index__") and not isinstance(part, np.ndarray) else part
    if not isinstance(sizes, (list, tuple, np.ndarray)):
        raise InvalidArgumentError(f"a shape in padded_shapes is a list of sizes, or one int, and not {part!r}")
    return tuple(_size(size) for size in sizes)


def _size(size: Any) -> int | None:
    if size is None:
        return None
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(f"a size in padded_shapes must be an int, or None for the longest, not {size!r}")
    if size.__index__() < -1:
        message = f"a size in padded_shapes is at least 0, or None or -1 for the longest, not {size!r}"
        raise InvalidArgumentError(message)
    return None if size.__index__() == -1 else int(size.__index__())


def _check_component(path: str, leaf: TensorSpec, shape: Shape, value: Any, *, stage: str) -> None:
    component = f"component {path}" if path else "the element"
    if leaf.shape is not None:
        fits = len(shape) == len(leaf.shape) and all(
            wanted is None or own is None or wanted >= own for wanted, own in zip(shape, leaf.shape, strict=True)
        )
        if not fits:
            message = f"the padded shape {list(shape)} does not fit the shape {list(leaf.shape)} of {component}"
            raise InvalidArgumentError(message, stage=stage)
    check_kind(value, leaf.dtype, f"{stage}: {component}: ")


def check_kind(value: Any, dtype: Any, where: str = "") -> None:
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
