"""Leaves as arrays: what leaves are made of, and how many of them stand along a new axis.

Strings, bytes and other objects live in object arrays: no length is fixed, and no trailing NUL is lost.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from headrace.elements.tensor_classes import is_tensor_class
from headrace.errors import InvalidArgumentError, MissingExtraError, said

__all__ = [
    "NORMAL_LEAVES",
    "NUMPYS_TEXTS",
    "OF_MANY_DTYPES",
    "PLAIN_LEAVES",
    "PYTHON_NUMBERS",
    "array_of_items",
    "as_arrays",
    "check_unmasked",
    "common_items",
    "native",
    "object_array",
    "plain_array",
    "stack",
    "stack_scalars",
    "tensor_as_array",
    "without_fixed_texts",
]

_NUMPY_SCALARS: Final = frozenset(
    np.dtype(code).type for code in np.typecodes["All"] if np.dtype(code).type is not np.object_
)
# One type of scalar, several dtypes: lengths of text, units of time.
OF_MANY_DTYPES: Final = (np.str_, np.bytes_, np.void, np.datetime64, np.timedelta64)
PYTHON_NUMBERS: Final = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}
_PYTHON_SCALARS: Final = frozenset({*PYTHON_NUMBERS, complex, str, bytes})
_COMPLEX: Final = np.dtype(np.complex128)
_BEYOND_INT64: Final = 2.0**63
PLAIN_LEAVES: Final = frozenset({*_PYTHON_SCALARS, np.ndarray, *_NUMPY_SCALARS})
_TEXTS: Final = frozenset({str, bytes})
_dtype: Final = operator.attrgetter("dtype")
# The kinds of dtypes of NumPy's own texts: of a fixed length, and StringDType.
NUMPYS_TEXTS: Final = "UST"
# Leaves as elements carry them, but for arrays of texts of a fixed length.
NORMAL_LEAVES: Final = PLAIN_LEAVES - {np.str_, np.bytes_}


def without_fixed_texts(array: np.ndarray) -> np.ndarray:
    """Returns the array with NumPy's own texts as objects."""
    return np.asarray(array).astype(object) if array.dtype.kind in NUMPYS_TEXTS else array


def stack(leaves: Sequence[Any], kinds: AbstractSet[type] | None = None) -> np.ndarray:
    """Returns the leaves, of these types, along a new first axis.

    Raises:
        InvalidArgumentError: they differ in shape or in dtype.
    """
    kinds = kinds or set(map(type, leaves))
    if (stacked := stack_scalars(leaves, kinds)) is not None:
        return stacked
    if kinds == {np.ndarray} and (stacked := _stack_like_arrays(leaves)) is not None:
        return stacked
    if len(kinds) == 1 and is_tensor_class(*kinds) and (stacked := _stack_tensors(leaves)) is not None:
        return stacked
    return _stack_arrays([_as_array(leaf) for leaf in leaves])


def _stack_tensors(leaves: Sequence[Any]) -> np.ndarray | None:
    """Returns tensors of one dtype and shape along a new axis; None where they are to be looked at one by one."""
    if len({(leaf.dtype, leaf.shape) for leaf in leaves}) > 1:
        return None
    try:
        with sys.modules["torch"].no_grad():
            return native(np.asarray(tensor_as_array(sys.modules["torch"].stack(leaves))))
    except Exception:  # noqa: BLE001 - it is sparse, or on another device; what is said of that is said of the first one
        return None


def stack_scalars(leaves: Sequence[Any], kinds: AbstractSet[type]) -> np.ndarray | None:
    """Returns scalars of these types along a new axis; None where the types do not say that they are scalars of one dtype.

    Raises:
        InvalidArgumentError: a Python int has too many digits.
    """
    kind = next(iter(kinds)) if len(kinds) == 1 else object
    if kind in PYTHON_NUMBERS:
        return _stack_numbers(leaves, PYTHON_NUMBERS[kind])
    if kind is complex:
        return _stack_numbers(leaves, _COMPLEX)
    if kind in _NUMPY_SCALARS and not issubclass(kind, OF_MANY_DTYPES):
        return np.array(leaves)
    return object_array(leaves) if kinds <= _TEXTS else None


