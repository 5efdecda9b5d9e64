"""The writer of files of elements."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from headrace.elements.key_orders import orders_of_keys
from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import Element, TreeDef, flatten, nbytes_of_leaves, normalize, paths_of
from headrace.errors import InvalidArgumentError, ResourceExhaustedError
from headrace.frozen import mutable
from headrace.io.atomic_file import AtomicFile
from headrace.io.elements.alike import alike
from headrace.io.elements.columns import Buffers, Kind, kind_of_leaf, stored_array, stored_leaves
from headrace.io.elements.file import MAGIC, TAIL
from headrace.io.elements.structure import structure_to_json
from headrace.io.write_state import WholeOrNothing

__all__ = ["SEGMENT_BYTES", "ElementWriter", "StorableRows"]

T = TypeVar("T")
# So many bytes of elements become a segment: large enough to read columns at full speed, small enough to hold two.
SEGMENT_BYTES: Final = 8 << 20
# They are alike, so a few bytes each remain; and one is looked up only for an error.
_ORIGINS_AT_ONCE: Final = 1 << 16
# Origins that are numbers one after the other are a line in the table of contents; of fewer it would be longer than their words.
_LONG_RUN: Final = 1024


class ElementWriter(WholeOrNothing):
    """Writes one file of elements, which appears under its name when it is complete.

    Args:
        path: where it will stand. Its folder is made.
        compression: None, or "GZIP" for smaller files that cannot be used in place.
        max_bytes: how large it may become; None is without a bound. What is more is not written.

    Attributes:
        is_full: whether it would have become larger, so that it cannot be completed.

    Raises:
        FailedPreconditionError: nothing can be written there.
        ResourceExhaustedError: there is no room left; or, from ``complete``, the file would exceed ``max_bytes``.
        InvalidArgumentError: from ``add``, for an element that has an object in it; its number and component are named.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.io.elements.file import ElementFile
        >>> from headrace.io.elements.writer import ElementWriter
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.elements"
        >>> with ElementWriter(path) as writer:
        ...     writer.add([(1, "one"), (2, "two")])
        >>> ElementFile(path).rows(range(2))
        [(1, 'one'), (2, 'two')]
    """

    def __init__(self, path: Path, *, compression: str | None = None, max_bytes: int | None = None) -> None:
        self.path = path
        self.count = 0
        self.is_full = False
        self._compression = compression
        self._max_bytes = max_bytes
        self._segments: list[dict[str, Any]] = []
        self._origins: list[dict[str, Any]] = []
        self._words: list[str] = []
        self._file = AtomicFile(path)
        self._file.write(MAGIC)

    def add(self, elements: Sequence[Element]) -> None:
        """Writes elements, in order."""
        rows = StorableRows()
        if not rows.extend(elements):
            for number, element in enumerate(elements, self.count):
                rows.append(element, number)
        self.add_rows(rows)

    def add_rows(self, rows: StorableRows) -> None:
        """Writes elements that were found to be storable."""
        for segment in rows.segments():
            self._write(*segment)
        self.count += rows.count

    def add_origins(self, words: Sequence[str]) -> None:
        """Notes where the next elements came from, for the errors of those who read them. Either all have it or none."""
        self._words += words
        if len(self._words) >= _ORIGINS_AT_ONCE:
            self._write_origins()

    def add_numbered_origins(self, prefix: str, numbers: range) -> None:
        """Notes as origins numbers that follow each other, with what stands before each."""
        last = self._origins[-1] if self._origins and not self._words else {}
        if last.get("prefix") == prefix and last["start"] + last["count"] == numbers.start:
            last["count"] += len(numbers)
        elif self._words and len(numbers) < _LONG_RUN:
            self.add_origins([f"{prefix}{number}" for number in numbers])
        else:
            self._write_origins()
            self._origins.append({"prefix": prefix, "start": numbers.start, "count": len(numbers)})

    def _write_origins(self) -> None:
        if not self._words:
            return
        data = zlib.compress("\0".join(self._words).encode("utf-8", "surrogatepass"), 1)
        where = {"at": self._file.tell(), "nbytes": len(data), "crc32": zlib.crc32(data), "count": len(self._words)}
        self._file.write(data)
        self._origins.append(where)
        self._words = []

    def add_columns(self, treedef: TreeDef, columns: Sequence[np.ndarray]) -> None:
        """Writes elements that are in arrays already, one a leaf, elements along the first axis."""
        if not columns:
            self.add(rows_of(treedef, columns))
            return
        buffers = Buffers()
        stored = [
            _named(treedef, number, self.count, functools.partial(stored_array, array, buffers))
            for number, array in enumerate(columns)
        ]
        structure = structure_to_json(treedef)
        self._write(structure, len(columns[0]), stored, buffers)
        self.count += len(columns[0])

    def _write(self, structure: Any, count: int, columns: list[dict[str, Any]], buffers: Buffers) -> None:
        assert self._file.is_open, self.path  # nothing is added after the end
        data: Any = buffers.parts
        if self._compression == "GZIP":
            data = [zlib.compress(b"".join(buffers.parts), 1)]
        at, crc, nbytes = self._aligned(), 0, 0
        self.is_full |= self._max_bytes is not None and at + sum(map(len, data)) > self._max_bytes
        if self.is_full:
            return
        for part in data:
            self._file.write(part)
            crc, nbytes = zlib.crc32(part, crc), nbytes + len(part)
        segment = {"count": count, "structure": structure, "columns": columns, "at": at, "nbytes": nbytes, "crc32": crc}
        self._segments.append({**segment, "whole": buffers.nbytes} if self._compression else segment)

    def _aligned(self) -> int:
        at = self._file.tell()
        self._file.write(bytes(-at % 64))
        return self._file.tell()

    def complete(self, meta: dict[str, Any] | None = None) -> None:
        """Writes the table of contents, and gives the file its name; does nothing after an end.

        Raises:
            ResourceExhaustedError: the file would exceed ``max_bytes``, or the disk is full.
        """
        if not self._file.is_open:
            return
        if self.is_full:
            raise ResourceExhaustedError(f"{self.path} would be larger than max_bytes={self._max_bytes:,}")
        self._write_origins()
        table = {
            "segments": self._segments,
            "compression": self._compression,
            "meta": meta or {},
            "origins": self._origins,
        }
        text = json.dumps(table).encode()
        self._file.write(text)
        self._file.write(TAIL.pack(len(text), zlib.crc32(text), MAGIC))
        self._file.complete()

    def abandon(self) -> None:
        """Leaves nothing behind, unless the file is complete."""
        self._file.abandon()


def _named(treedef: TreeDef, number: int, index: int | None, function: Callable[[], T]) -> T:
    """Returns what the function gives; a refusal names the element's number and the component."""
    try:
        return function()
    except InvalidArgumentError as error:
        component = paths_of(treedef)[number]
        places = [*([] if index is None else [f"element {index}"]), *([f"component {component}"] if component else [])]
        place = f"{', '.join(places)}: " if places else ""
        raise InvalidArgumentError(f"{place}{error.reason}") from None


