"""The loop that takes what a generator yields, generated for the form of it as those over elements of a block are.

    for x in islice(elements, chunk):
        if not (type(x) is tuple and len(x) == 2 and type(x[0]) is ndarray and … and type(x[1]) is k1):
            return SURPRISED, x
        x = (x[0].copy('K'), x[1])                   # an array that the generator has, too
        append(x)

Each element is its receiver's alone before the generator goes on: it may fill the same memory for the next one.

Where the reader joins short arrays, each is taken as its bytes, which costs half as much as an array of its own and a look at who has it:

        if not (type(x) is ndarray and x.dtype is k0 and x.ndim == 1):
            return SURPRISED, x
        append(x.tobytes())
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from headrace.elements.function_results import owned
from headrace.frozen import frozen
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.compiled import compiled
from headrace.physical.loops.conditions import Conditions
from headrace.physical.loops.form_owners import ids_of
from headrace.physical.loops.forms import (
    ArrayForm,
    Form,
    arrays_in,
    can_be_changed,
    form_of,
    has_lists,
    joined_form,
    kinds_of,
)
from headrace.physical.loops.joined_form import JoinedForm, joined_form_of
from headrace.physical.loops.learned import FIRST_ROWS_A_LOOK, LOOK_S, SURPRISES, known_better
from headrace.physical.loops.text import GENERIC, Known

__all__ = ["Constants", "Taking"]

# Why a loop ended: it has taken as many as it should, or its time has come; the generator has ended; an element was not
# of the form that was known; one could not be copied.
_DONE: Final = 0
_ENDED: Final = 1
_SURPRISED: Final = 2
_FAILED: Final = 3


@frozen
class _Loop:
    """A compiled loop.

    Attributes:
        run: takes elements of an iterator into a list. Called with both, how many to take between two looks at the clock, how many
            times, the clock, and when to end; and the constants. Returns why it ended, and the element or the error.
        constants: what the text has names for.
        kinds: the types of its elements, where all are of the form that it checks.
    """

    run: Callable[..., tuple[int, Any]]
    constants: tuple[Any, ...]
    kinds: frozenset[type] | None


@functools.lru_cache(maxsize=256)
def _loop_of(known: Known) -> _Loop:
    constants = Constants()
    lines = _lines_of(known, constants.name)
    return _Loop(*_compiled(lines, "x", constants), None if known.form is None else kinds_of(known.form))


@functools.lru_cache(maxsize=256)
def _loop_that_joins(form: JoinedForm) -> _Loop:
    constants = Constants()
    lines = [f"if not ({' and '.join(form.conditions('x', constants.name))}):", f" return {_SURPRISED}, x"]
    return _Loop(*_compiled(lines, form.bytes_of("x"), constants), None)


class Constants:
    """What the text of a loop has names for."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def name(self, value: Any) -> str:
        """Returns the name of a value."""
        if not any(value is other for other in self.values):
            self.values.append(value)
        return f"k{next(index for index, other in enumerate(self.values) if other is value)}"


def _compiled(
    lines: list[str], taken: str, constants: Constants
) -> tuple[Callable[..., tuple[int, Any]], tuple[Any, ...]]:
    """Returns a loop with these lines for each element, after which that is what is taken of it; and its constants."""
    names = "".join(f"k{number}, " for number in range(len(constants.values)))
    text = [
        "def loop(elements, made, chunk, chunks, clock, until, constants):",
        *([f" {names}= constants"] if names else []),
        " wanted = len(made)",
        " for _ in repeat(None, chunks):",
        "  wanted += chunk",
        "  for x in islice(elements, chunk):",
        *(f"   {line}" for line in lines),
        f"   made.append({taken})",
        "  if len(made) < wanted:",
        f"   return {_ENDED}, None",
        "  if clock() > until:",
        "   break",
        f" return {_DONE}, None",
        "",
    ]
    return compiled("\n".join(text)), tuple(constants.values)


def _lines_of(known: Known, constant: Callable[[Any], str]) -> list[str]:
    """Returns what is done with each element, so that it is of a form, where one is known, and nobody else's."""
    owning = ["try:", " x = own(x)", "except Exception as error:", f" return {_FAILED}, error"]
    if known.form is None:
        is_any = "if type(x) not in plain and not (type(x) is tuple and all_plain(map(type, x))):"
        return [is_any, *(f" {line}" for line in owning)]
    is_changeable = can_be_changed(known.form)
    conditions = Conditions(constant, counted=known.is_fresh and is_changeable)
    checks = conditions.of("x", known.form)
    copies = conditions.copies("x", known.form)
    if conditions.has_lists:  # what becomes no array fails as an element, later on
        copies = ["try:", *(f" {line}" for line in copies), "except Exception:", f" return {_SURPRISED}, x"]
    let_go = [f"{' = '.join(conditions.variables)} = None"] if conditions.variables else []
    return [
        *(owning if is_changeable and not known.is_fresh else []),
        f"if not ({' and '.join(checks)}):",
        *(f" {line}" for line in let_go),
        f" return {_SURPRISED}, x",
        *copies,
        *let_go,
    ]


