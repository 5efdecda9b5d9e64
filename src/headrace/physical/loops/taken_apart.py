"""Elements that are taken apart, leaf by leaf, as all of them are stacked by who reads them: no element is made.

Of an array the bytes are taken as they come, whoever has it, too, and may fill it again: that costs a third of an array of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.elements.leaf_arrays import PYTHON_NUMBERS, stack
from headrace.elements.rows_and_columns import rows_of_leaves
from headrace.elements.structure import Element, TreeDef, flatten
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.physical.loops.forms import ArrayForm, DictForm, Form, TupleForm, form_of
from headrace.semantics.signed import Signed

__all__ = ["SCALARS", "Apart", "Arrays", "TakenApart", "leaf_of"]

# Larger ones are copied once and not twice: into arrays of their own, which are stacked.
_MOST_BYTES: Final = 1024
# What a column holds as it came, and gives back.
SCALARS: Final = frozenset({*PYTHON_NUMBERS, str, bytes, np.float32, np.int32, np.uint8})
# And what it gives back as a Python number, of the same dtype where it is stacked.
_STACKED_SCALARS: Final = SCALARS | {np.float64, np.int64, np.bool_}


@frozen
class Arrays:
    """Leaves that are arrays of one dtype and shape."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def column(self, parts: list[bytes]) -> np.ndarray:
        """Returns the arrays that have these bytes as one, of its own memory."""
        whole = np.empty((len(parts), *self.shape), self.dtype)
        whole.reshape(-1).view(np.uint8)[:] = np.frombuffer(b"".join(parts), np.uint8)
        return whole


def leaf_of(value: Any, scalars: AbstractSet[type]) -> type | Arrays | None:
    """Returns what a leaf is, given which scalars are taken; None where leaves of its like are not."""
    kind = type(value)
    if kind is not np.ndarray:
        return kind if kind in scalars else None
    is_small = value.ndim and 0 < value.nbytes <= _MOST_BYTES
    is_of_numbers = value.dtype.kind in "biufc" and value.dtype.isnative
    return Arrays(value.dtype, value.shape) if is_small and is_of_numbers else None


class TakenApart:
    """Elements that were taken, by their leaves."""

    def __init__(self, treedef: TreeDef, leaves: tuple[type | Arrays, ...]) -> None:
        self.columns: list[list[Any]] = [[] for _ in leaves]
        self._treedef = treedef
        self._leaves = leaves

    def __len__(self) -> int:
        return len(self.columns[-1])

    def even(self, most: int | None = None) -> None:
        """Drops what was taken of an element of which something is missing, as there was no memory for it; keeps so many at most."""
        whole = min(map(len, self.columns))
        whole = whole if most is None else min(whole, most)
        for column in self.columns:
            del column[whole:]

    def rows(self) -> list[Element]:
        """Returns the elements, each with arrays of its own."""
        leaves = [
            [array.copy() for array in leaf.column(column)] if isinstance(leaf, Arrays) else column
            for leaf, column in zip(self._leaves, self.columns, strict=True)
        ]
        return rows_of_leaves(self._treedef, leaves, len(self))

    def payload(self, signed: Signed | None) -> Columns | None:
        """Returns the elements as columns, as they should be; None where one by one says which is not."""
        arrays = []
        try:
            for number, (leaf, column) in enumerate(zip(self._leaves, self.columns, strict=True)):
                if isinstance(leaf, Arrays):
                    arrays.append(leaf.column(column))
                else:
                    arrays.append(stack(column) if signed is None else signed.array(number, column))
        except (HeadraceError, ValueError, TypeError, LookupError, ArithmeticError):
            return None
        return Columns(self._treedef, arrays)


@frozen
class Apart:
    """How results of one form are taken apart: plain tuples and dicts, their keys in one order, of small arrays and scalars.

    Attributes:
        form: theirs.
        treedef: their structure.
        leaves: what they hold, in its order.
    """

    form: Form
    treedef: TreeDef
    leaves: tuple[type | Arrays, ...]

    @classmethod
    def of(cls, element: Element) -> Apart | None:
        """Returns how elements are taken apart that are as this one; None where that cannot be, or does not pay."""
        form = form_of(element)
        if form is None or isinstance(form, type) or not _is_plain(form):
            return None
        leaves, treedef = flatten(element)
        kinds = [leaf_of(leaf, _STACKED_SCALARS) for leaf in leaves]
        return None if None in kinds or not kinds else cls(form, treedef, tuple(kinds))  # type: ignore[arg-type]  # None is not among them

    def begin(self) -> TakenApart:
        """Returns where elements are put that are taken next."""
        return TakenApart(self.treedef, self.leaves)

    def text(self, element: str, constant: Callable[[Any], str]) -> ApartText:
        """Returns how an element is taken apart, as text for a loop, given what names a value in it."""
        text = ApartText(constant)
        text.look_at(element, element, self.form, iter(self.leaves))
        return text


class ApartText:
    """The text that takes an element apart.

    Attributes:
        checks: what is asked of it.
        values: what is put into the column of each leaf.
        variables: what it has names for besides.
    """

    def __init__(self, constant: Callable[[Any], str]) -> None:
        self.checks: list[str] = []
        self.values: list[str] = []
        self.variables: list[str] = []
        self._constant = constant

    def look_at(self, first: str, name: str, form: Form, leaves: Iterator[type | Arrays]) -> None:
        """Looks at a part of that form, which holds the next leaves; its first mention gives it its name."""
        if isinstance(form, (TupleForm, DictForm)):
            is_dict = isinstance(form, DictForm)
            keys: tuple[Any, ...] = form.keys if isinstance(form, DictForm) else tuple(range(len(form.parts)))
            self.checks.append(f"type({first}) is {'dict' if is_dict else 'tuple'}")
            self.checks.append(f"(*{name},) == {keys!r}" if is_dict else f"len({name}) == {len(keys)}")
            for key, part in sorted(zip(keys, form.parts, strict=True), key=lambda item: item[0]):
                self.variables.append(variable := f"y{len(self.variables)}")
                self.look_at(f"({variable} := {name}[{key!r}])", variable, part, leaves)
            return
        leaf = next(leaves)
        if isinstance(leaf, Arrays):
            of_array = f"{name}.dtype is {self._constant(leaf.dtype)}", f"{name}.shape == {leaf.shape!r}"
            self.checks += [f"type({first}) is ndarray", *of_array]
            self.values.append(f"{name}.tobytes()")
        else:
            self.checks.append(f"type({first}) is {self._constant(leaf)}")
            self.values.append(name)

    def lines(self) -> list[str]:
        """Returns the lines that put the leaves into their columns."""
        return [f"c{number}.append({value})" for number, value in enumerate(self.values)]


def _is_plain(form: Form) -> bool:
    """Returns whether its structure is plain tuples and dicts alone; None is structure, too."""
    if isinstance(form, DictForm) or (isinstance(form, TupleForm) and form.kind is tuple):
        return all(map(_is_plain, form.parts))
    return isinstance(form, ArrayForm) or (isinstance(form, type) and form is not type(None))
