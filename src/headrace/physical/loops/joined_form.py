"""The form of elements that are taken to be joined: short arrays of one axis, or flat tuples or dicts of such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.ragged_rows import RaggedColumn, RaggedRows
from headrace.elements.structure import Element, TreeDef, flatten, nbytes_of
from headrace.frozen import frozen
from headrace.physical.loops.forms import ArrayForm, DictForm, Form, TupleForm

__all__ = ["JoinedForm", "is_long", "is_of_numbers", "joined_form_of"]

# Longer arrays are better off by themselves: to copy them once more takes longer than to make an array for each.
_SHORT_BYTES: Final = 4 << 10
_NUMBERS: Final = "biufc"


@frozen
class JoinedForm:
    """Elements that are arrays of one axis, or flat tuples or dicts of such.

    Attributes:
        treedef: their structure.
        kind: the class of an element.
        keys: of a dict or a tuple, by which its leaves are found, in the order of the structure; none of an array.
        order: those of a dict in its own order.
        dtypes: that of each leaf.
    """

    treedef: TreeDef
    kind: type
    keys: tuple[Any, ...]
    order: tuple[Any, ...]
    dtypes: tuple[np.dtype[Any], ...]

    def _leaves(self, element: str) -> list[str]:
        return [f"{element}[{key!r}]" for key in self.keys] if self.keys else [element]

    def conditions(self, element: str, constant: Callable[[Any], str]) -> list[str]:
        """Returns what is asked of an element, given what names a value in the text."""
        checks = []
        if self.keys:
            checks = [f"type({element}) is {self.kind.__name__}"]
            is_dict = self.kind is dict
            checks.append(f"[*{element}] == {list(self.order)!r}" if is_dict else f"len({element}) == {len(self.keys)}")
        for leaf, dtype in zip(self._leaves(element), self.dtypes, strict=True):
            checks += [f"type({leaf}) is ndarray", f"{leaf}.dtype is {constant(dtype)}", f"{leaf}.ndim == 1"]
        return checks

    def bytes_of(self, element: str) -> str:
        """Returns what gives the bytes of an element: of an array, or of each in a tuple."""
        leaves = [f"{leaf}.tobytes()" for leaf in self._leaves(element)]
        return f"({''.join(f'{leaf}, ' for leaf in leaves)})" if self.keys else leaves[0]

    def rows(self, taken: Sequence[Any]) -> RaggedRows:
        """Returns the elements of which these are the bytes, at least one."""
        columns = map(list, zip(*taken, strict=True) if self.keys else [taken])
        return RaggedRows(self.treedef, list(map(RaggedColumn, columns, self.dtypes)))

    def elements(self, taken: Sequence[Any]) -> list[Element]:
        """Returns the same one by one."""
        return self.rows(taken).rows() if taken else []


def joined_form_of(form: Form | None, rows: Sequence[Element]) -> JoinedForm | None:
    """Returns how elements of that form, such as these, are taken to be joined; None where they had better not be."""
    is_flat = isinstance(form, DictForm) or (isinstance(form, TupleForm) and form.kind is tuple)
    parts = form.parts if is_flat else (form,)  # type: ignore[union-attr]  # it has some, as was seen
    if not rows or not parts or not all(isinstance(part, ArrayForm) and is_of_numbers(part.dtype) for part in parts):
        return None
    leaves, treedef = flatten(rows[-1])
    if any(leaf.ndim != 1 for leaf in leaves) or is_long(sum(map(nbytes_of, rows)), len(rows) * len(leaves)):
        return None
    return JoinedForm(
        treedef,
        type(rows[-1]),
        tuple(treedef.entries()) if is_flat else (),
        form.keys if isinstance(form, DictForm) else (),
        tuple(leaf.dtype for leaf in leaves),
    )


def is_long(nbytes: int, arrays: int) -> bool:
    """Returns whether so many arrays with so many bytes together are better off by themselves."""
    return nbytes > arrays * _SHORT_BYTES


def is_of_numbers(dtype: np.dtype[Any]) -> bool:
    """Returns whether arrays of this dtype may be joined by their bytes."""
    return dtype.isnative and dtype.kind in _NUMBERS
