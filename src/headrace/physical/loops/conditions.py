"""The conditions under which a result is of the form that is known, and its memory nobody else's, as text for a loop.

An array that is known to be somebody else's is copied in the loop, and a list made an array, by lines that come after the conditions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.elements.function_results import LARGE_BYTES
from headrace.frozen import frozen
from headrace.physical.loops.forms import (
    SCALAR,
    TEXTS,
    WHOLE_ROW,
    ArrayForm,
    DictForm,
    Form,
    ListForm,
    RecordForm,
    TensorForm,
    TextForm,
    TupleForm,
)

__all__ = ["Conditions", "conditions_of_row"]


@frozen
class _Usual:
    """How many references a loop finds to what nobody else has."""

    alone: int  # to a new result in ``x``
    inside: int  # to a part of one
    row: int
    part_of_row: int  # to a part of the row that is also one of the result
    row_alone: int  # to a row that is the result
    row_inside: int  # to a row that is a part of one
    base: int  # to the memory that a view in ``x`` is of, in another variable


def _usual_references() -> _Usual:
    """Counts them in code that is compiled as the loops are."""
    lines = ["for row in iter(rows):", " x = made()", " yield refs(x)", " yield refs(x[0])", " yield refs(row)"]
    lines += [" x = (row[0],)", " yield refs(x[0])", " x = row", " yield refs(x)", " x = (row,)", " yield refs(x[0])"]
    lines += [" x = made()[0][:]", " h = x.base", " yield refs(h)"]
    scope: dict[str, Any] = {"refs": sys.getrefcount, "made": lambda: (np.empty(0),)}
    exec("\n ".join(["def counted(rows):", *lines]), scope)  # noqa: S102 - lines of ours
    return _Usual(*scope["counted"]([(np.empty(0),)]))


_USUAL: Final = _usual_references()


class Conditions:
    """Writes what is asked of results.

    Args:
        constant: gives the name of a value in the text.
        counted: whether references are counted; else somebody has seen to it that the result is nobody else's.

    Attributes:
        variables: what the text has names for, to be let go of when it has gone past.
        has_lists: whether lists become arrays in it, which may fail.
    """

    def __init__(self, constant: Callable[[Any], str], *, counted: bool) -> None:
        self.variables: list[str] = []
        self.has_lists = False
        self._constant = constant
        self._counted = counted
        self._dicts: dict[str, str] = {}  # the variables for the dicts of objects

    def of(self, expression: str, form: Form, *, is_given: bool = False) -> list[str]:
        """Returns the conditions under which what the expression gives is of the form, and, where counted, nobody else's.

        Args:
            expression: it.
            form: the form.
            is_given: whether it lies in what the function was given and handed on.
        """
        if form is SCALAR:
            return [f"type({expression}) in plain"]
        if isinstance(form, type):
            return [f"type({expression}) is {self._constant(form)}"]
        if isinstance(form, ArrayForm):
            return self._of_array(expression, form, is_given=is_given)
        if isinstance(form, (ListForm, TensorForm, TextForm)):
            return self._of_what_becomes(expression, form)
        if isinstance(form, RecordForm):
            return self._of_record(expression, form)
        assert isinstance(form, (TupleForm, DictForm))  # there are no others
        is_dict = isinstance(form, DictForm)
        keys = list(map(repr, form.keys if isinstance(form, DictForm) else range(len(form.parts))))
        kind = "dict" if is_dict else "tuple" if form.kind is tuple else self._constant(form.kind)  # type: ignore[union-attr]  # a tuple's
        checks = [f"type({expression}) is {kind}", f"len({expression}) == {len(keys)}"]
        if self._counted and form.source is not None:
            checks.append(_passed_on(expression, form))
        elif self._counted and _is_kept(form):
            checks.append(_alone(expression))
        if is_dict:
            checks += [f"{key} in {expression}" for key in keys]
        for key, part in zip(keys, form.parts, strict=True):
            checks += self.of(f"{expression}[{key}]", part, is_given=is_given or form.source is not None)
        return checks

    def _of_what_becomes(self, expression: str, form: ListForm | TensorForm | TextForm) -> list[str]:
        """Returns the conditions of what is made of something else, or copied, whoever has that."""
        if isinstance(form, TensorForm):
            kind, dtype = self._constant(form.kind), self._constant(form.dtype)
            return [f"type({expression}) is {kind}", f"{expression}.dtype is {dtype}"]
        if isinstance(form, ListForm):
            self.has_lists = True
            is_flat = f"all_plain(map(type, {expression}))"
            return [f"type({expression}) is list", f"({is_flat} or plain_list({expression}))"]
        if form != TEXTS:
            return [f"type({expression}) is {self._constant(form.kind)}"]
        return [f"type({expression}) is ndarray", f"{expression}.dtype.kind in 'UST'", f"{expression}.ndim"]

    def _of_array(self, expression: str, form: ArrayForm, *, is_given: bool) -> list[str]:
        checks = [f"type({expression}) is ndarray", f"{expression}.dtype is {self._constant(form.dtype)}"]
        if not self._counted:
            return checks
        if form.is_held:
            return [*checks, f"{expression}.flags.writeable"]
        fresh = f"{_alone(expression)} and {expression}.flags.owndata"
        if is_given:  # who keeps what is read-only cannot write to it either
            return [*checks, f"(not {expression}.flags.writeable or {fresh})"]
        if form.is_view:
            return [*checks, f"({self._view(expression, form)} or {fresh})"]
        return [*checks, fresh if form.source is None else f"({_passed_on(expression, form)} or {fresh})"]

    def _view(self, expression: str, form: ArrayForm) -> str:
        """Returns the condition under which an array is a view of what nobody else has, or one of the row.

        Of the row's, either nobody can write to it; or nobody else has it nor the row, and the row is a view as well: what else
        there is of its memory are other rows.
        """
        base = self._variable()
        if form.source is None:
            has_base = f"type({base} := {expression}.base) is ndarray and refs({base}) == {_USUAL.base}"
            return f"{has_base} and {base}.flags.owndata and {_alone(expression)}"
        part = "row" if form.source is WHOLE_ROW else f"row[{form.source!r}]"
        is_of_part = f"type({part}) is ndarray and ({base} is {part}.base or {base} is {part})"
        are_locked = f"not {expression}.flags.writeable and not {part}.flags.writeable"
        references = _USUAL.row if form.source is WHOLE_ROW else _USUAL.part_of_row - 1
        are_alone = f"{base} is {part}.base and refs({part}) == {references} and {_alone(expression)}"
        return f"({base} := {expression}.base) is not None and {is_of_part} and ({are_locked} or {are_alone})"

    def _of_record(self, expression: str, form: RecordForm) -> list[str]:
        held = self._dicts[expression] = self._variable()
        checks = [
            f"type({expression}) is {self._constant(form.kind)}",
            *([_alone(expression)] if self._counted else []),
        ]
        checks.append(f"len({held} := {expression}.__dict__) == {len(form.keys)}")
        checks += [f"{key!r} in {held}" for key in form.keys]
        for key, part in zip(form.keys, form.parts, strict=True):
            checks += self.of(f"{held}[{key!r}]", part)
        return checks

    def _variable(self) -> str:
        self.variables.append(f"h{len(self.variables)}")
        return self.variables[-1]

    def copies(self, expression: str, form: Form) -> list[str]:
        """Returns the lines after which a variable has copies of what is others', and arrays for lists, once the conditions hold."""
        lines: list[str] = []
        own = self._owned(expression, form, lines)
        return lines if own == expression else [*lines, f"{expression} = {own}"]

    def _owned(self, expression: str, form: Form, lines: list[str]) -> str:
        """Returns what gives one's own of a part, after those lines."""
        if isinstance(form, (ArrayForm, ListForm, TensorForm, TextForm)):
            return self._owned_leaf(expression, form)
        if isinstance(form, TupleForm):
            parts = [self._owned(f"{expression}[{index}]", part, lines) for index, part in enumerate(form.parts)]
            is_same = all(part == f"{expression}[{index}]" for index, part in enumerate(parts))
            made = f"({''.join(f'{part}, ' for part in parts)})"
            if is_same or form.kind is tuple:
                return expression if is_same else made
            return f"new_tuple({self._constant(form.kind)}, {made})"
        if not isinstance(form, (DictForm, RecordForm)):
            return expression
        otherwise = f"{expression}.__dict__" if isinstance(form, RecordForm) else expression
        target = self._dicts.get(expression, otherwise)
        if isinstance(form, DictForm) and form.is_held:
            target = self._variable()
            lines.append(f"{target} = {expression}.copy()")
        for key, part in zip(form.keys, form.parts, strict=True):
            place = f"{target}[{key!r}]"
            own = self._owned(place, part, lines)
            if own != place:
                lines.append(f"{place} = {own}")
        return expression if isinstance(form, RecordForm) else target

    def _owned_leaf(self, expression: str, form: ArrayForm | ListForm | TensorForm | TextForm) -> str:
        if isinstance(form, ArrayForm):
            return _copy_of(expression) if form.is_held and self._counted else expression
        if isinstance(form, ListForm):
            return f"listed({expression})"
        if isinstance(form, TensorForm):
            return f"{expression}.clone()" if self._counted else expression
        return f"of_texts({expression})" if form == TEXTS else f"{expression}.item()"


