"""What the results of a function have in common, as far as a generated loop can check it with a few comparisons.

A form is a structure of tuples and dicts, and the type of each leaf: of leaves that are as elements carry them already, or that
become so by one call, as lists of numbers do. What is anything else has none, and each such result is looked at by itself.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from headrace.elements.leaf_arrays import NORMAL_LEAVES, NUMPYS_TEXTS
from headrace.elements.ownership import FIXED, is_carried_class
from headrace.elements.record_classes import (
    is_apart_from_optree,
    is_plain_named_tuple,
    is_plain_record_class,
    is_record_class,
    names_of_fields,
)
from headrace.elements.structure import NAMESPACE, Element
from headrace.elements.tensor_classes import is_tensor_class
from headrace.elements.tensor_spec import TensorSpec
from headrace.frozen import frozen

__all__ = [
    "DEEPEST",
    "MOST_LEAVES",
    "NUMPYS_SCALARS",
    "PLAIN",
    "SCALAR",
    "TEXTS",
    "WHOLE_ROW",
    "ArrayForm",
    "DictForm",
    "Form",
    "ListForm",
    "RecordForm",
    "TensorForm",
    "TextForm",
    "TupleForm",
    "arrays_in",
    "can_be_changed",
    "form_of",
    "has_lists",
    "is_passed_on",
    "is_plain_list",
    "is_shown_quickly",
    "joined_form",
    "kinds_of",
]

# What nobody can change, and what is as elements carry it: there is nothing to do for it.
PLAIN: Final = (FIXED & NORMAL_LEAVES) | {type(None)}

# Deeper than what has so many leaves mostly is.
DEEPEST: Final = 8
# Of more leaves the checks would be a long text, and one element as much work as a call of a function.
MOST_LEAVES: Final = 24


class Scalar:
    """A mark: for leaves of any types that are plain, or for a row that is a leaf."""


SCALAR: Final = Scalar()
WHOLE_ROW: Final = Scalar()


@frozen
class ArrayForm:
    """Arrays of one dtype, with elements that nobody can change.

    Attributes:
        dtype: theirs.
        source: which part of the row it mostly is: a key, an index, or WHOLE_ROW; None for one that is new.
        is_view: whether it mostly is a view: of what is new, or of that part.
        is_held: whether somebody else mostly has it or its memory, so that each is copied.
    """

    dtype: np.dtype[Any]
    source: str | int | Scalar | None = None
    is_view: bool = False
    is_held: bool = False


@frozen
class ListForm:
    """Lists of what is plain, or of such lists, which become arrays."""


@frozen
class TensorForm:
    """Tensors of PyTorch's of one class and dtype, each of which is copied: who else has their memory nobody counts."""

    kind: type
    dtype: Any


@frozen
class TextForm:
    """NumPy's own texts, which become Python's: scalars of a type, or arrays."""

    kind: type


@frozen
class TupleForm:
    """Tuples, plain or named, of one length.

    Attributes:
        kind: their class.
        parts: the forms of what they hold.
        source: which part of the row they mostly are, where they hold what can be changed; what they hold is then the row's.
    """

    kind: type
    parts: tuple[Form, ...]
    source: str | int | Scalar | None = None


@frozen
class DictForm:
    """Dicts with the same keys, all of them strings.

    Attributes:
        keys: them.
        parts: the forms of the values.
        is_held: whether somebody else mostly has them, so that each is copied.
        source: as for tuples.
    """

    keys: tuple[str, ...]
    parts: tuple[Form, ...]
    is_held: bool = False
    source: str | int | Scalar | None = None


@frozen
class RecordForm:
    """Objects of one dataclass or attrs class, which keep their fields in a dict and nothing besides."""

    kind: type
    keys: tuple[str, ...]
    parts: tuple[Form, ...]


Form = type | Scalar | ArrayForm | ListForm | TensorForm | TextForm | TupleForm | DictForm | RecordForm

TEXTS: Final = TextForm(np.ndarray)
# Scalars that are NumPy's texts, and what they become.
NUMPYS_SCALARS: Final[dict[type, type]] = {np.str_: str, np.bytes_: bytes}

# An array of so many objects is looked at, to be known for what lists of texts become.
_MOST_OBJECTS: Final = 1024


def form_of(element: Element) -> Form | None:
    """Returns the form of an element, normalised or not; None where nothing is to be known of the likes of it."""
    form = _form_of(element)
    return form if form is not None and _leaves_of(form) <= MOST_LEAVES else None


def _form_of(element: Element) -> Form | None:
    kind = type(element)
    if kind in PLAIN:
        return kind
    if kind is np.ndarray:
        return _form_of_array(element)
    if kind in NUMPYS_SCALARS:
        return TextForm(kind)
    if kind is list:
        return ListForm() if is_plain_list(element) else None
    if kind is dict:
        if len(element) > MOST_LEAVES or not all(type(key) is str for key in element):
            return None
        parts = tuple(map(_form_of, element.values()))
        return None if None in parts else DictForm(tuple(element), parts)  # type: ignore[arg-type]  # None is not among them
    if is_record_class(kind) and _is_plain(kind):  # type: ignore[arg-type]  # every class has a hash
        return _form_of_record(element, tuple(names_of_fields(kind)))
    if kind is tuple or is_plain_named_tuple(kind):
        parts = tuple(map(_form_of, element)) if len(element) <= MOST_LEAVES else (None,)
        return None if None in parts else TupleForm(kind, parts)  # type: ignore[arg-type]  # as above
    if is_tensor_class(kind):  # type: ignore[arg-type]  # as above
        return TensorForm(kind, element.dtype)
    return kind if is_carried_class(kind) else None