class Taken(NamedTuple):
    """What came of taking some elements.

    Attributes:
        has_ended: whether the iterator has.
        kinds: the types of the elements, where they follow from their form.
        unfit: why the element after the last one could not be copied, if that is so.
        joined: how elements were taken to be joined, where they were.
    """

    has_ended: bool
    kinds: frozenset[type] | None = None
    unfit: Exception | None = None
    joined: JoinedForm | None = None


class Taking:
    """Takes what generators yield that one operation of a run starts, and learns of which form that is.

    Several threads may share one: what is learned is nothing but speed.

    Args:
        policy: how much is looked at.
        takes_lists: whether lists become arrays as they are taken; a signature must see them as they came.

    Attributes:
        surprises: how many elements were not of the form that was known.
    """

    def __init__(self, policy: LoopPolicy, *, takes_lists: bool = True) -> None:
        self._takes_lists = takes_lists
        self.surprises = 0
        self._most_rows_a_look = policy.rows_a_look
        self._rows_a_look = min(FIRST_ROWS_A_LOOK, policy.rows_a_look)
        self._known = GENERIC
        self._to_look_at = policy.probed  # elements, to learn their form
        self._forms: list[Form | None] = []  # that they had so far, joined
        self._since_then = 0  # surprises since it was learned what to expect
        self._joined: JoinedForm | None = None  # how elements are taken to be joined
        self._misjoined = 0  # elements that could not be

    @property
    def has_form(self) -> bool:
        """Whether it is known which form elements mostly have."""
        return self._known.form is not None

    @property
    def arrays(self) -> Iterator[ArrayForm]:
        """What is known of the arrays in elements."""
        return iter(()) if self._known.form is None else arrays_in(self._known.form)

    @property
    def rows_a_look(self) -> int:
        """How many elements to take between two looks at the clock."""
        return self._rows_a_look

    def take(
        self,
        elements: Iterator[Any],
        made: list[Any],
        limit: int,
        now_s: Callable[[], float],
        until_s: float,
        *,
        may_join: bool = False,
    ) -> Taken:
        """Puts elements into a list, one at least into an empty one, up to that many, or until the time has come.

        Args:
            elements: gives them.
            made: gets them; or what is taken of each to join them.
            limit: how many there may be.
            now_s: the clock.
            until_s: the time.
            may_join: whether they may be taken to be joined.

        Raises:
            Exception: whatever the iterator raises.
        """
        begun_s = now = now_s()
        kinds: set[frozenset[type] | None] = set()
        joined = self._joined if may_join else None
        try:
            # One at least, however late it is: nothing would be the end.
            while len(made) < limit and (not made or now <= until_s):
                loop = _loop_of(self._known) if joined is None else _loop_that_joins(joined)
                kinds.add(loop.kinds)
                left = min(limit - len(made), self._to_look_at or limit)
                chunk = min(self._rows_a_look, left)
                why, value = loop.run(elements, made, chunk, left // chunk, now_s, until_s, loop.constants)
                if self._to_look_at:
                    self._look_at(made[-left:])
                if why == _SURPRISED:
                    kinds.add(None)
                    if joined is not None:
                        made[:], joined = joined.elements(made), None
                        self._misjoined += 1
                        self._joined = None if self._misjoined >= SURPRISES else self._joined
                    before = ids_of(value)
                    try:
                        value = owned(value)
                    except Exception as error:  # noqa: BLE001 - a class of the user's may raise anything
                        return Taken(has_ended=False, unfit=error)
                    made.append(value)
                    self._surprised(value, before)
                elif why != _DONE:
                    return Taken(why == _ENDED, kinds.pop() if len(kinds) == 1 else None, value, joined)
                now = now_s()
        except BaseException:
            if joined is not None:
                made[:] = joined.elements(made)
            raise
        self._rows_a_look = max(1, min(self._most_rows_a_look, int(LOOK_S * len(made) / (now - begun_s + 1e-9))))
        return Taken(has_ended=False, kinds=kinds.pop() if len(kinds) == 1 else None, joined=joined)

    def join_no_more(self) -> None:
        """Takes each element by itself from now on."""
        self._joined = None

    def _look_at(self, rows: list[Any]) -> None:
        """Takes in the first elements; when there are enough of them, their form is what is expected."""
        for row in rows:
            form = form_of(row)
            if form is not None and not self._takes_lists and has_lists(form):
                form = None
            before = self._forms.pop() if self._forms else form
            self._forms.append(None if before is None else joined_form(before, form))
        self._to_look_at = max(0, self._to_look_at - len(rows))
        if not self._to_look_at and self._forms:
            self._known = Known(self._forms[0])
            self._joined = joined_form_of(self._forms[0], rows)

    def _surprised(self, row: Any, before: Any) -> None:
        """Takes in an element that was not of the form that is known, and after some of them expects better."""
        self.surprises += 1
        self._since_then += 1
        if self._since_then >= SURPRISES:
            self._since_then = 0
            known = known_better(self._known, row, None, before, is_list=False)
            is_taken = known.form is None or self._takes_lists or not has_lists(known.form)
            self._known = known if is_taken else Known(None)
