"""Stages that read nothing: sources by index, generators, and files of records."""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.io.reader import Chunk, Place, RecordReader
from headrace.observe.meter import Meter
from headrace.physical.block import Block, Columns, Failure, Indexed, IndexSource, Payload, Rows
from headrace.physical.cursor import IndexCursor, State
from headrace.physical.draws import Key, integers
from headrace.physical.failing import located
from headrace.physical.origin import FileOrigin, NumberedOrigin, Numbers, as_array
from headrace.physical.stage import Item, Stage
from headrace.plan.sources import Files, FromGenerator
from headrace.structure import (
    LEAF,
    Element,
    TensorSpec,
    TreeDef,
    flatten,
    leaf_spec,
    normalize,
    normalize_rows,
    rows_of,
    unflatten,
)

__all__ = [
    "ArraysSource",
    "FilesStage",
    "GeneratorRun",
    "GeneratorStage",
    "IndexedStage",
    "OneSource",
    "RandomNumbers",
    "RangeSource",
    "record_rows",
]

_log = logging.getLogger("headrace")


class ArraysSource:
    """Slices of arrays along their first axis."""

    __slots__ = ("arrays", "treedef")

    def __init__(self, treedef: TreeDef, arrays: tuple[np.ndarray, ...]) -> None:
        self.treedef = treedef
        self.arrays = arrays

    @property
    def has_tuples(self) -> bool | None:
        return self.treedef.type is tuple

    def _picked(self, indices: Numbers) -> list[np.ndarray]:
        if isinstance(indices, range):  # a view: nothing is copied
            part = slice(indices.start, indices.stop, indices.step) if len(indices) else slice(0, 0)
            return [array[part] for array in self.arrays]
        return [array.take(indices, axis=0) for array in self.arrays]

    def rows(self, indices: Numbers) -> list[Element]:
        picked = self._picked(indices)
        for array in picked:  # a view must be, so a copy is as well: no one can tell which was cheaper
            array.flags.writeable = False
        return rows_of(self.treedef, picked)

    def columns(self, indices: Numbers) -> Columns:
        return Columns(self.treedef, self._picked(indices))


class OneSource:
    """One element, which is no array of elements."""

    __slots__ = ("element",)

    def __init__(self, element: Element) -> None:
        self.element = element

    @property
    def has_tuples(self) -> bool | None:
        return type(self.element) is tuple

    def rows(self, indices: Numbers) -> list[Element]:
        leaves, treedef = flatten(self.element)
        # Each has containers of its own: a function that puts something into a dict changes no other epoch's.
        return [unflatten(treedef, leaves) for _ in range(len(indices))]

    def columns(self, indices: Numbers) -> Columns:
        return Rows(self.rows(indices)).columns()


class RangeSource:
    """The numbers of a range."""

    __slots__ = ("dtype", "numbers")

    has_tuples = False
    # A range without an end stops where no index of Python's can count further.
    ENDLESS = 1 << 62

    def __init__(self, start: int, stop: int | None, step: int, dtype: np.dtype[Any]) -> None:
        self.numbers = range(start, start + step * self.ENDLESS if stop is None else stop, step)
        self.dtype = dtype

    def _array(self, indices: Numbers) -> np.ndarray:
        numbers: np.ndarray = self.numbers.start + self.numbers.step * as_array(indices)
        return numbers.astype(self.dtype, copy=False)

    def rows(self, indices: Numbers) -> list[Element]:
        if isinstance(indices, range) and self.dtype == np.int64:
            return list(self.numbers[indices.start : indices.stop : indices.step]) if len(indices) else []
        return rows_of(LEAF, [self._array(indices)])

    def columns(self, indices: Numbers) -> Columns:
        return Columns(LEAF, [self._array(indices)])


class RandomNumbers:
    """Endless random integers, by number."""

    __slots__ = ("key",)

    has_tuples = False

    def __init__(self, key: Key) -> None:
        self.key = key

    def _array(self, indices: Numbers) -> np.ndarray:
        wanted = as_array(indices)
        low, high = int(wanted.min()), int(wanted.max()) + 1
        drawn: np.ndarray = integers(self.key, low, high - low)[wanted - low]
        return drawn

    def rows(self, indices: Numbers) -> list[Element]:
        return rows_of(LEAF, [self._array(indices)])

    def columns(self, indices: Numbers) -> Columns:
        return Columns(LEAF, [self._array(indices)])


class IndexedStage(Stage):
    """The elements of an indexed source in order; reads none of them itself."""

    by_index = True

    def __init__(self, source: IndexSource, length: int | None, meter: Meter, state: State | None) -> None:
        self._index: int = state["index"] if state else 0
        super().__init__(meter, (), IndexCursor(self._index))
        self._source = source
        self._length = length

    def _pull(self, limit: int) -> Item:
        stop = self._index + limit if self._length is None else min(self._index + limit, self._length)
        numbers = range(self._index, stop)
        if not numbers:
            return None
        self._index = stop
        return Block(Indexed(self._source, numbers), IndexCursor(numbers.start), NumberedOrigin(numbers))


