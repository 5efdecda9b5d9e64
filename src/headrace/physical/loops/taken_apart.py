"""Elements that are taken apart, leaf by leaf, as all of them are stacked by who reads them: no element is made.

Of an array the bytes are taken as they come, whoever has it, too, and may fill it again: that costs a third of an array of one's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.elements.leaf_arrays import PYTHON_NUMBERS, stack
from headrace.elements.rows_and_columns import rows_of_leaves
from headrace.elements.structure import Element, TreeDef, flatten
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.physical.loops.forms import ArrayForm, DictForm, Form, TupleForm, form_of

if TYPE_CHECKING:
    from headrace.semantics.signed import Signed

__all__ = ["SCALARS", "STACKED_SCALARS", "Apart", "Arrays", "TakenApart", "leaf_of"]

# Larger ones are copied once and not twice: into arrays of their own, which are stacked.
_MOST_BYTES: Final = 1024
# The length and the size say what the shape is.
_FEW_AXES: Final = 2
# What a column holds as it came, and gives back.
SCALARS: Final = frozenset({*PYTHON_NUMBERS, str, bytes, np.float32, np.int32, np.uint8})
# And what it gives back as a Python number, of the same dtype where it is stacked.
STACKED_SCALARS: Final = SCALARS | {np.float64, np.int64, np.bool_}


@frozen
class Arrays:
    """Leaves that are arrays of one dtype and shape."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def conditions(self, name: str, constant: Callable[[Any], str]) -> list[str]:
        """Returns what is asked of one, given what names a value in the text.

        Few axes are asked for one by one: a shape is a new tuple of new ints, which takes longer than all else.
        """
        checks = [f"type({name}) is ndarray", f"{name}.dtype is {constant(self.dtype)}"]
        if len(self.shape) > _FEW_AXES:
            return [*checks, f"{name}.shape == {self.shape!r}"]
        checks += [f"{name}.ndim == {len(self.shape)}", f"len({name}) == {self.shape[0]}"]
        return checks if len(self.shape) == 1 else [*checks, f"{name}.size == {math.prod(self.shape)}"]

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
                    arrays.append(stack(column, {leaf}) if signed is None else signed.array(number, column, {leaf}))
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
        kinds = [leaf_of(leaf, STACKED_SCALARS) for leaf in leaves]
        return None if None in kinds or not kinds else cls(form, treedef, tuple(kinds))  # type: ignore[arg-type]  # None is not among them

    def begin(self) -> TakenApart:
        """Returns where elements are put that are taken next."""
        return TakenApart(self.treedef, self.leaves)

    def text(
        self, element: str, constant: Callable[[Any], str], otherwise: Sequence[str], *, may_be_list: bool
    ) -> list[str]:
        """Returns the lines that take an element apart.

        Args:
            element: it.
            constant: gives the name of a value in the text.
            otherwise: what is done with one of another form; the last of these lines ends the loop.
            may_be_list: whether one that is a tuple may have come as a list.
        """
        text = _ApartText(constant, may_be_list=may_be_list)
        text.look_at(element, self.form, iter(self.leaves))
        return text.lines(otherwise)


# Stands for what is done with an element of another form.
_OTHERWISE: Final = "otherwise"


class _ApartText:
    """The text that takes an element apart."""

    def __init__(self, constant: Callable[[Any], str], *, may_be_list: bool) -> None:
        self._constant = constant
        self._may_be_list = may_be_list
        self._lines: list[str] = []
        self._variables: list[str] = []
        self._checks: list[str] = []  # of the leaves
        self._values: list[str] = []  # what is put into the column of each leaf

    def look_at(self, name: str, form: Form, leaves: Iterator[type | Arrays]) -> None:
        """Looks at a part of that name and form, which holds the next leaves."""
        if isinstance(form, DictForm):
            self._look_at_dict(name, form, leaves)
        elif isinstance(form, TupleForm):
            self._look_at_tuple(name, form, leaves)
        elif isinstance(leaf := next(leaves), Arrays):
            self._checks += leaf.conditions(name, self._constant)
            self._values.append(f"{name}.tobytes()")
        else:
            self._checks.append(f"type({name}) is {self._constant(leaf)}")
            self._values.append(name)

    def _look_at_tuple(self, name: str, form: TupleForm, leaves: Iterator[type | Arrays]) -> None:
        """Takes a tuple apart, whose number of parts is not asked for: to be ready for another one costs nothing."""
        is_whole = not self._lines
        if is_whole and self._may_be_list:
            self._lines += [f"if type({name}) is not tuple:", f" if type({name}) is not list:", f"  {_OTHERWISE}"]
            self._lines.append(f" {name} = tuple({name})")
        else:
            self._lines += [f"if type({name}) is not tuple:", f" {_OTHERWISE}"]
        parts = [self._variable() for _ in form.parts]
        if parts:
            taken = f" {''.join(f'{part}, ' for part in parts)}= {name}"
            self._lines += ["try:", taken, "except ValueError:", f" {_OTHERWISE}"]
        else:
            self._lines += [f"if {name}:", f" {_OTHERWISE}"]
        for part, below in zip(parts, form.parts, strict=True):
            self.look_at(part, below, leaves)

    def _look_at_dict(self, name: str, form: DictForm, leaves: Iterator[type | Arrays]) -> None:
        self._lines += [f"if not (type({name}) is dict and (*{name},) == {form.keys!r}):", f" {_OTHERWISE}"]
        for key, below in sorted(zip(form.keys, form.parts, strict=True), key=lambda item: item[0]):
            part = self._variable()
            self._lines.append(f"{part} = {name}[{key!r}]")
            self.look_at(part, below, leaves)

    def _variable(self) -> str:
        self._variables.append(f"y{len(self._variables)}")
        return self._variables[-1]

    def lines(self, otherwise: Sequence[str]) -> list[str]:
        """Returns the lines, of which the last ones put the leaves into their columns."""
        lines = [*self._lines, f"if not ({' and '.join(self._checks)}):", f" {_OTHERWISE}"]
        # Or it would seem to be somebody's.
        let_go = [f"{' = '.join(self._variables)} = None"] if self._variables else []
        written: list[str] = []
        for line in lines:
            text = line.lstrip()
            indent = line[: len(line) - len(text)]
            written += [indent + other for other in (*let_go, *otherwise)] if text == _OTHERWISE else [line]
        return [*written, *(f"c{number}.append({value})" for number, value in enumerate(self._values))]


def _is_plain(form: Form) -> bool:
    """Returns whether its structure is plain tuples and dicts alone; None is structure, too."""
    if isinstance(form, DictForm) or (isinstance(form, TupleForm) and form.kind is tuple):
        return all(map(_is_plain, form.parts))
    return isinstance(form, ArrayForm) or (isinstance(form, type) and form is not type(None))