@mutable
class _Run:
    """Elements that may lie in one segment: of one structure, and of one kind of leaf in each component."""

    treedef: TreeDef
    kinds: tuple[Kind, ...]
    orders: Any
    structure: Any
    columns: list[list[Any]]
    count: int = 0


class StorableRows:
    """Elements that a file can keep, and has not got yet.

    Attributes:
        count: how many.
        nbytes: about how many bytes they hold.
    """

    __slots__ = ("_runs", "count", "nbytes")

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self.count = 0
        self.nbytes = 0

    def extend(self, elements: Sequence[Element]) -> bool:
        """Takes in the next elements at once if they are alike, and returns whether they are; takes in none if not."""
        if not elements:
            return True
        found = alike(elements)
        if found is None:
            return False
        run = self._run_of(found.treedef, found.kinds, found.orders)
        for column, leaves in zip(run.columns, found.columns, strict=True):
            column.extend(leaves)
        self._count(run, len(elements), found.nbytes)
        return True

    def append(self, element: Element, number: int | None = None) -> None:
        """Takes in the next element.

        Args:
            element: it.
            number: how the error calls it; None where it says elsewhere which element it is.

        Raises:
            InvalidArgumentError: it has an object in it, or its structure cannot be made again; the component is named.
        """
        normal = normalize(element)
        leaves, treedef = flatten(normal)
        try:
            kinds = tuple(map(kind_of_leaf, leaves))
        except InvalidArgumentError:
            for place, leaf in enumerate(leaves):
                _named(treedef, place, number, functools.partial(kind_of_leaf, leaf))
            raise
        orders = orders_of_keys(normal)
        run = self._run_of(treedef, kinds, orders)
        for column, leaf in zip(run.columns, leaves, strict=True):
            column.append(leaf)
        self._count(run, 1, nbytes_of_leaves(leaves))

    def _run_of(self, treedef: TreeDef, kinds: tuple[Kind, ...], orders: Any) -> _Run:
        """Returns the run that the next element belongs to."""
        run = self._runs[-1] if self._runs else None
        if run is None or (run.treedef, run.kinds) != (treedef, kinds) or run.orders != orders:
            run = _Run(treedef, kinds, orders, structure_to_json(treedef), [[] for _ in kinds])
            self._runs.append(run)
        return run

    def _count(self, run: _Run, count: int, nbytes: int) -> None:
        run.count += count
        self.count += count
        self.nbytes += nbytes

    def segments(self) -> list[tuple[Any, int, list[dict[str, Any]], Buffers]]:
        """Returns the elements as they are written, run after run."""
        segments = []
        for run in self._runs:
            buffers = Buffers()
            columns = [
                stored_leaves(leaves, kind, buffers) for leaves, kind in zip(run.columns, run.kinds, strict=True)
            ]
            segments.append((run.structure, run.count, columns, buffers))
        return segments