class GeneratorRun:
    """One run of a user's generator, from its start or from a state.

    Shared by both ways of running a plan: it gives one checked element at a time.
    """

    def __init__(self, node: FromGenerator, state: State | None) -> None:
        self._node = node
        self._saved: State = state or {"index": 0}
        self._iterator: Iterator[Any] | None = None
        self.index: int = self._saved["index"]

    def _begun(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = iter(())  # where the generator raises at once, it has ended
            self._iterator = self._restored(iter(self._node.generator(*self._node.args)))
        return self._iterator

    def _restored(self, iterator: Any) -> Iterator[Any]:
        saved = self._saved
        if "own" in saved:
            iterator.load_state_dict(saved["own"])
            return _skipped(iterator, saved.get("skip", 0))
        if saved["index"]:
            message = "%s: the generator is run again, and its first %d elements dropped"
            _log.warning(message, self._node.label, saved["index"])
        return _skipped(iterator, saved["index"])

    def next_rows(self, limit: int) -> tuple[list[Element], Exception | None]:
        """Up to ``limit`` elements, and the error behind them; fewer without an error are the last."""
        raw: list[Any] = []
        error: Exception | None = None
        try:
            raw.extend(itertools.islice(self._begun(), limit))  # what came before an error stays
        except Exception as raised:  # noqa: BLE001 - a user's generator may raise anything
            error, self._iterator = raised, iter(())
        rows, unfit = self._checked(raw)
        if unfit is not None:
            self._iterator = _resumed(raw[len(rows) + 1 :], error, self._begun())
            error = unfit
        self.index += len(rows) + (error is not None)
        return rows, error

    def next(self) -> Element:
        """The next element.

        Raises:
            StopIteration: at the end.
            Exception: whatever the generator raises, which ends it.
        """
        rows, error = self.next_rows(1)
        if error is not None:
            raise error
        if not rows:
            raise StopIteration
        return rows[0]

    def _checked(self, raw: list[Any]) -> tuple[list[Element], Exception | None]:
        """The elements in the form that they should have, as far as the first that does not fit."""
        signature = self._node.signature
        rows: list[Element] = []
        try:
            if signature is None:
                return normalize_rows(raw, set(map(type, raw))), None
        except InvalidArgumentError:
            pass  # found one by one below
        try:
            rows.extend(_checked(normalize(element), signature) for element in raw)
        except InvalidArgumentError as unfit:
            return rows, unfit
        return rows, None

    def own_state(self) -> Any:
        """The state that the generator's iterator has of its own, or None."""
        try:
            iterator: Any = self._begun()
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything; it is told at its turn
            self._iterator = iterator = _resumed([], error, iter(()))
        resumable = hasattr(iterator, "state_dict") and hasattr(iterator, "load_state_dict")
        return iterator.state_dict() if resumable else None

    def state(self) -> State:
        """The place of the next element."""
        if self._iterator is None:
            return self._saved
        own = self.own_state()
        return {"index": self.index} if own is None else {"index": self.index, "own": own}

    def close(self) -> None:
        """Ends the generator, so that its ``finally`` runs."""
        closing = getattr(self._iterator, "close", None)
        if closing is not None:
            closing()


def _resumed(rest: list[Any], error: Exception | None, iterator: Iterator[Any]) -> Iterator[Any]:
    """What was read and not given yet, then what comes behind it."""
    yield from rest
    if error is not None:
        raise error
    yield from iterator


def _skipped(iterator: Iterator[Any], count: int) -> Iterator[Any]:
    """The iterator without its first elements; where it raises among them it has ended, as it had before."""
    try:
        for _ in range(count):
            next(iterator, None)
    except Exception:  # noqa: BLE001 - a user's generator may raise anything, and has raised it before
        return iter(())
    return iterator


def _checked(element: Element, signature: Any) -> Element:
    """The element in the form that the signature states.

    Raises:
        InvalidArgumentError: it has another structure, shape or dtype.
    """
    if signature is None:
        return element
    leaves, treedef = flatten(element)
    specs, wanted = flatten(signature)
    if treedef != wanted:
        raise InvalidArgumentError(f"the generator yielded another structure than its signature {signature}")
    return unflatten(treedef, [_fitted(leaf, spec) for leaf, spec in zip(leaves, specs, strict=True)])


def _fitted(leaf: Any, spec: TensorSpec) -> Any:
    fitted = leaf
    if isinstance(spec.dtype, np.dtype) and leaf_spec(leaf).dtype != spec.dtype:
        fitted = _converted(leaf, spec.dtype)
    if not spec.is_compatible_with(leaf_spec(fitted)):
        raise InvalidArgumentError(f"the generator yielded {leaf_spec(leaf)}, its signature says {spec}")
    return fitted


def _converted(leaf: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number, or a list of them, takes the signature's dtype; an array has one of its own."""
    if isinstance(leaf, (np.ndarray, np.generic)) and not np.can_cast(leaf.dtype, dtype, "same_kind"):
        return leaf
    if not isinstance(leaf, (bool, int, float, complex, np.ndarray, np.generic)):
        return leaf
    array = np.asarray(leaf)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        return leaf
    return rows_of(LEAF, [array.astype(dtype)[None]])[0]


class GeneratorStage(Stage):
    """What a user's generator yields."""

    def __init__(self, node: FromGenerator, meter: Meter, state: State | None) -> None:
        saved = state or {"index": 0}
        super().__init__(meter, (), _GeneratorCursor(saved["index"], saved.get("own"), saved.get("skip", 0)))
        self._run = GeneratorRun(node, state)
        self._node = node
        self._ended = False
        self._raised: Exception | None = None

    def _pull(self, limit: int) -> Item:
        if self._raised is None and not self._ended:
            cursor = _GeneratorCursor(self._run.index, self._run.own_state())
            rows, self._raised = self._run.next_rows(limit)
            self._ended = self._raised is None and len(rows) < limit
            if rows:
                numbers = range(cursor.index, cursor.index + len(rows))
                return Block(Rows(rows), cursor, NumberedOrigin(numbers))
        return None if self._raised is None else self._failure(self._raised)

    def _failure(self, error: Exception) -> Failure:
        self._raised = None
        number = self._run.index - 1
        placed = located(error, stage=self._node.label, origin=f"element {number}")
        own = self._run.own_state()
        return Failure(placed, self.cursor, _GeneratorCursor(number + 1, own))

    def close(self) -> None:
        self._run.close()


@dataclasses.dataclass(frozen=True, slots=True)
class _GeneratorCursor:
    """In a generator: a number, and its own state at the start of the block where it offers one."""

    index: int
    own: Any
    skip: int = 0

    def advance(self, count: int) -> _GeneratorCursor:
        return _GeneratorCursor(self.index + count, self.own, self.skip + count)

    def state(self) -> State:
        return {"index": self.index} if self.own is None else {"index": self.index, "own": self.own, "skip": self.skip}


@dataclasses.dataclass(frozen=True, slots=True)
class _FileCursor:
    """In a list of files: which, where in it, and how many records further."""

    file: int
    place: Place
    skip: int = 0

    def advance(self, count: int) -> _FileCursor:
        return _FileCursor(self.file, self.place, self.skip + count)

    def state(self) -> State:
        return {"file": self.file, "place": self.place.to_json(), "skip": self.skip}


def record_rows(node: Files, treedef: TreeDef, chunk: Chunk) -> Payload:
    """The records of a chunk as a payload; whole elements where the format cannot say of which structure they are."""
    if chunk.rows is not None:
        return Rows(list(chunk.rows))
    components = node.format.components(chunk)
    if chunk.structure is not None:
        return Columns(chunk.structure, components)
    if components is not None and node.spec() is None:
        return Rows(components[0].tolist())
    return Columns(treedef, components, chunk.matrix if components is None else None)


class FilesStage(Stage):
    """The records of files, one file after the other."""

    def __init__(self, node: Files, meter: Meter, state: State | None) -> None:
        saved = state or {"file": 0, "place": Place().to_json(), "skip": 0}
        self._file: int = saved["file"]
        self._place = Place.from_json(saved["place"])
        self._skip: int = saved["skip"]
        super().__init__(meter, (), _FileCursor(self._file, self._place, self._skip))
        self._node = node
        self._treedef = flatten(node.spec())[1]
        self._reader: RecordReader | None = None

    def _pull(self, limit: int) -> Item:
        while self._file < len(self._node.paths):
            try:
                chunk = self._opened().read(self._skip or limit)
            except HeadraceError as error:
                return self._failure(error)
            if chunk is None:
                self._next_file()
            elif self._skip:
                self._skip -= len(chunk)
            else:
                self.at_hand = chunk.at_hand
                return self._block(chunk)
        return None

    def _opened(self) -> RecordReader:
        if self._reader is None:
            self._reader = self._node.format.open(self._node.paths[self._file], self._place)
        return self._reader

    def _next_file(self) -> None:
        self.close()
        self._reader = None
        self.at_hand = 0
        self._file, self._place, self._skip = self._file + 1, Place(), 0

    def _block(self, chunk: Chunk) -> Block:
        payload = record_rows(self._node, self._treedef, chunk)
        path = self._node.paths[self._file]
        return Block(payload, _FileCursor(self._file, chunk.place), FileOrigin(path, chunk.lines))

    def _failure(self, error: HeadraceError) -> Failure:
        """One bad record, or a file that cannot be read; the reader has moved on behind it."""
        path = self._node.paths[self._file]
        placed = error.located(stage=self._node.label, origin=path)
        after = self._reader.place if self._reader is not None else self._place
        if self._reader is None:
            self._next_file()
            return Failure(placed, self.cursor, _FileCursor(self._file, Place()))
        return Failure(placed, self.cursor, _FileCursor(self._file, after))

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