def _copy_of(expression: str) -> str:
    return f"({expression}.copy('K') if {expression}.nbytes < {LARGE_BYTES} else copied_result({expression}))"


def _alone(expression: str) -> str:
    return f"refs({expression}) == {_USUAL.alone if expression == 'x' else _USUAL.inside}"


def _is_kept(form: Form) -> bool:
    """Returns whether an element of this form, or what is in it, is handed on as it came though it can be changed."""
    if isinstance(form, TupleForm) or (isinstance(form, DictForm) and form.is_held):
        return any(map(_is_kept, form.parts))
    return not form.is_held if isinstance(form, ArrayForm) else isinstance(form, (DictForm, RecordForm))


def _sources_of(form: Form) -> set[Any]:
    """Returns which parts of the row elements of this form mostly have."""
    if isinstance(form, (TupleForm, DictForm)) and form.source is not None:
        return {form.source}
    if isinstance(form, (TupleForm, DictForm, RecordForm)):
        return {source for part in form.parts for source in _sources_of(part)}
    return {form.source} if isinstance(form, ArrayForm) and form.source is not None else set()


def conditions_of_row(form: Form) -> list[str]:
    """Returns the conditions under which the row has such parts, and nobody else has it."""
    sources = _sources_of(form) - {WHOLE_ROW}
    if not sources:
        return []
    if all(type(source) is str for source in sources):
        has_parts = ["type(row) is dict", *(f"{source!r} in row" for source in sorted(sources))]
    else:
        has_parts = ["type(row) is tuple", f"len(row) > {max(sources)}"]
    return [*has_parts, f"refs(row) == {_USUAL.row}"]


def _passed_on(expression: str, form: ArrayForm | TupleForm | DictForm) -> str:
    """Returns the condition under which something is the part of the row that it mostly is, and nobody else has it."""
    if form.source is WHOLE_ROW:
        references = _USUAL.row_alone if expression == "x" else _USUAL.row_inside
        return f"{expression} is row and refs({expression}) == {references}"
    references = _USUAL.part_of_row - (expression == "x") * (_USUAL.inside - _USUAL.alone)
    return f"{expression} is row[{form.source!r}] and refs({expression}) == {references}"
