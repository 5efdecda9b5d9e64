"""Labels as a network expects them: ``hr.one_hot``, as ``tf.one_hot``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["one_hot"]


def one_hot(
    indices: npt.ArrayLike,
    depth: int,
    on_value: Any = None,
    off_value: Any = None,
    axis: int = -1,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
) -> npt.NDArray[Any]:
    """Turns class numbers into vectors with a 1 at the place of the class, as ``tf.one_hot``.

    Args:
        indices: integers of any shape. One that is no class, such as -1, becomes a vector of zeros.
        depth: the number of classes.
        on_value: what stands at the place of the class; 1 when None.
        off_value: what stands at the others; 0 when None.
        axis: where the new axis stands; -1 is last.
        dtype: of the result; when None that of the values, and float32 when there are none.
        name: accepted for the sake of ported programs.

    Returns:
        An array with one axis more than ``indices``, of length ``depth``.

    Raises:
        InvalidArgumentError: the indices are no integers, the depth is negative, or there is no such axis.

    Example:
        >>> import headrace as hr
        >>> hr.one_hot([0, 2, -1], 3)
        array([[1., 0., 0.],
               [0., 0., 1.],
               [0., 0., 0.]], dtype=float32)
    """
    places = np.asarray(indices)
    if places.dtype.kind not in "iu" and places.size:
        raise InvalidArgumentError(f"indices are integers, and not {places.dtype}")
    if depth < 0 or not -1 <= axis <= places.ndim:
        raise InvalidArgumentError(f"there is no axis {axis} of length {depth} in a result of {places.ndim + 1} axes")
    given = [np.asarray(value) for value in (on_value, off_value) if value is not None]
    wanted = np.dtype(dtype) if dtype is not None else np.result_type(*given) if given else np.dtype(np.float32)
    on, off = (1 if on_value is None else on_value), (0 if off_value is None else off_value)
    at = places.ndim if axis == -1 else axis
    classes = np.arange(depth).reshape(-1, *[1] * (places.ndim - at))
    return np.where(np.expand_dims(places, at) == classes, np.asarray(on, wanted), np.asarray(off, wanted))
