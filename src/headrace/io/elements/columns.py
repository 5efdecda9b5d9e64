"""One leaf of many elements as bytes, and back: numbers as they lie in memory, texts after their ends, shapes before both.

A column whose leaves have one shape is an array, and reading it copies nothing. Where shapes differ they are stored as
well, and each leaf is cut out by itself.

What always holds: a leaf comes back as what it was, of the same type, dtype, byte order and shape, or it is refused by name.
Refused is what is neither a number, a text, nor an array of them and nothing more: objects, masks, an enum's member.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np

from headrace.elements.leaf_arrays import PYTHON_NUMBERS
from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import LEAF, object_array
from headrace.errors import DataLossError, InvalidArgumentError
from headrace.frozen import frozen

__all__ = ["Buffers", "Kind", "StoredColumn", "kind_of_array", "kind_of_leaf", "stored_array", "stored_leaves"]

# Where each buffer begins, so that arrays of every dtype lie as processors want them.
_ALIGNED: Final = 64
_TEXTS: Final = {"str": str, "bytes": bytes}
_SCALARS: Final = frozenset((bool, int, float, complex))
_NATIVE: Final = frozenset(PYTHON_NUMBERS.values())


class Buffers:
    """Bytes that are to be written one after the other, each aligned."""

    def __init__(self) -> None:
        self.parts: list[memoryview] = []
        self.nbytes = 0

    def add(self, array: np.ndarray) -> dict[str, Any]:
        """Takes an array in; says where it will lie."""
        contiguous = np.ascontiguousarray(array)
        view = contiguous.reshape(-1).view(np.uint8).data if contiguous.nbytes else memoryview(b"")
        padding = -self.nbytes % _ALIGNED
        self.parts += [memoryview(bytes(padding)), view]
        at = self.nbytes + padding
        self.nbytes = at + len(view)
        return {"dtype": contiguous.dtype.str, "at": at, "count": contiguous.size}


class Kind(NamedTuple):
    """What leaves must have in common to lie in one column."""

    values: str  # the dtype, or ``str`` or ``bytes``
    axes: int
    form: str | None  # of what has no axes, where it is not what an element of an array would be


# What leaves without axes are where an array gives something else: NumPy's int64 for an int, or a complex number for NumPy's.
NUMPY: Final = "numpy"
PYTHON: Final = "python"
ARRAY: Final = "array"
_ARRAYS: Final = (np.ndarray, np.memmap)  # an array in a file has the values of another


def kind_of_leaf(leaf: Any) -> Kind:
    """Returns the kind of column that a leaf belongs to.

    Raises:
        InvalidArgumentError: it is an object that cannot be stored.
    """
    kind = type(leaf)
    if kind is str or kind is bytes:
        return Kind(kind.__name__, 0, None)
    if kind is int and not -(1 << 63) <= leaf < 1 << 63:
        raise InvalidArgumentError(f"the int {leaf} cannot be stored: it needs more than 64 bits")
    if kind in _ARRAYS:
        return Kind(kind_of_array(leaf), leaf.ndim, None if leaf.ndim else ARRAY)
    if kind in _SCALARS:
        return Kind(np.asarray(leaf).dtype.str, 0, PYTHON if kind is complex else None)
    if isinstance(leaf, np.generic) and kind is leaf.dtype.type:
        return Kind(kind_of_array(np.asarray(leaf)), 0, NUMPY if leaf.dtype in _NATIVE else None)
    raise _refused(kind)


def _refused(kind: type) -> InvalidArgumentError:
    message = f"an object of type {kind.__name__} cannot be stored: make it a number, a text or an array first"
    if issubclass(kind, np.ma.MaskedArray):
        message += ", such as (x.data, np.ma.getmaskarray(x)) or x.filled(0)"
    return InvalidArgumentError(message)


def kind_of_array(array: np.ndarray) -> str:
    """Returns what an array is stored as: its dtype, or ``str`` or ``bytes``.

    Raises:
        InvalidArgumentError: it holds an object that cannot be stored.
    """
    if type(array) not in _ARRAYS:
        raise _refused(type(array))
    if array.dtype.kind in "US":
        return "str" if array.dtype.kind == "U" else "bytes"
    if array.dtype.kind == "V":
        raise InvalidArgumentError(f"an array of {array.dtype} cannot be stored")
    if array.dtype.kind != "O":
        return array.dtype.str
    kinds = set(map(type, array.ravel().tolist()))
    for name, kind in _TEXTS.items():
        if kinds <= {kind}:
            return name
    odd = next(kind.__name__ for kind in kinds if kind not in (str, bytes)) if kinds - {str, bytes} else "str and bytes"
    raise InvalidArgumentError(f"an object of type {odd} cannot be stored: make it a number, a text or an array first")


def stored_array(array: np.ndarray, into: Buffers) -> dict[str, Any]:
    """Returns a column whose leaves have one shape: a leading axis, and theirs."""
    return {"shape": list(array.shape[1:]), **_stored_values(array, kind_of_array(array), into)}


def stored_leaves(leaves: Sequence[Any], kind: Kind, into: Buffers) -> dict[str, Any]:
    """Returns a column of leaves of one kind and number of axes."""
    if kind.axes == 0 and kind.form != ARRAY:
        scalars = object_array(leaves) if kind.values in _TEXTS else _numbers(leaves, kind.values)
        return {"shape": [], **_with_form(_stored_values(scalars, kind.values, into), kind)}
    arrays = [_as_array(leaf, kind.values) for leaf in leaves]
    shapes = {array.shape for array in arrays}
    flat = np.concatenate([array.reshape(-1) for array in arrays])
    if kind.values not in _TEXTS:
        flat = flat.astype(kind.values, copy=False)  # NumPy joins arrays in the machine's order of bytes
    values = _with_form(_stored_values(flat, kind.values, into), kind)
    if len(shapes) == 1:
        return {"shape": list(shapes.pop()), **values}
    table = np.array([array.shape for array in arrays], np.int64)
    axes = [sizes[0] if len(set(sizes)) == 1 else None for sizes in table.T.tolist()]
    return {"axes": axes, "shapes": into.add(table), **values}


def _numbers(leaves: Sequence[Any], dtype: str) -> np.ndarray:
    # One by one Python's numbers are read in half the time; of NumPy's, an array knows better how to convert each.
    if type(leaves[0]) in _SCALARS:
        return np.fromiter(leaves, dtype, len(leaves))
    return np.array(leaves, dtype)


def _with_form(values: dict[str, Any], kind: Kind) -> dict[str, Any]:
    return values if kind.form is None else {**values, "form": kind.form}


def _as_array(leaf: Any, kind: str) -> np.ndarray:
    if kind not in _TEXTS:
        return np.asarray(leaf)
    if isinstance(leaf, str | bytes):
        return object_array([leaf]).reshape(())
    array = np.asarray(leaf)
    return object_array(array.ravel().tolist()).reshape(array.shape)


def _stored_values(array: np.ndarray, kind: str, into: Buffers) -> dict[str, Any]:
    if kind not in _TEXTS:
        return {"values": into.add(array)}
    encoded = [text.encode("utf-8", "surrogatepass") if kind == "str" else text for text in array.ravel().tolist()]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return {"text": kind, "ends": into.add(ends), "values": into.add(data)}


@frozen(eq=False)
class StoredColumn:
    """A column as it lies in a file.

    Attributes:
        values: all numbers, or all bytes of texts.
        ends: where each text ends in ``values``, after a 0; None for numbers.
        shape: of every leaf; None where they differ.
        shapes: of each leaf, where they differ.
        starts: the number of the first value of each leaf, where shapes differ.
        form: what its leaves are, where an array of them would give something else; None where it would not.
    """

    values: np.ndarray
    text: str | None
    ends: np.ndarray | None
    shape: tuple[int, ...] | None
    shapes: np.ndarray | None
    starts: np.ndarray | None
    form: str | None

    @classmethod
    def of(cls, data: dict[str, Any], memory: memoryview) -> Self:
        """Returns the column that ``data`` describes, on these bytes."""

        def array(where: dict[str, Any]) -> np.ndarray:
            return np.frombuffer(memory, np.dtype(where["dtype"]), count=where["count"], offset=where["at"])

        shapes = starts = None
        values = array(data["values"])
        ends = array(data["ends"]) if "ends" in data else None
        if ends is not None:
            _check_ends(ends, len(values))
        if "shapes" in data:
            shapes = array(data["shapes"]).reshape(-1, len(data["axes"]))
            starts = np.array([0, *itertools.accumulate(map(math.prod, shapes.tolist()))])
            _check_shapes(shapes, int(starts[-1]), (len(values) if ends is None else len(ends) - 1))
        shape = tuple(data["shape"]) if "shape" in data else None
        return cls(values, data.get("text"), ends, shape, shapes, starts, data.get("form"))

    def column(self, count: int, indices: slice | np.ndarray) -> np.ndarray | None:
        """Returns the leaves at these places as one array; None where their shapes differ."""
        if self.shape is None:
            return None
        if self.ends is None:
            whole: np.ndarray = self.values.reshape(count, *self.shape)
            return whole[indices]
        size = int(np.prod(self.shape, dtype=np.int64))
        run = range(count)[indices] if isinstance(indices, slice) else range(0)
        if run and run.step == 1:  # texts that lie side by side are read at once
            return self._texts([(run.start * size, run.stop * size)]).reshape(len(run), *self.shape)
        chosen = np.arange(count)[indices]
        texts = self._texts((start * size, start * size + size) for start in chosen.tolist())
        return texts.reshape(len(chosen), *self.shape)

    def formed(self, column: np.ndarray) -> list[Any]:
        """Returns the leaves in an array of this column's, as what they were."""
        match self.form:
            case "numpy":
                return list(column)
            case "python":
                numbers: list[Any] = column.tolist()
                return numbers
            case "array":
                return [column[number : number + 1].reshape(()) for number in range(len(column))]
        return rows_of(LEAF, [column])

    def leaves(self, indices: Iterable[int]) -> list[Any]:
        """Returns the leaves at these places, one by one, where shapes differ."""
        assert self.shapes is not None  # `column` does for the others
        assert self.starts is not None
        return [self._leaf(self.starts[at], self.starts[at + 1], tuple(self.shapes[at].tolist())) for at in indices]

    def _leaf(self, start: int, end: int, shape: tuple[int, ...]) -> np.ndarray:
        flat = self.values[start:end] if self.ends is None else self._texts([(int(start), int(end))])
        return flat.reshape(shape)

    def _texts(self, spans: Iterable[tuple[int, int]]) -> np.ndarray:
        """Returns the texts of these runs of numbers."""
        assert self.ends is not None  # only texts have them
        found: list[Any] = []
        for start, stop in spans:
            ends = self.ends[start : stop + 1].tolist()
            if stop > start:
                data = self.values[ends[0] : ends[-1]].tobytes()
                is_text = self.text == "str"
                # Where each byte is a character.
                whole: Any = data.decode("ascii") if is_text and data.isascii() else data
                pieces = [whole[a - ends[0] : b - ends[0]] for a, b in itertools.pairwise(ends)]
                found += _decoded(pieces) if is_text and whole is data else pieces
        return object_array(found)


def _decoded(pieces: Iterable[bytes]) -> list[str]:
    try:
        return [piece.decode("utf-8", "surrogatepass") for piece in pieces]
    except UnicodeDecodeError as error:
        raise DataLossError(f"a stored text is no text: {error}") from error


def _check_ends(ends: np.ndarray, size: int) -> None:
    """Refuses ends that are not of texts which lie one after the other in that many bytes."""
    if ends[0] != 0 or ends[-1] != size or (ends[1:] < ends[:-1]).any():
        raise DataLossError("stored texts do not end where they are said to")


def _check_shapes(shapes: np.ndarray, found: int, size: int) -> None:
    """Refuses shapes that are not of leaves which lie one after the other in that many values."""
    if shapes.size and (shapes.min() < 0 or np.where(shapes, shapes, 1).prod(axis=1, dtype=float).max() > 1 << 60):
        raise DataLossError("stored arrays do not have the shapes that they are said to have")
    if found != size:
        raise DataLossError("stored arrays have other sizes than they are said to have")
