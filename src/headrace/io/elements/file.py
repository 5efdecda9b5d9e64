"""Files of elements: what a cache on disk, ``save`` and ``snapshot`` write, and read back in place.

A file is a mark, segments, and at its end a table of contents as JSON. A segment holds elements of one structure, a
column a leaf, with a checksum over all its bytes. A reader maps the file into memory: columns of numbers are used where
they lie, whatever order is asked for, so a stored dataset is read by index.

What always holds.
- A file is whole or it is not there under its name: it is written beside, forced to the disk, and renamed.
- Nothing is unpickled, no class is imported or called, and no number in a file is believed before it was checked against
  the file's size.
- A segment's checksum is compared when it is first read; a broken one names the file and where in it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from headrace.elements.key_orders import looks_the_same
from headrace.elements.rows_and_columns import columns_in_order, rows_of
from headrace.elements.structure import Element, TreeDef, unflatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import DataLossError, FailedPreconditionError, NotFoundError
from headrace.io.elements.columns import StoredColumn
from headrace.io.elements.holds import Hold
from headrace.io.elements.structure import structure_from_json
from headrace.io.elements.table import check_table
from headrace.io.no_room import no_more_files
from headrace.known_as import known_as

__all__ = ["ElementFile", "Segment"]

MAGIC: Final = b"headrace elements 1\n"
# The length and checksum of the table of contents, and the mark once more: what stands at the very end.
TAIL: Final = struct.Struct("<QI20s")


class Segment:
    """Elements of one structure, as they lie in a file."""

    def __init__(self, data: dict[str, Any], path: Path, memory: Callable[[], memoryview]) -> None:
        self._path = path
        self.count: int = data["count"]
        self._data = data
        self._memory = memory
        self._columns: list[StoredColumn] | None = None

    @functools.cached_property
    def treedef(self) -> TreeDef:
        """The structure of its elements.

        Raises:
            FailedPreconditionError: a class of theirs is in a module that the program has not imported.
            DataLossError: a class of theirs is not there any more, or has other fields.
        """
        return structure_from_json(self._data["structure"])

    @property
    def stored(self) -> list[StoredColumn]:
        """Its columns, checked when they are first asked for."""
        if self._columns is None:
            memory = self._memory()
            try:
                self._columns = [StoredColumn.of(column, memory) for column in self._data["columns"]]
            except DataLossError as error:
                raise DataLossError(f"{self._path}: the elements at byte {self._data['at']}: {error.reason}") from error
        return self._columns

    def specs(self) -> list[TensorSpec]:
        """Returns the shape and type of each leaf, None for sizes that differ; no element is read for it."""
        return [_spec_of(column) for column in self._data["columns"]]

    @property
    def has_forms(self) -> bool:
        """Whether an array of some leaves would give something else than what they are."""
        return any(column.get("form") is not None for column in self._data["columns"])

    @property
    def kind(self) -> Any:
        """What elements have in common with others that fit into one array with them, as plain data."""
        columns = [(column.get("shape"), *_type_of(column)) for column in self._data["columns"]]
        return self._data["structure"], columns

    @property
    def is_columnar(self) -> bool:
        """Whether its elements fit into arrays, and these give back what they are."""
        columns = self._data["columns"]
        return bool(columns) and not self.has_forms and all("shape" in column for column in columns)

    def columns(self, indices: slice | np.ndarray) -> list[np.ndarray] | None:
        """Returns the elements at these places as arrays; None where they do not fit into arrays."""
        columns = [column.column(self.count, indices) for column in self.stored]
        return None if not columns or any(column is None for column in columns) else columns  # type: ignore[return-value]

    def rows(self, indices: slice | np.ndarray) -> list[Element]:
        """Returns the elements at these places."""
        columns = self.columns(indices)
        if columns is not None and not self.has_forms:
            return rows_of(self.treedef, columns)
        places = list(range(self.count)[indices]) if isinstance(indices, slice) else indices.tolist()
        table = [self._leaves(column, indices, places) for column in self.stored]
        return (
            [unflatten(self.treedef, leaves) for leaves in zip(*table, strict=True)]
            if table
            else [unflatten(self.treedef, ()) for _ in places]
        )

    def _leaves(self, column: StoredColumn, indices: slice | np.ndarray, places: list[int]) -> list[Any]:
        whole = column.column(self.count, indices)
        if whole is None:
            return column.leaves(places)
        return column.formed(whole)


def _type_of(column: dict[str, Any]) -> tuple[Any, Any]:
    return column.get("text"), column["values"]["dtype"]


def _spec_of(column: dict[str, Any]) -> TensorSpec:
    shape = column["shape"] if "shape" in column else column["axes"]
    texts = {"str": str, "bytes": bytes}
    return TensorSpec(shape, texts[column["text"]] if "text" in column else column["values"]["dtype"])


@known_as("file of elements")
class ElementFile:
    """A file of elements, mapped into memory and read by index.

    Args:
        path: where it lies.
        to_look_at: whether only its table of contents is wanted, for which the classes of its elements need not be there.
        hold: what keeps the file from being removed while this lives.

    Raises:
        NotFoundError: there is no such file.
        FailedPreconditionError: a class of its elements is in a module that the program has not imported.
        DataLossError: it is no file of elements, was not written to its end, or its bytes are not those that were
            written; with the place.
    """

    def __init__(self, path: Path, *, to_look_at: bool = False, hold: Hold | None = None) -> None:
        self.path = path
        self._hold = hold
        self._memory = _mapped(path)
        table = self._table()
        self.meta: dict[str, Any] = table["meta"]
        # Of the table of contents, which has every segment's checksum: another content has another.
        self.digest = hashlib.sha256(json.dumps(table).encode()).hexdigest()[:16]
        self._compression: str | None = table["compression"]
        self._origins: list[dict[str, Any]] = table["origins"]
        self.segments = [Segment(data, path, functools.partial(self._checked, data)) for data in table["segments"]]
        self.starts: list[int] = np.cumsum([0, *(segment.count for segment in self.segments)]).tolist()
        if not to_look_at:
            self._find_classes()

    def _find_classes(self) -> None:
        try:
            for segment in self.segments:
                _ = segment.treedef
        except (DataLossError, FailedPreconditionError) as error:
            raise error.with_reason(f"{self.path}: {error.reason}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens the file by itself, and knows the classes of its elements by one of each.
        shapes = [unflatten(segment.treedef, range(segment.treedef.num_leaves)) for segment in self.segments]
        return _opened_again, (self.path, self.digest, self._hold, shapes)

    def __len__(self) -> int:
        return self.starts[-1]

    def origin(self, number: int) -> str:
        """Returns where the element of this number came from when it was written, in words."""
        left = number
        for where in self._origins:
            if left < where["count"]:
                if "prefix" in where:
                    return f"{where['prefix']}{where['start'] + left}"
                try:
                    words = zlib.decompress(self._checked_bytes(where)).decode("utf-8", "surrogatepass")
                    return words.split("\0")[left]
                except (zlib.error, UnicodeDecodeError, IndexError) as error:
                    raise self._broken(f"the origins at byte {where['at']} are no origins: {error}") from error
            left -= where["count"]
        return f"element {number}"

    @functools.cached_property
    def is_columnar(self) -> bool:
        """Whether any of its elements fit into arrays, and these give back what they are."""
        kinds = {json.dumps(segment.kind) for segment in self.segments}
        return len(kinds) == 1 and all(segment.is_columnar for segment in self.segments)

    @property
    def has_tuples(self) -> bool | None:
        """Whether its elements are tuples; None where some are."""
        kinds = {segment.treedef.type is tuple for segment in self.segments}
        return kinds.pop() if len(kinds) == 1 else None if kinds else False

    def rows(self, indices: Any) -> list[Element]:
        """Returns the elements of these numbers."""
        self._check_size()
        if isinstance(indices, range):
            return [row for segment, part in self._parts(indices) for row in segment.rows(part)]
        found: list[Element] = [None] * len(indices)
        for segment, part, places in self._picked(np.asarray(indices)):
            for place, row in zip(places.tolist(), segment.rows(part), strict=True):
                found[place] = row
        return found

    def arrays(self, indices: Any) -> tuple[TreeDef, list[np.ndarray], bool]:
        """Returns the elements of these numbers as arrays, one a leaf, and whether the keys of their dicts are in one order.

        Raises:
            InvalidArgumentError: they differ in structure, shape or dtype.
        """
        self._check_size()
        parts = list(self._parts(indices)) if isinstance(indices, range) else []
        if len(parts) == 1:
            segment, part = parts[0]
            columns = segment.columns(part)
            if columns is not None:
                return segment.treedef, columns, True
        if not isinstance(indices, range) and (gathered := self._gathered(np.asarray(indices))) is not None:
            return *gathered, True
        return columns_in_order(self.rows(indices))

    def _gathered(self, indices: np.ndarray) -> tuple[TreeDef, list[np.ndarray]] | None:
        """Returns numbers out of many segments, each column filled in place; None where segments differ."""
        whole: list[np.ndarray] | None = None
        treedef = None
        for segment, part, places in self._picked(indices):
            columns = segment.columns(part)
            if columns is None:
                return None
            if whole is None:
                treedef = segment.treedef
                whole = [np.empty((len(indices), *column.shape[1:]), column.dtype) for column in columns]
            if (
                treedef is None
                or not looks_the_same(segment.treedef, treedef)
                or any(
                    one.dtype != two.dtype or one.shape[1:] != two.shape[1:]
                    for one, two in zip(whole, columns, strict=True)
                )
            ):
                return None
            for target, column in zip(whole, columns, strict=True):
                target[places] = column
        return None if whole is None or treedef is None else (treedef, whole)

    def _parts(self, indices: range) -> Any:
        """Yields the segments that a run of numbers touches, and the slice of each."""
        if indices.step != 1:
            yield from (
                (segment, part)
                for segment, part, _ in self._picked(np.arange(indices.start, indices.stop, indices.step))
            )
            return
        for segment, start, stop in zip(self.segments, self.starts, self.starts[1:], strict=False):
            low, high = max(start, indices.start), min(stop, indices.stop)
            if low < high:
                yield segment, slice(low - start, high - start)

    def _picked(self, indices: np.ndarray) -> Any:
        """Yields the segments that numbers lie in, which of their elements, and whose places these are."""
        which = np.searchsorted(self.starts, indices, side="right") - 1
        for number in np.unique(which).tolist():
            places = np.flatnonzero(which == number)
            yield self.segments[number], indices[places] - self.starts[number], places

    def spec(self) -> Any:
        """Returns the structure of ``TensorSpec`` that every element has; None where structures or dtypes differ."""
        whole: list[TensorSpec] | None = None
        for segment in self.segments:
            specs = segment.specs()
            if whole is None:
                whole = specs
            elif segment.treedef != self.segments[0].treedef or any(
                one.dtype != two.dtype for one, two in zip(whole, specs, strict=True)
            ):
                return None
            else:
                whole = [one.most_general(two) for one, two in zip(whole, specs, strict=True)]
        return None if whole is None else unflatten(self.segments[0].treedef, whole)

    def __headrace_fingerprint__(self) -> str:
        return self.digest

    def verify(self) -> None:
        """Compares every checksum.

        Raises:
            DataLossError: one is not as written.
        """
        self._check_size()
        for segment in self.segments:
            _ = segment.stored
        for where in self._origins:
            if "prefix" not in where:
                self._checked_bytes(where)

    # ------------------------------------------------------------------ what is in the file

    def _broken(self, reason: str) -> DataLossError:
        return DataLossError(f"{self.path}: {reason}")

    def _table(self) -> dict[str, Any]:
        memory, size = self._memory, len(self._memory)
        if size < len(MAGIC) + TAIL.size or bytes(memory[: len(MAGIC)]) != MAGIC:
            raise self._broken("this is no file of elements")
        length, crc, magic = TAIL.unpack(memory[size - TAIL.size :])
        end = size - TAIL.size
        if magic != MAGIC or length > end - len(MAGIC):
            raise self._broken("the file was not written to its end")
        text = bytes(memory[end - length : end])
        if zlib.crc32(text) != crc:
            raise self._broken(f"the table of contents at byte {end - length} is not as it was written")
        try:
            table: dict[str, Any] = json.loads(text)
            check_table(table, len(MAGIC), end - length)
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError, DataLossError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise self._broken(
                f"the table of contents at byte {end - length} is no table of elements: {reason}"
            ) from error
        return table

    def _checked(self, data: dict[str, Any]) -> memoryview:
        part = self._checked_bytes(data)
        if not self._compression:
            return part
        try:
            unpacking = zlib.decompressobj()
            whole = unpacking.decompress(part, data["whole"]) + unpacking.flush()
        except zlib.error as error:
            raise self._broken(f"the elements at byte {data['at']} cannot be decompressed: {error}") from error
        if len(whole) != data["whole"]:
            raise self._broken(f"the elements at byte {data['at']} are {len(whole)} bytes, and not {data['whole']}")
        return memoryview(whole)

    def _check_size(self) -> None:
        # Where a mapped file was made shorter there is no memory any more, and to read there ends the process.
        mapped = self._memory.obj
        if isinstance(mapped, mmap.mmap) and mapped.size() < len(self._memory):
            reason = f"it had {len(self._memory)} bytes when it was opened, and has {mapped.size()}: it was cut while it was read"
            raise self._broken(reason)

    def _checked_bytes(self, where: dict[str, Any]) -> memoryview:
        self._check_size()
        part = self._memory[where["at"] : where["at"] + where["nbytes"]]
        if len(part) != where["nbytes"] or zlib.crc32(part) != where["crc32"]:
            raise self._broken(f"the elements at byte {where['at']} are not as they were written")
        return part


def _opened_again(path: Path, digest: str, hold: Hold | None, _: object) -> ElementFile:
    file = ElementFile(path, hold=hold)
    if file.digest != digest:
        raise DataLossError(f"{path} is not the file any more that it was: it was written again")
    return file


def _mapped(path: Path) -> memoryview:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # An empty file cannot be mapped.
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else memoryview(b"")
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file") from None
    except OSError as error:
        raise (no_more_files(error, path) or DataLossError(f"{path} cannot be read: {error}")) from error
