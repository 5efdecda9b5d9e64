"""The text of a loop over elements that a chain of functions is called on, compiled once for each shape of chain.

    for row in islice(rows, chunk):
        x = f0(row)                                  # a map
        if not (type(x) is k0): ...                  # what it returned is not of the form that is known
        answer = f1(x)                               # a filter
        if answer is not True and (answer is False or not truth(answer)): ...
        x = f2(x)                                    # one that gives pairs of what nobody can change
        if not (type(x) is tuple): ...
        try: y0, y1, = x
        except ValueError: ...                       # it is no pair
        if not (type(y0) is k0 and type(y1) is k1): ...
        made.append(x)
        fates.append(0)                              # where there are filters: one number for each element that is done

Which link was at work where it stopped, or stands, is read from the line. So nothing is written down while elements come, and
what is of its form is not looked at again. Who changes the text sees to what ``conditions`` counts: a row is held by its list
and by ``row``, a result by ``x`` alone.
``made.append(x)`` is written out, as CPython has an instruction for it, and a call for ``append(x)``.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, Literal, NamedTuple

from headrace.elements.function_results import COUNTS
from headrace.frozen import frozen
from headrace.observe.frames import reaches
from headrace.physical.loops.compiled import compiled
from headrace.physical.loops.conditions import Conditions, conditions_of_row
from headrace.physical.loops.forms import (
    TEXTS,
    ArrayForm,
    DictForm,
    Form,
    ListForm,
    RecordForm,
    TupleForm,
    can_be_changed,
    is_shown_quickly,
    kinds_of,
)
from headrace.physical.loops.taken_apart import Apart

__all__ = ["GENERIC", "KEPT", "Head", "Kind", "Known", "Loop", "loop_of"]


# Parts that are named one by one in a call, which is quicker than unpacking; more would be a long text.
_MOST_ARGUMENTS: Final = 8


# What a link does.
Kind = Literal["map", "filter", "enumerate"]


class Head(NamedTuple):
    """What is known of the rows.

    Attributes:
        has_tuples: whether they are tuples, which are unpacked into arguments; None where some are.
        width: how many parts all of these tuples have, where that is known.
        is_fixed: whether nobody can change them, so that a filter gets the row itself.
    """

    has_tuples: bool | None
    width: int | None = None
    is_fixed: bool = False


@frozen
class Known:
    """What is known of the results of a map.

    Attributes:
        form: their form, which the loop checks; None, where each is looked at by itself.
        is_fresh: whether they are mostly made anew, so that the loop counts references; else each is owned with a call.
        is_listed: whether they come as lists, which are tuples as elements.
    """

    form: Form | None = None
    is_fresh: bool = COUNTS
    is_listed: bool = False


GENERIC: Final = Known()

# The fate of an element that all filters let through; of one that is dropped, it is the number of the filter, counted from one.
KEPT: Final = 0


@frozen
class Loop:
    """A compiled loop.

    Attributes:
        run: goes over rows. Called with an iterator over rows, what gives for each what a first filter sees of it, the index before the
            first, how many rows to take between two looks at the clock, how many times, and when to end; the list ``made`` for results,
            ``fates`` for that of each element, where there are filters; the functions of the links, the first numbers of enumerates; and
            the constants. Returns where a result was not of its form the link, else -1; it, the row, and the type and the ``ids_of``
            what was returned; and the error.
        constants: what the text has names for.
        links: which link each line belongs to.
        kinds: the types of its results, where all are of the form that it checks.
        apart: how it takes them apart, into the columns that it gets for ``made``; one that it cannot take ends it behind the last link,
            with nothing but it.
    """

    run: Callable[..., tuple[int, Any, Exception | None]]
    constants: tuple[Any, ...]
    links: Sequence[int]
    kinds: frozenset[type] | None
    apart: Apart | None

    def failed_link(self, error: BaseException) -> int:
        """Returns the link on which this loop failed with this error."""
        assert error.__traceback__ is not None  # it was raised
        return self.links[error.__traceback__.tb_lineno]


@functools.lru_cache(maxsize=512)
def loop_of(head: Head, kinds: tuple[Kind, ...], known: tuple[Known, ...], apart: Apart | None = None) -> Loop:
    """Makes the loop for rows like these and links of these kinds, given what is known of what each returns."""
    writer = _Writer(head, kinds, known, apart)
    text, links = writer.written()
    function = _loop_function(text, tuple(links))
    return Loop(function, tuple(writer.constants), links, writer.kinds, apart)


# ------------------------------------------------------------------------------------------------ compiling


@functools.lru_cache(maxsize=512)
def _loop_function(text: str, links: tuple[int, ...]) -> Callable[..., Any]:
    function = compiled(text)
    reaches(function, functools.partial(_place, links))
    return function


def _place(links: Sequence[int], frame: FrameType) -> int:
    """Returns the link at which a loop stands."""
    return links[frame.f_lineno]


# ------------------------------------------------------------------------------------------------ writing


class _Writer:
    """Writes one loop, a link after the other."""

    def __init__(self, head: Head, kinds: Sequence[Kind], known: Sequence[Known], apart: Apart | None) -> None:
        self.constants: list[Any] = []
        self._apart = apart
        self._counts = "enumerate" in kinds
        self._kinds = kinds
        self._known = known
        self._lines: list[str] = []
        self._links: list[int] = [0]  # lines are counted from one
        self._indent = 4
        self._filters = [link for link, kind in enumerate(kinds) if kind == "filter"]
        self._only_filters = len(self._filters) == len(kinds)
        # The element so far: a variable, what is known of it, and the number that is to come before it.
        self._variable = "row"
        self._form: Form | None = None
        self._head: Head = head
        self._number: str | None = None
        self._parts: list[str] = []  # variables for its parts, where it was unpacked

    def written(self) -> tuple[str, list[int]]:
        """Returns the text, and the link to which each line belongs."""
        for link, kind in enumerate(self._kinds):
            {"map": self._map, "filter": self._filter, "enumerate": self._enumerate}[kind](link)
        self._end()
        names = [f"f{link}" for link in range(len(self._kinds))]
        opening = [
            "def loop(rows, next_seen, index, chunk, chunks, clock, until, made, fates, functions, constants):",
            f" {''.join(f'{name}, ' for name in names)}= functions",
            *(
                [f" {''.join(f'k{number}, ' for number in range(len(self.constants)))}= constants"]
                if self.constants
                else []
            ),
            *(
                [f" {''.join(f'c{number}, ' for number in range(len(self._apart.leaves)))}= made"]
                if self._apart
                else []
            ),
            " try:",
            "  for _ in repeat(None, chunks):",
            "   for row in islice(rows, chunk):",
            *(["    index += 1"] if self._counts else []),
        ]
        closing = [
            "   if clock() > until:",
            "    break",
            " except Exception as error:",
            "  return -1, None, error",
            " return -1, None, None",
            "",
        ]
        text = "\n".join([*opening, *self._lines, *closing])
        return text, [0] * (len(opening) + 1) + self._links[1:] + [0] * len(closing)

    @property
    def kinds(self) -> frozenset[type] | None:
        """The types of the results, where they follow from what is known."""
        if self._form is not None and (kinds := kinds_of(self._form)) is not None:
            return kinds
        return frozenset({tuple}) if self._kinds[-1] == "enumerate" else None

    def _add(self, link: int, text: str, *, deeper: int = 0) -> None:
        self._lines.append(" " * (self._indent + deeper) + text)
        self._links.append(link)

    def _constant(self, value: Any) -> str:
        for number, constant in enumerate(self.constants):
            if constant is value:
                return f"k{number}"
        self.constants.append(value)
        return f"k{len(self.constants) - 1}"

    def _call(self, link: int, variable: str) -> str:
        """Returns the call of a link's function on the element so far."""
        if self._number is not None:
            return f"f{link}({self._number}, {variable})"
        if isinstance(self._form, TupleForm) and self._form.kind is tuple:
            head = Head(True, len(self._form.parts))
        else:
            head = self._head if self._form is None else Head(False)
        if head.has_tuples is None:
            return f"f{link}(*{variable}) if type({variable}) is tuple else f{link}({variable})"
        if not head.has_tuples:
            return f"f{link}({variable})"
        if head.width is None or head.width > _MOST_ARGUMENTS:
            return f"f{link}(*{variable})"
        if self._parts and variable == self._variable:
            return f"f{link}({', '.join(self._parts)})"
        return f"f{link}({', '.join(f'{variable}[{part}]' for part in range(head.width))})"

    def _map(self, link: int) -> None:
        self._add(link, f"x = {self._call(link, self._variable)}")
        known = self._known[link]
        self._variable, self._form, self._head, self._number, self._parts = "x", known.form, Head(None), None, []
        if self._apart is not None and link == len(self._kinds) - 1:  # whoever else has it
            self._take_apart(link, self._apart, ["x = own(x, row, lists=1)", "x = settle(x)"])
            return
        if known.form is None:
            self._add(link, "if type(x) not in plain and not (type(x) is tuple and all_plain(map(type, x))):")
            self._add(link, "x = own(x, row, lists=1)", deeper=1)
            self._add(link, "x = settle(x)", deeper=1)
            return
        if known.is_listed:
            self._add(link, "if type(x) is list:")
            self._add(link, "x = tuple(x)", deeper=1)
        is_changeable = can_be_changed(known.form)
        if is_changeable and not known.is_fresh:
            self._add(link, "x = own(x, row, lists=1)")
        conditions = Conditions(self._constant, counted=known.is_fresh)
        own = ["x = own(x, row, lists=1)"] if not is_changeable or known.is_fresh else []
        ending = f"return {link}, (x, row, kind, before), None"
        surprised = ["kind, before = type(x), ids_of(x)", *own, "x = settle(x)", ending]
        if isinstance(known.form, TupleForm) and known.form.kind is tuple and known.form.parts and not is_changeable:
            self._unpack(link, known.form, conditions, surprised)
            return
        checks = [*conditions_of_row(known.form), *conditions.of("x", known.form)]
        copies = conditions.copies("x", known.form)
        # Or parts of it would seem to be somebody's.
        let_go = [f"{' = '.join(conditions.variables)} = None"] if conditions.variables else []
        self._unless(link, checks, [*let_go, *surprised])
        for line in [*copies, *let_go]:
            self._add(link, line)

    def _unless(self, link: int, checks: Sequence[str], lines: Sequence[str]) -> None:
        self._add(link, f"if not ({' and '.join(checks)}):")
        for line in lines:
            self._add(link, line, deeper=1)

    def _unpack(self, link: int, form: TupleForm, conditions: Conditions, surprised: Sequence[str]) -> None:
        """Unpacks a tuple that nobody can change, of this form; its length is not asked for, to be ready for another one costs nothing."""
        self._parts = [f"y{part}" for part in range(len(form.parts))]
        surprised = [f"{' = '.join(self._parts)} = None", *surprised]  # or parts of it would seem to be somebody's
        self._unless(link, ["type(x) is tuple"], surprised)
        self._add(link, "try:")
        self._add(link, f"{''.join(f'{part}, ' for part in self._parts)}= x", deeper=1)
        self._add(link, "except ValueError:")
        for line in surprised:
            self._add(link, line, deeper=1)
        checks = [conditions.of(name, part) for name, part in zip(self._parts, form.parts, strict=True)]
        self._unless(link, [*itertools.chain.from_iterable(checks)], surprised)

    def _filter(self, link: int) -> None:
        seen = self._variable
        if not (self._head.is_fixed if self._form is None else not can_be_changed(self._form)):
            is_given = link == 0 and not self._only_filters
            views: list[str] = []
            if is_given:
                shown = "next_seen()"
            elif self._form is not None and is_shown_quickly(self._form):
                shown = self._read_only(link, seen, self._form, views)
            else:
                shown = f"read_only({seen})"
            self._add(link, f"seen = {shown}")
            seen = " = ".join(["seen", *views])
        self._add(link, f"answer = {self._call(link, 'seen' if seen != self._variable else seen)}")
        if seen != self._variable:
            self._add(link, f"{seen} = None")  # its arrays are views of the element's, which others would seem to have
        self._add(link, "if answer is not True and (answer is False or not truth(answer)):")
        self._add(link, f"fates.append({self._filters.index(link) + 1})", deeper=1)
        self._add(link, "continue", deeper=1)

    def _read_only(self, link: int, expression: str, form: Form, views: list[str]) -> str:
        """Returns what gives a part as a filter sees it, after lines that make views of its arrays, and copies of its dicts."""
        if isinstance(form, (ArrayForm, ListForm)) or form == TEXTS:
            views.append(f"v{len(views)}")
            self._add(link, f"{views[-1]} = {expression}.view()")
            self._add(link, f"{views[-1]}.setflags(False)")
            return views[-1]
        if isinstance(form, DictForm):  # with its keys in its own order
            views.append(copied := f"v{len(views)}")
            self._add(link, f"{copied} = {expression}.copy()")
            for key, part in zip(form.keys, form.parts, strict=True):
                if can_be_changed(part):
                    seen = self._read_only(link, f"{expression}[{key!r}]", part, views)
                    self._add(link, f"{copied}[{key!r}] = {seen}")
            return copied
        if isinstance(form, RecordForm):
            views.append(copied := f"v{len(views)}")
            self._add(link, f"{copied} = new_object({self._constant(form.kind)})")
            self._add(link, f"{copied}.__dict__.update({expression}.__dict__)")
            for key, part in zip(form.keys, form.parts, strict=True):
                if can_be_changed(part):
                    seen = self._read_only(link, f"{expression}.__dict__[{key!r}]", part, views)
                    self._add(link, f"{copied}.__dict__[{key!r}] = {seen}")
            return copied
        if not isinstance(form, TupleForm) or not can_be_changed(form):
            return expression
        parts = [self._read_only(link, f"{expression}[{index}]", part, views) for index, part in enumerate(form.parts)]
        made = f"({''.join(f'{part}, ' for part in parts)})"
        return made if form.kind is tuple else f"new_tuple({self._constant(form.kind)}, {made})"

    def _enumerate(self, link: int) -> None:
        self._tie(link)
        self._number = f"index + f{link}"

    def _tie(self, link: int) -> None:
        """Ties the element to the number that comes before it."""
        if self._number is not None:
            self._add(link, f"x = ({self._number}, {self._variable})")
            form = self._form
            self._form = TupleForm(tuple, (int, form)) if form is not None and self._variable == "x" else None
            self._variable, self._head, self._number, self._parts = "x", Head(True, 2), None, []

    def _end(self) -> None:
        last = len(self._kinds) - 1
        self._tie(last)
        if self._apart is not None:
            if self._kinds[last] != "map":
                self._take_apart(last, self._apart, [])
        elif not self._only_filters:
            self._add(last, f"made.append({self._variable})")
        if self._filters:
            self._add(last, f"fates.append({KEPT})")

    def _take_apart(self, link: int, apart: Apart, otherwise: Sequence[str]) -> None:
        """Puts the leaves of the element into their columns; one of another form ends the loop, after those lines."""
        otherwise = [*otherwise, f"return {link + 1}, {self._variable}, None"]
        may_be_list = self._kinds[link] == "map"
        for line in apart.text(self._variable, self._constant, otherwise, may_be_list=may_be_list):
            self._add(link, line)
