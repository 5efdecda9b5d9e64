"""Rows of different lengths in one array: what ``ragged_batch`` gives."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.record_classes import register_record
from headrace.elements.structure import object_array
from headrace.elements.tensor_spec import NAMESPACE, TensorSpec
from headrace.errors import InvalidArgumentError

__all__ = ["RaggedTensor"]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RaggedTensor:
    """Rows of different lengths, one behind the other: row i is ``values[row_splits[i]:row_splits[i + 1]]``.

    The names are TensorFlow's. It is structure, as a tuple is: a function may build another, ``to_torch`` makes tensors of
    its two arrays, and a cache stores them. In an ``element_spec`` it holds two ``TensorSpec``, and is equal to another that
    holds equal ones; one with arrays is equal to itself alone.

    Attributes:
        values: all rows, joined along their first axis.
        row_splits: where each row ends, after a 0: one number more than rows, of dtype int64 or int32.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> ragged = hr.RaggedTensor(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 2, 5]))
        >>> ragged.to_list(), len(ragged), ragged[2].tolist()
        ([[3, 1], [], [4, 1, 5]], 3, [4, 1, 5])
        >>> ragged.to_tensor(default_value=-1)
        array([[ 3,  1, -1],
               [-1, -1, -1],
               [ 4,  1,  5]])
    """

    values: Any
    row_splits: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RaggedTensor) or not self._is_spec() or not other._is_spec():
            return NotImplemented
        return bool((self.values, self.row_splits) == (other.values, other.row_splits))

    def __hash__(self) -> int:
        return hash((self.values, self.row_splits)) if self._is_spec() else object.__hash__(self)

    def _is_spec(self) -> bool:
        return isinstance(self.values, TensorSpec) and isinstance(self.row_splits, TensorSpec)

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, row: int) -> Any:
        if not -len(self) <= row < len(self):
            raise IndexError(f"there are {len(self)} rows, and no row {row}")
        row %= len(self)
        return self.values[self.row_splits[row] : self.row_splits[row + 1]]

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def row_lengths(self) -> Any:
        """Returns how long each row is."""
        return np.diff(self.row_splits)

    def to_list(self) -> list[Any]:
        """Returns the rows as lists."""
        return [row.tolist() for row in self]

    def to_tensor(self, default_value: Any = None) -> np.ndarray:
        """Returns one array, rows padded at the end with ``default_value``: 0 or an empty text, if None."""
        return padded(list(self), (None,) * np.ndim(self.values), default_value)


# What is made here is structure from the start: elsewhere a class becomes that when the first element of it is looked at.
register_record(RaggedTensor, NAMESPACE)


def default_padding(array: np.ndarray) -> Any:
    """Returns what an array is padded with, if nobody says: 0, or an empty text."""
    if array.dtype.kind != "O":
        return np.zeros((), array.dtype)[()] if array.dtype.kind != "M" else np.datetime64("NaT")
    first = array.ravel()[0] if array.size else ""
    return b"" if isinstance(first, bytes) else ""


_dtype: Final = operator.attrgetter("dtype")
_shape: Final = operator.attrgetter("shape")
# Rows up to this length are written all at once: to write one by itself costs as much as to look which of so many places it fills.
_SHORT: Final = 64
# So many bytes a place of such a row has at most, which are written twice.
_FEW_BYTES: Final = 64
# Which places of such a row are its first so many.
_FIRST_OF: Final = np.tri(_SHORT + 1, _SHORT, -1, dtype=bool)
# Kinds of dtypes that are padded with zeros, where nobody says otherwise.
_OF_ZEROS: Final = "biufc"


def padded(arrays: list[np.ndarray], shape: tuple[int | None, ...], value: Any = None) -> np.ndarray:
    """Returns the arrays along a new first axis, each padded at its end to the shape; None is the longest of them.

    Raises:
        InvalidArgumentError: they differ in dtype.
    """
    first = arrays[0]
    if len(set(map(_dtype, arrays))) > 1:
        other = next(array for array in arrays if array.dtype != first.dtype)
        raise InvalidArgumentError(f"dtypes differ: {first.dtype.name} and {other.dtype.name}; make them equal")
    if first.ndim == 1:
        return _padded_rows(arrays, shape[0], value)
    sizes = [max(array.shape[axis] for array in arrays) if size is None else size for axis, size in enumerate(shape)]
    if not sizes:
        return object_array([array[()] for array in arrays]) if first.dtype == object else np.array(arrays)
    whole = _filled(arrays, sizes, value)
    differ_in_length_alone = all(array.shape[1:] == whole.shape[2:] for array in arrays)
    for row, array in zip(whole, arrays, strict=True):
        row[slice(len(array)) if differ_in_length_alone else tuple(map(slice, array.shape))] = array
    return whole


def _padded_rows(arrays: list[np.ndarray], size: int | None, value: Any) -> np.ndarray:
    """Returns the same of arrays of one axis."""
    lengths = list(map(len, arrays))
    longest = max(lengths) if size is None else size
    whole = _filled(arrays, [longest], value)
    if longest <= _SHORT:
        whole[_FIRST_OF.take(lengths, 0)[:, :longest]] = np.concatenate(arrays)
        return whole
    for row, array, length in zip(whole, arrays, lengths, strict=True):
        row[:length] = array
    return whole


def padded_runs(
    arrays: Sequence[np.ndarray], size: int, shape: tuple[int | None, ...], value: Any = None
) -> list[np.ndarray] | None:
    """Returns what ``padded`` makes of each run of so many arrays, short ones in one go; None where they are not plainly numbers of one dtype.

    None also where one of them does not fit the shape.
    """
    shapes = _shapes_of_numbers(arrays)
    if not shape or shapes is None or set(map(len, shapes)) != {len(shape)}:
        return None
    if any(given is not None and given < own for one in shapes for given, own in zip(shape, one, strict=True)):
        return None
    runs = (list(arrays[start : start + size]) for start in range(0, len(arrays), size))
    if len(shapes) == 1 and _leaves_as_is(shape, *shapes):
        return [np.concatenate(run).reshape(size, *run[0].shape) for run in runs]
    inner = {one[1:] for one in shapes}
    if len(inner) == 1 and _leaves_as_is(shape[1:], *inner):
        return _short_runs(arrays, size, shape[0], value) or [padded(run, shape, value) for run in runs]
    return [padded(run, shape, value) for run in runs]


def _shapes_of_numbers(arrays: Sequence[np.ndarray]) -> set[tuple[int, ...]] | None:
    """Returns the shapes of arrays; None where they are not of one dtype of plain numbers."""
    dtype = arrays[0].dtype
    if dtype.kind not in _OF_ZEROS or not dtype.isnative or len(set(map(_dtype, arrays))) > 1:
        return None
    return set(map(_shape, arrays))


def _leaves_as_is(shape: tuple[int | None, ...], own: tuple[int, ...]) -> bool:
    return all(given is None or given == size for given, size in zip(shape, own, strict=True))


def _short_runs(arrays: Sequence[np.ndarray], size: int, length: int | None, value: Any) -> list[np.ndarray] | None:
    """Returns the same of arrays that differ in their first axis alone, which may be given; None where they are not short."""
    inner, dtype = arrays[0].shape[1:], arrays[0].dtype
    if math.prod(inner) * dtype.itemsize > _FEW_BYTES:
        return None
    lengths = np.fromiter(map(len, arrays), np.intp, len(arrays))
    longest = lengths.reshape(-1, size).max(1).tolist() if length is None else [length] * (len(arrays) // size)
    most = max(longest)
    if most > _SHORT:
        return None
    whole = _filled(arrays, [most, *inner], value)
    whole[_FIRST_OF.take(lengths, 0)[:, :most]] = np.concatenate(arrays)
    return [whole[number * size : (number + 1) * size, :length].copy() for number, length in enumerate(longest)]


def ragged_runs(arrays: Sequence[np.ndarray], size: int, dtype: np.dtype[Any]) -> Sequence[Any] | None:
    """Returns each run of so many arrays as a ``RaggedTensor``, in one go; None where they are not plainly numbers that differ in length alone."""
    shapes = _shapes_of_numbers(arrays)
    if shapes is None or len({one[1:] for one in shapes}) > 1 or () in shapes:
        return None
    lengths = np.fromiter(map(len, arrays), dtype, len(arrays)).reshape(-1, size)
    splits = np.zeros((len(lengths), size + 1), dtype)
    np.cumsum(lengths, axis=1, out=splits[:, 1:])
    starts = range(0, len(arrays), size)
    return [
        RaggedTensor(np.concatenate(arrays[start : start + size]), ends.copy())
        for start, ends in zip(starts, splits, strict=True)
    ]


def _filled(arrays: Sequence[np.ndarray], sizes: list[int], value: Any) -> np.ndarray:
    """Returns an array of so many rows of these sizes that holds nothing but what is padded with."""
    dtype = arrays[0].dtype
    shape = (len(arrays), *sizes)
    if value is None and dtype.kind in _OF_ZEROS:
        return np.zeros(shape, dtype)
    some = next((array for array in arrays if array.size), arrays[0])
    whole = np.empty(shape, dtype)
    np.copyto(whole, default_padding(some) if value is None else _of_the_kind(value, some), casting="unsafe")
    return whole


def _of_the_kind(value: Any, array: np.ndarray) -> Any:
    """Returns a text as the array has them, ``str`` or ``bytes``: as values to pad with they are one kind."""
    kind = type(array.ravel()[0]) if array.dtype == object and array.size else None
    if kind is str and isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise TypeError(f"the padding value {value!r} is no text in UTF-8, and the component holds texts") from None
    if kind is bytes and isinstance(value, str):
        return value.encode()
    return value