def _form_of_array(array: np.ndarray) -> Form | None:
    dtype = array.dtype
    if dtype.hasobject:
        is_short = dtype.kind == "O" and array.ndim and array.size <= _MOST_OBJECTS
        return ListForm() if is_short and PLAIN.issuperset(map(type, array.flat)) else None
    if dtype.kind in NUMPYS_TEXTS:
        return TEXTS if array.ndim else None
    return ArrayForm(dtype)


def is_plain_list(value: list[Any], depth: int = 0) -> bool:
    """Returns whether a list holds nothing that anybody could change, but for lists that do not either."""
    if PLAIN.issuperset(map(type, value)):
        return True
    return depth < DEEPEST and all(type(part) is list and is_plain_list(part, depth + 1) for part in value)


def _form_of_record(record: Any, names: tuple[str, ...]) -> Form | None:
    held = record.__dict__
    if len(names) != len(held) or not all(name in held for name in names):
        return None
    parts = tuple(_form_of(held[name]) for name in names)
    return None if None in parts else RecordForm(type(record), names, parts)  # type: ignore[arg-type]  # as above


@functools.lru_cache(maxsize=1024)
def _is_plain(kind: Any) -> bool:
    """Returns whether fields of records of this class are found in their dicts without code of the user's."""
    return not issubclass(kind, TensorSpec) and is_apart_from_optree(kind, NAMESPACE) and is_plain_record_class(kind)


def _leaves_of(form: Form) -> int:
    return sum(map(_leaves_of, form.parts)) if isinstance(form, (TupleForm, DictForm, RecordForm)) else 1


def kinds_of(form: Form) -> frozenset[type] | None:
    """Returns the types of all elements of a form; None where there may be any."""
    match form:
        case type() as kind:
            return frozenset({kind})
        case ArrayForm() | ListForm():
            return frozenset({np.ndarray})
        case TensorForm(kind=kind):
            return frozenset({kind})
        case TextForm(kind=kind):
            return frozenset({NUMPYS_SCALARS.get(kind, kind)})
        case DictForm():
            return frozenset({dict})
        case TupleForm(kind=kind) | RecordForm(kind=kind):
            return frozenset({kind})
    return None


def joined_form(one: Form, other: Form | None) -> Form | None:
    """Returns the form that elements of both have; None where there is none."""
    if other is None or one == other:
        return other
    if isinstance(one, (type, Scalar)) and isinstance(other, (type, Scalar)):
        return SCALAR if PLAIN.issuperset({one, other} - {SCALAR}) else None
    if isinstance(one, ArrayForm) and isinstance(other, ArrayForm):
        return one if one.dtype == other.dtype else None
    if isinstance(one, ListForm) and isinstance(other, ArrayForm):
        return one
    if isinstance(one, TextForm):  # an array of them is known as a list is
        return one if other in (NUMPYS_SCALARS.get(one.kind), ListForm()) else None
    if isinstance(one, TupleForm) and isinstance(other, TupleForm) and one.kind is other.kind:
        parts = _joined_parts(one.parts, other.parts)
        return None if parts is None else dataclasses.replace(one, parts=parts)
    if isinstance(one, RecordForm) and isinstance(other, RecordForm) and one.kind is other.kind:
        parts = _joined_parts(one.parts, other.parts)
        return None if parts is None else RecordForm(one.kind, one.keys, parts)
    if isinstance(one, DictForm) and isinstance(other, DictForm) and set(one.keys) == set(other.keys):
        by_key = dict(zip(other.keys, other.parts, strict=True))
        parts = _joined_parts(one.parts, tuple(by_key[key] for key in one.keys))
        return None if parts is None else dataclasses.replace(one, parts=parts)
    return None


def _joined_parts(ones: tuple[Form, ...], others: tuple[Form, ...]) -> tuple[Form, ...] | None:
    if len(ones) != len(others):
        return None
    parts = tuple(itertools.starmap(joined_form, zip(ones, others, strict=True)))
    return None if None in parts else parts  # type: ignore[return-value]  # None is not among them


def can_be_changed(form: Form) -> bool:
    """Returns whether an element of this form can be changed, or what it holds, or is made of something else."""
    if isinstance(form, TupleForm):
        return any(map(can_be_changed, form.parts))
    return isinstance(form, (ArrayForm, ListForm, TensorForm, TextForm, DictForm, RecordForm))


def is_shown_quickly(form: Form) -> bool:
    """Returns whether all that can be changed in elements of this form are arrays, dicts, tuples and records."""
    if isinstance(form, (DictForm, RecordForm, TupleForm)):
        return all(map(is_shown_quickly, form.parts))
    return isinstance(form, (ArrayForm, ListForm, TextForm)) or not can_be_changed(form)


def arrays_in(form: Form) -> Iterator[ArrayForm]:
    """Yields the forms of the arrays in elements of this form."""
    if isinstance(form, ArrayForm):
        yield form
    elif isinstance(form, (TupleForm, DictForm, RecordForm)):
        for part in form.parts:
            yield from arrays_in(part)


def is_passed_on(form: Form) -> bool:
    """Returns whether a tuple or dict of the row's is in elements of this form."""
    if isinstance(form, (TupleForm, DictForm)) and form.source is not None:
        return True
    return isinstance(form, (TupleForm, DictForm, RecordForm)) and any(map(is_passed_on, form.parts))


def has_lists(form: Form) -> bool:
    """Returns whether elements of this form have lists that become arrays, or NumPy's texts."""
    if isinstance(form, (TupleForm, DictForm, RecordForm)):
        return any(map(has_lists, form.parts))
    return isinstance(form, (ListForm, TextForm))
