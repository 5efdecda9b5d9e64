"""Making one value fit the dtype and shape of its component, or saying why it does not.

A cast may lose precision, as in TensorFlow, but never a value: there a fraction becomes an integer and an integer that
does not fit is cut, in silence; here both are errors.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import LEAF
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError

__all__ = ["check_shape", "fit_leaf"]

_NATIVE: Final = frozenset({np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)})
# The kinds of dtypes that a Python number of each type is cast to.
_NUMBERS: Final[dict[type, str]] = {bool: "biufc", int: "iufc", float: "fc"}


def fit_leaf(value: Any, spec: TensorSpec, label: str) -> Any:
    """Returns ``value`` as a leaf of that dtype and shape; it is copied only where it has to be cast.

    Raises:
        InvalidArgumentError: it does not fit; the message begins with ``label``.
    """
    leaf = _objects(value, spec.dtype, label) if isinstance(spec.dtype, type) else _numbers(value, spec.dtype, label)
    check_shape(leaf.shape if isinstance(leaf, np.ndarray) else (), spec, label)
    return leaf


def check_shape(shape: tuple[int, ...], spec: TensorSpec, label: str) -> None:
    """Refuses a shape that is not the component's; a size of None in the component's may be any."""
    if spec.shape is None or shape == spec.shape:
        return
    fits = len(shape) == len(spec.shape) and all(
        wanted is None or size == wanted for size, wanted in zip(shape, spec.shape, strict=True)
    )
    if not fits:
        raise InvalidArgumentError(f"{label}: expected shape {spec.shape}, got {shape}")


def _objects(value: Any, kind: type, label: str) -> Any:
    """Returns a string, or an array of strings; for the kind ``object``, whatever it is."""
    if kind is object or type(value) is kind:
        return value
    array = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    strings = array.astype(object) if array.dtype.kind in "US" else array
    for item in strings.ravel().tolist():
        if not isinstance(item, kind):
            raise InvalidArgumentError(f"{label}: expected {kind.__name__}, got {type(item).__name__}")
    return strings if strings.ndim else strings[()]


def _numbers(value: Any, dtype: np.dtype[Any], label: str) -> Any:
    """Returns an array of that dtype, or for a single number the scalar that elements carry."""
    kind = type(value)
    if kind in _NUMBERS and dtype.kind in _NUMBERS[kind]:
        return _number(value, dtype, label)
    array = value if isinstance(value, np.ndarray) else _as_array(value, dtype, label)
    if array.dtype != dtype:
        array = _cast(array, dtype, label)
    return array if array.ndim else rows_of(LEAF, [array.reshape(1)])[0]


def _number(value: float, dtype: np.dtype[Any], label: str) -> Any:
    """Returns a Python number as the scalar that elements carry; what ``_cast`` does, several times as fast."""
    try:
        number = dtype.type(value)
    except OverflowError:
        raise InvalidArgumentError(f"{label}: a value does not fit {dtype.name}") from None
    return number.item() if dtype in _NATIVE else number


def _as_array(value: Any, dtype: np.dtype[Any], label: str) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidArgumentError(f"{label}: expected {dtype.name}, got what is no array: {error}") from None


def _cast(array: np.ndarray, dtype: np.dtype[Any], label: str) -> np.ndarray:
    if not array.size:
        return array.astype(dtype)  # an empty list has its dtype by accident
    if dtype.kind in "iu" and array.dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if int(array.min()) < bounds.min or int(array.max()) > bounds.max:
            raise InvalidArgumentError(f"{label}: a value does not fit {dtype.name}")
    elif not np.can_cast(array.dtype, dtype, "same_kind"):
        raise InvalidArgumentError(f"{label}: expected {dtype.name}, got {array.dtype.name}")
    return array.astype(dtype)
