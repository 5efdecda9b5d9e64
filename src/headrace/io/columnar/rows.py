"""Rows of files of columns by number, through record batches that are kept for a while.

What always holds. What is kept is bounded in bytes; the batch that is being read is always kept. Files are opened when
they are first needed, and must be then what they were when they were counted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from headrace.elements.structure import Element, unflatten
from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.columnar.arrow_selection import BoundSelection
from headrace.io.columnar.arrow_values import Leaf, Ragged, Values, values_of
from headrace.io.columnar.wanted import RowGroups, Selection
from headrace.io.files import version_of
from headrace.io.reader import Array
from headrace.known_as import known_as

__all__ = ["CACHE_BYTES", "ColumnarRows", "RaggedRows", "rows_by_number"]

# Some tens of row groups as they are usually written (hundreds of thousands of rows of a few columns).
CACHE_BYTES: Final = 512 << 20


class _Groups(RowGroups, Protocol):
    """An open file whose groups can be read as wholes."""

    selection: BoundSelection

    @property
    def starts(self) -> list[int]:
        """The row at which each group begins, and the number of all rows."""
        ...

    def group(self, number: int) -> Any:
        """Returns all rows of a group, of the wanted columns."""
        ...


class RaggedRows:
    """Rows by number, whose columns need not fit into arrays.

    Args:
        paths: the files, one after the other.
        open_groups: opens one.
        selection: which columns, and what stands for a null.
        cache_bytes: how many bytes of record batches are kept.

    Raises:
        NotFoundError: a file is not there.
        DataLossError: one is corrupt, or was changed since it was counted; also while its rows are read.
        InvalidArgumentError: a file has not the wanted columns; or while it is read, a null that nothing stands for.
    """

    def __init__(
        self, paths: Sequence[str], open_groups: Callable[..., Any], selection: Selection, cache_bytes: int
    ) -> None:
        self._paths = tuple(paths)
        self._open_groups: Callable[[str, Selection], _Groups] = open_groups
        self._selection = selection
        self._cache_bytes = cache_bytes
        self._versions = [_version(path) for path in self._paths]
        starts, files = [0], []
        for file, path in enumerate(self._paths):
            groups = self._open_groups(path, selection)
            try:
                inner = groups.starts
            finally:
                groups.close()
            starts += [starts[-1] + end - inner[0] for end in inner[1:]]
            files += [(file, number) for number in range(len(inner) - 1)]
        self._starts = np.array(starts)
        self._full_groups = max(1, int((np.diff(self._starts) > 0).sum()))
        self._files = files  # of each group over all files: the file, and its number there
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._kept_bytes = 0
        self._whole: Any = None
        self._opened: dict[int, _Groups] = {}

    def __getstate__(self) -> dict[str, Any]:
        own = {"_lock", "_kept", "_kept_bytes", "_whole", "_opened"}
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> Element:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Element]:
        """Returns the rows of these numbers, in their order."""
        numbers = np.asarray(indices, np.int64)
        rows: list[Element] = [None] * len(numbers)
        for values, places in self._parts(numbers):
            for place, row in zip(places.tolist(), values.rows(0, len(places)), strict=True):
                rows[place] = row
        return rows

    def __headrace_fingerprint__(self) -> Any:
        return [self._paths, self._versions, self._selection]

    def _parts(self, numbers: Array) -> list[tuple[Values, Array]]:
        """Returns the rows by the groups that they are in, and whose places in ``numbers`` these are."""
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(self)):
            raise InvalidArgumentError(f"rows are numbered from 0 to {len(self) - 1}")
        whole = self._joined()
        if whole is not None:
            return [(self._values(whole, 0, numbers), np.arange(len(numbers)))]
        which = np.searchsorted(self._starts, numbers, side="right") - 1
        parts = []
        for group in np.unique(which).tolist():
            places = np.flatnonzero(which == group)
            parts.append((self._values(self._batch(group), int(self._starts[group]), numbers[places]), places))
        return parts

    def _values(self, batch: Any, first: int, numbers: Array) -> Values:
        """Returns the rows of these numbers out of a batch whose first row has the number ``first``."""
        local = numbers - first
        is_run = (
            bool(len(local)) and int(local[-1]) - int(local[0]) + 1 == len(local) and bool((np.diff(local) == 1).all())
        )
        picked = batch.slice(int(local[0]), len(local)) if is_run else batch.take(pa.array(local))
        values = values_of(picked, self._selection.record_defaults)
        if values.faults:
            row = min(values.faults)
            raise InvalidArgumentError(values.faults[row], origin=self._origin(int(numbers[row])))
        if is_run:  # a view of what is kept, which must stay as it is
            values.leaves[:] = map(_read_only, values.leaves)
        return values

    def _origin(self, number: int) -> str:
        group = int(np.searchsorted(self._starts, number, side="right")) - 1
        file, _ = self._files[group]
        first = next(index for index, (other, _) in enumerate(self._files) if other == file)
        return f"{self._paths[file]}:{number - int(self._starts[first])}"

    def _joined(self) -> Any:
        """Returns all rows as one batch, once all groups are kept and there is room for two of each: to gather is one call then."""
        with self._lock:
            if (
                self._whole is None
                and len(self._kept) == self._full_groups
                and 2 * self._kept_bytes <= self._cache_bytes
            ):
                table = pa.Table.from_batches([self._kept[group] for group in sorted(self._kept)])
                batches = table.unify_dictionaries().combine_chunks().to_batches()
                if len(batches) == 1:  # texts of more than two gigabytes make several
                    self._whole, self._kept, self._kept_bytes = batches[0], OrderedDict(), 0
            return self._whole

    def _batch(self, group: int) -> Any:
        """Returns a group's rows, read anew where they are not kept."""
        with self._lock:  # two that want one group must not both decode it
            batch = self._kept.get(group)
            if batch is not None:
                self._kept.move_to_end(group)
                return batch
            batch = self._read(group)
            self._kept[group] = batch
            self._kept_bytes += batch.nbytes
            while self._kept_bytes > self._cache_bytes and len(self._kept) > 1:
                self._kept_bytes -= self._kept.popitem(last=False)[1].nbytes
            return batch

    def _read(self, group: int) -> Any:
        file, number = self._files[group]
        path = self._paths[file]
        if _version(path) != self._versions[file]:
            raise DataLossError(f"{path} was changed since the dataset was made; make it anew")
        if file not in self._opened:
            for other in list(self._opened):  # one at a time: there may be more files than a process may open
                self._opened.pop(other).close()
            self._opened[file] = self._open_groups(path, self._selection)
        return self._opened[file].group(number)

    def close(self) -> None:
        """Closes what is open, and forgets what is kept."""
        for groups in self._opened.values():
            groups.close()
        self._begin()

    def __del__(self) -> None:
        for groups in getattr(self, "_opened", {}).values():
            groups.close()


