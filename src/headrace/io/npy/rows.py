"""Rows of NumPy's files by number: slices along the first axis of the arrays in them, file after file."""

from __future__ import annotations

import bisect
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import Element, TreeDef, flatten, paths_of, unflatten
from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.files import version_of
from headrace.io.npy.array import arrays_of_file
from headrace.io.reader import Array
from headrace.known_as import known_as

__all__ = ["NumpyRows"]


@known_as("rows of NumPy files")
class NumpyRows:
    """The rows of files, one after the other.

    Args:
        paths: ``.npy`` files, or ``.npz`` archives, whose arrays have first axes of one length.

    Raises:
        NotFoundError: a file is not there.
        DataLossError: one is not NumPy's, or truncated; or while rows are read, one was changed.
        InvalidArgumentError: an array holds Python objects or has no axis, the lengths in an archive differ, or two
            files differ in their arrays.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from headrace.io.npy.rows import NumpyRows
        >>> path = str(pathlib.Path(tempfile.mkdtemp(), "a.npy"))
        >>> np.save(path, np.arange(6).reshape(3, 2))
        >>> NumpyRows([path])[1]
        array([2, 3])
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(paths)
        self._versions = [_version(path) for path in self._paths]
        self._structure: TreeDef | None = None
        self._files: list[list[Array]] = []  # of each file, an array a leaf
        for path in self._paths:
            leaves, structure = flatten(_by_field(arrays_of_file(path)))
            self._check(path, leaves, structure)
            self._structure = structure
            self._files.append(leaves)
        self._starts = np.cumsum([0, *(len(leaves[0]) for leaves in self._files)])

    def _check(self, path: str, leaves: list[Array], structure: TreeDef) -> None:
        names = paths_of(structure)
        for name, leaf in zip(names, leaves, strict=True):
            if len(leaf) != len(leaves[0]):
                raise InvalidArgumentError(
                    f"{path}: array {name} has {len(leaf)} rows, and {names[0]} has {len(leaves[0])}"
                )
        if self._structure is None:
            return
        first, like = self._paths[0], self._files[0]
        if structure != self._structure:
            raise InvalidArgumentError(f"{path} has the arrays {names}, and {first} has {paths_of(self._structure)}")
        for name, mine, theirs in zip(names, leaves, like, strict=True):
            if _delivered(mine.dtype) != _delivered(theirs.dtype) or mine.shape[1:] != theirs.shape[1:]:
                array = f"array {name} of {path}" if name else path
                raise InvalidArgumentError(f"{array} has rows {_shown(mine)}, and in {first} they are {_shown(theirs)}")

    def __reduce__(self) -> tuple[Any, ...]:
        return NumpyRows, (self._paths,)  # the files' contents are not carried along

    def __headrace_fingerprint__(self) -> Any:
        return [self._paths, self._versions]

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> Element:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Element]:
        """Returns the rows of these numbers, in their order."""
        assert self._structure is not None  # without a file, there is no row to ask for
        return rows_of(self._structure, self._leaves(np.asarray(indices, np.int64)))

    def columns(self, indices: Array) -> Any:
        """Returns the rows of these numbers as a structure of arrays with an axis more; read-only where nothing was copied."""
        assert self._structure is not None  # without a file, there is no row to ask for
        return unflatten(self._structure, self._leaves(np.asarray(indices)))

    def _leaves(self, indices: Array) -> list[Array]:
        if len(indices):
            rows = _in_a_slice(indices)
            first, last = (indices.min(), indices.max()) if rows is None else (rows.start, rows.stop - 1)
            if first < 0 or last >= len(self):
                raise InvalidArgumentError(f"rows are numbered from 0 to {len(self) - 1}")
            file = bisect.bisect_right(self._starts, first) - 1
            if last < self._starts[file + 1]:  # as mostly, and then nothing else is to be looked at
                return self._picked(file, indices, rows)
        return self._of_several_files(indices)

    def _of_several_files(self, indices: Array) -> list[Array]:
        which = np.searchsorted(self._starts, indices, side="right") - 1
        like = self._files[0]
        whole = [np.empty((len(indices), *leaf.shape[1:]), _delivered(leaf.dtype)) for leaf in like]
        for file in np.unique(which).tolist():
            places = np.flatnonzero(which == file)
            here = indices[places]
            picked = self._picked(file, here, _in_a_slice(here))
            for target, part in zip(whole, picked, strict=True):
                target[places] = part
        return whole

    def _picked(self, file: int, indices: Array, rows: slice | None) -> list[Array]:
        """Returns the rows of these numbers, all in one file; ``rows`` is the slice that they are."""
        path, start = self._paths[file], int(self._starts[file])
        # Where a mapped file was made shorter, there is no memory behind it any more.
        if self._versions[file] is not None and _version(path) != self._versions[file]:
            raise DataLossError(f"{path} was changed since the dataset was made; make it anew")
        if rows is None:
            picked = [leaf.take(indices - start, axis=0) for leaf in self._files[file]]
        else:
            picked = [leaf[rows.start - start : rows.stop - start] for leaf in self._files[file]]
        for leaf in picked:
            if leaf.dtype.kind == "U" and len(wrong := _rows_without_characters(leaf)):
                row = int(indices[wrong[0]]) - start
                raise DataLossError("it has a text of numbers that are no characters", origin=f"{path}:{row}")
        return [leaf.astype(_delivered(leaf.dtype), copy=False) for leaf in picked]


def _in_a_slice(numbers: Array) -> slice | None:
    """Returns the slice that these numbers are; None where they are none."""
    first, last = int(numbers[0]), int(numbers[-1])
    # Numbers of which each is more than the one before, and the last is that much more than the first.
    is_run = last - first + 1 == len(numbers) and bool((numbers[1:] > numbers[:-1]).all())
    return slice(first, last + 1) if is_run else None


def _by_field(arrays: Any) -> Any:
    """Returns the same with a dict of its fields in place of each array of structured dtype."""
    if isinstance(arrays, dict):
        return {name: _by_field(array) for name, array in arrays.items()}
    if arrays.dtype.names is None:
        return arrays
    return {name: _by_field(arrays[name]) for name in arrays.dtype.names}


def _rows_without_characters(texts: Array) -> Array:
    """Returns the rows in which a text has a number beyond the last of Unicode's, of which Python makes no ``str``."""
    if not texts.size or not texts.dtype.itemsize:
        return np.zeros(0, np.int64)
    numbers = np.ascontiguousarray(texts).view(np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder))
    return np.flatnonzero(numbers.reshape(len(texts), -1).max(axis=1) > sys.maxunicode)


def _delivered(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype in an element: texts are objects, and numbers in this machine's order of bytes."""
    return np.dtype(object) if dtype.kind in "US" else dtype.newbyteorder("=")


def _shown(array: Array) -> str:
    return f"of {array.dtype} and shape {list(array.shape[1:])}"


def _version(path: str) -> Any:
    """Returns what changes when a local file does; another is read whole, and stays."""
    return None if "://" in path else version_of(path)