def as_arrays(leaves: Sequence[Any], kinds: AbstractSet[type]) -> list[np.ndarray]:
    """Returns each leaf, of these types, as an array; a scalar has no axes, and a text or an object is an object array's."""
    if kinds == {np.ndarray} and all(dtype.isnative for dtype in set(map(_dtype, leaves))):
        return list(leaves)
    return [_as_array(leaf) for leaf in leaves]


def _stack_numbers(leaves: Sequence[Any], dtype: np.dtype[Any]) -> np.ndarray:
    try:
        return np.fromiter(leaves, dtype=dtype, count=len(leaves))
    except OverflowError as error:
        message = f"a Python int does not fit {dtype.name}: {error}"
        raise InvalidArgumentError(message) from error


def native(array: np.ndarray) -> np.ndarray:
    """Returns the array in this machine's byte order, in which every batch is."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _as_array(leaf: Any) -> np.ndarray:
    if type(leaf) is np.ndarray and leaf.dtype.isnative:
        return leaf
    if isinstance(leaf, np.ndarray):
        check_unmasked(leaf, "a batch")
        return native(np.asarray(leaf))  # a matrix would not have one axis more
    kind = type(leaf)
    if kind in PYTHON_NUMBERS:
        return _stack_numbers([leaf], PYTHON_NUMBERS[kind]).reshape(())
    if kind is complex:
        return np.asarray(leaf)
    if isinstance(leaf, (str, bytes)) or not hasattr(leaf, "__array__"):
        return object_array([leaf]).reshape(())
    try:
        return native(np.asarray(tensor_as_array(leaf)))
    except Exception as error:  # a method of a class that is not ours
        message = f"{kind.__name__}.__array__ failed: {type(error).__name__}: {said(error)}"
        raise InvalidArgumentError(message) from error


def array_of_items(values: list[Any]) -> np.ndarray:
    """Returns the array of a list, of ints without rounding them: NumPy makes floats of those beyond int64 beside others.

    Raises:
        InvalidArgumentError: the items differ in shape, or no integer dtype holds all of the ints.
    """
    try:
        array = np.array(values)
    except ValueError as error:
        message = f"a list must be an array, but its items differ in shape: {error}"
        raise InvalidArgumentError(message) from error
    if array.dtype.kind != "f" or not array.size or not bool((np.abs(array) >= _BEYOND_INT64).any()):
        return array
    items = set(map(type, np.array(values, dtype=object).ravel().tolist()))
    if not all(issubclass(kind, (int, np.integer)) for kind in items):
        return array
    try:
        return np.array(values, dtype=np.uint64)
    except OverflowError as error:
        message = (
            "a list has ints beyond int64 that fit no dtype with the others: give an array of the dtype that is meant"
        )
        raise InvalidArgumentError(message) from error


def tensor_as_array(leaf: Any) -> Any:
    """Returns a tensor of PyTorch's as an array on its memory, without its gradient; anything else as it is.

    Of a dtype that NumPy lacks, such as bfloat16, it is an array of that dtype of ml_dtypes.

    Raises:
        MissingExtraError: ml_dtypes is needed and not installed.
        TypeError: it has no memory of the CPU's with one number behind the other: it is sparse, or on another device.
    """
    if type(leaf) in PLAIN_LEAVES:
        return leaf
    torch: Any = sys.modules.get("torch")  # who has a tensor has imported it
    kind: Any = getattr(torch, "Tensor", ())
    if not isinstance(leaf, kind):
        return leaf
    try:
        return leaf.numpy()
    except (RuntimeError, TypeError):  # it has a gradient, bits that say what is still to be done, or another dtype
        pass
    tensor = leaf.detach().resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if name != "bfloat16" and not name.startswith("float8_"):
        return tensor.numpy()
    try:
        import ml_dtypes
    except ImportError:
        message = f"a tensor of {tensor.dtype} needs: pip install ml_dtypes (or make it one of float32 with .float())"
        raise MissingExtraError(message) from None
    bits = tensor.view(torch.uint8 if tensor.element_size() == 1 else torch.int16)
    return bits.numpy().view(getattr(ml_dtypes, name))


def plain_array(leaf: Any, what: str) -> np.ndarray:
    """Returns a leaf as an array of which ``what`` is made.

    Raises:
        InvalidArgumentError: something of it is masked.
    """
    check_unmasked(leaf, what)
    return np.asarray(tensor_as_array(leaf))


def check_unmasked(leaf: Any, what: str, *, stage: str | None = None) -> None:
    """Refuses a masked array of which something is masked, for ``what`` is made of it, and has no mask.

    Raises:
        InvalidArgumentError: something is masked.
    """
    if isinstance(leaf, np.ma.MaskedArray) and np.ma.is_masked(leaf):
        message = f"a masked array loses its mask in {what}: make it filled(…), or a pair of its data and its mask"
        raise InvalidArgumentError(message, stage=stage)


def _stack_like_arrays(arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    """Returns the stack of arrays of one shape and dtype, as they mostly are; None where they are not."""
    first = arrays[0]
    if not first.dtype.isnative or len(set(map(_dtype, arrays))) > 1:
        return None
    if not first.ndim:
        is_plain = first.dtype.kind in "biufc" and not any(map(_ndim, arrays))
        return np.array(arrays) if is_plain else None
    try:
        if len(set(map(len, arrays))) > 1:
            return None
        # One concatenation is several times quicker than np.stack, which reshapes each array in Python. It looks at the other axes.
        return _one_behind_the_other(arrays).reshape(len(arrays), *first.shape)
    except (TypeError, ValueError):  # a scalar, which has no length; or another shape
        return None


def _stack_arrays(arrays: Sequence[np.ndarray]) -> np.ndarray:
    first = arrays[0]
    if any(array.shape != first.shape for array in arrays):
        other = next(array for array in arrays if array.shape != first.shape)
        differ = f"shapes differ: {list(first.shape)} and {list(other.shape)}"
        message = f"{differ}; make them equal, which padded_batch does, or keep their lengths with ragged_batch"
        raise InvalidArgumentError(message)
    if any(array.dtype != first.dtype for array in arrays):
        other = next(array for array in arrays if array.dtype != first.dtype)
        message = f"dtypes differ: {first.dtype.name} and {other.dtype.name}; make them equal, for example by astype"
        raise InvalidArgumentError(message)
    if first.ndim == 0:
        return (
            np.array([array[()] for array in arrays], dtype=first.dtype)
            if first.dtype != object
            else (object_array([array[()] for array in arrays]))
        )
    return _one_behind_the_other(arrays).reshape(len(arrays), *first.shape)


def _one_behind_the_other(arrays: Sequence[np.ndarray]) -> np.ndarray:
    whole = np.concatenate(arrays)
    if whole.dtype.type is not np.record:
        return whole
    return whole.view(np.dtype((np.void, whole.dtype)))  # as several do, but not one alone


_ndim: Final = operator.attrgetter("ndim")


def common_items(arrays: Sequence[Any]) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """Returns the dtype and the shape that the items of all these arrays have, along their first axis; None where they differ.

    None also where one of them is no plain array, or has no axis.
    """
    if set(map(type, arrays)) != {np.ndarray} or len(set(map(_dtype, arrays))) != 1:
        return None
    axes = set(map(_ndim, arrays))
    shapes = {()} if axes == {1} else {array.shape[1:] for array in arrays}
    return (arrays[0].dtype, shapes.pop()) if len(axes) == len(shapes) == 1 and 0 not in axes else None


def object_array(values: Sequence[Any]) -> np.ndarray:
    """Returns a one-dimensional array of these very objects, whatever they are."""
    return np.fromiter(values, dtype=object, count=len(values))