@known_as("rows of columnar files by number")
class ColumnarRows(RaggedRows):
    """Rows by number, all of whose columns fit into arrays."""

    def columns(self, indices: Array) -> Any:
        """Returns the rows of these numbers as a structure of arrays with an axis more."""
        parts = self._parts(np.asarray(indices))
        if len(parts) == 1:
            return unflatten(parts[0][0].structure, parts[0][0].leaves)
        whole: list[Array] = []
        for values, places in parts:
            leaves: list[Any] = values.leaves
            whole = whole or [np.empty((len(indices), *leaf.shape[1:]), leaf.dtype) for leaf in leaves]
            for target, leaf in zip(whole, leaves, strict=True):
                target[places] = leaf
        return unflatten(parts[0][0].structure, whole)


def _read_only(leaf: Leaf) -> Leaf:
    if isinstance(leaf, Ragged):
        leaf.values.flags.writeable = False
        return leaf
    leaf.flags.writeable = False
    return leaf


def rows_by_number(
    paths: Sequence[str], open_groups: Callable[..., Any], selection: Selection, cache_bytes: int, *, is_ragged: bool
) -> RaggedRows:
    """Returns rows by number, as columns where their types allow it."""
    kind = RaggedRows if is_ragged else ColumnarRows
    return kind(paths, open_groups, selection, cache_bytes)


def _version(path: str) -> Any:
    """Returns what changes when the file does; None where its file system does not tell."""
    try:
        return version_of(path)
    except InvalidArgumentError:
        return None
