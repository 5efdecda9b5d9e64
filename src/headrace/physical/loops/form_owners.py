"""Whose what a result holds is: the row's, somebody else's, or nobody's, as the form of results says it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.leaf_arrays import NUMPYS_TEXTS
from headrace.elements.structure import Element
from headrace.physical.loops.forms import (
    DEEPEST,
    MOST_LEAVES,
    NUMPYS_SCALARS,
    TEXTS,
    WHOLE_ROW,
    ArrayForm,
    DictForm,
    Form,
    ListForm,
    RecordForm,
    Scalar,
    TextForm,
    TupleForm,
    can_be_changed,
    is_plain_list,
)

__all__ = ["form_with_held_dicts", "form_with_owners", "ids_of"]


def form_with_owners(form: Form, result: Element, row: Element, ids: Any) -> Form:
    """Returns the form that says of each array, tuple and dict of a result whose it is.

    Args:
        form: that of the result.
        result: it, with copies of what is somebody else's.
        row: of which it was made.
        ids: ``ids_of`` it as it was returned.
    """
    if isinstance(ids, TextForm):
        return ids
    if isinstance(form, ArrayForm):
        return _with_owner(form, result, row, ids)
    if not isinstance(form, (TupleForm, DictForm, RecordForm)):
        return form
    if not isinstance(form, RecordForm) and type(ids) is tuple and can_be_changed(form):
        source = _part_of(row, lambda part: id(part) == ids[0])
        if source is not None:
            return dataclasses.replace(form, source=source)
    before = _ids_of_parts(form, ids) or [None] * len(form.parts)
    parts = map(form_with_owners, form.parts, _values_of(result, form), itertools.repeat(row), before)
    return dataclasses.replace(form, parts=tuple(parts))


def _with_owner(form: ArrayForm, array: np.ndarray, row: Element, id_before: Any) -> Form:
    if id_before is _LISTED:
        return ListForm()
    source = _part_of(row, lambda part: part is array)
    if source is not None:
        return ArrayForm(form.dtype, source)
    if form.source is None and id_before is not None and id_before != id(array):
        return ArrayForm(form.dtype, is_held=True) if array.flags.writeable else form
    if id_before is None or array.base is None:
        return form

    def is_its_base(part: Any) -> bool:
        return type(part) is np.ndarray and (part is array.base or part.base is array.base)

    return ArrayForm(form.dtype, _part_of(row, is_its_base), is_view=True)


def _part_of(row: Element, is_it: Callable[[Any], bool]) -> str | int | Scalar | None:
    """Returns which part of a row something is, or the row itself; None where it is none."""
    if is_it(row):
        return WHOLE_ROW
    if type(row) is dict:
        return next((key for key, part in row.items() if is_it(part) and type(key) is str), None)
    return next((index for index, part in enumerate(row) if is_it(part)), None) if type(row) is tuple else None


def _values_of(element: Any, form: TupleForm | DictForm | RecordForm) -> Sequence[Any]:
    """Returns the parts of an element of that form."""
    if isinstance(form, TupleForm):
        return element  # type: ignore[no-any-return]  # a tuple
    held = element if isinstance(form, DictForm) else element.__dict__
    return [held[key] for key in form.keys]


# Stands for a list of what is plain.
_LISTED: Final = Scalar()


def ids_of(value: Any, depth: int = 0) -> Any:
    """Returns which arrays, tuples and dicts a result has where, by their identities: to be compared when others' were copied.

    And where it has lists that become arrays, and NumPy's texts. A list that is the result is a tuple.
    """
    kind = type(value)
    if kind is np.ndarray:
        return TEXTS if value.dtype.kind in NUMPYS_TEXTS and value.ndim else id(value)
    if kind in NUMPYS_SCALARS:
        return TextForm(kind)
    if kind is list and depth:
        return _LISTED if is_plain_list(value) else None
    if (kind is not tuple and kind is not dict and kind is not list) or depth > DEEPEST or len(value) > MOST_LEAVES:
        return None
    if kind is dict:
        return id(value), {key: ids_of(part, depth + 1) for key, part in value.items() if type(key) is str}
    return id(value), [ids_of(part, depth + 1) for part in value]


def _ids_of_parts(form: TupleForm | DictForm | RecordForm, ids: Any) -> list[Any] | None:
    """Returns those of the parts of a result of that form; None where they are not known."""
    if isinstance(form, TupleForm) and form.kind is tuple and type(ids) is tuple and type(ids[1]) is list:
        return ids[1]
    if isinstance(form, DictForm) and type(ids) is tuple and type(ids[1]) is dict:
        return list(map(ids[1].get, form.keys))
    return None


def form_with_held_dicts(form: Form) -> Form:
    """Returns the form in which dicts are somebody else's, too."""
    if not isinstance(form, (TupleForm, DictForm)) or (isinstance(form, TupleForm) and form.kind is not tuple):
        return form
    form = dataclasses.replace(form, parts=tuple(map(form_with_held_dicts, form.parts)))
    return dataclasses.replace(form, is_held=True) if isinstance(form, DictForm) else form
