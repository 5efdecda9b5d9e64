"""What is learned of a chain while it runs: which form its results have, and so which loop it goes through.

It is shared by all stages that the same operations become in one run, as in each turn of a repeat and for each dataset that a function
makes, and by the workers that run one. It is nothing but speed: whoever finds it half changed does right all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace.elements.structure import Element
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.form_owners import form_with_held_dicts, form_with_owners
from headrace.physical.loops.forms import TEXTS, Form, ListForm, form_of, is_passed_on, joined_form
from headrace.physical.loops.taken_apart import Apart
from headrace.physical.loops.text import GENERIC, Head, Kind, Known, Loop, loop_of

__all__ = ["FIRST_ROWS_A_LOOK", "LOOK_S", "SURPRISES", "Learned", "known_better"]

# How much time there is to be between two looks at the clock.
LOOK_S: Final = 20e-6
# Rows between two looks at the clock, while nobody knows how long they take.
FIRST_ROWS_A_LOOK: Final = 8
# So many results of a link may be other than what is known of it before that is known better.
SURPRISES: Final = 4

# Shapes of chains whose loops were generated: another chain of one goes through its loop at once.
_generated: Final[set[tuple[Kind, ...]]] = set()


class Learned:
    """What is known of the results of a chain with links of these kinds.

    Attributes:
        rows_a_look: how many rows there are to be between two looks at the clock.
        shares: the part of each link in the time that the chain takes.
        surprises: how many results were not of the form that was known.
    """

    __slots__ = (
        "_apart",
        "_blocks_to_wait",
        "_elements_to_wait",
        "_has_shares",
        "_kinds",
        "_known",
        "_loops",
        "_loops_apart",
        "_misfits",
        "_policy",
        "_since_then",
        "rows_a_look",
        "shares",
        "surprises",
    )

    def __init__(self, kinds: tuple[Kind, ...], policy: LoopPolicy) -> None:
        self.rows_a_look = min(FIRST_ROWS_A_LOOK, policy.rows_a_look)
        self.shares: Sequence[float] = [1.0 / len(kinds)] * len(kinds)
        self._has_shares = False  # nobody has looked yet
        self.surprises = 0
        self._kinds = kinds
        self._policy = policy
        self._known: tuple[Known, ...] | None = None
        self._since_then = [0] * len(kinds)  # surprises of each link since it was learned what to expect
        self._loops: dict[Head, Loop] = {}
        self._apart: Apart | None = None  # how results are taken apart, where they are stacked
        self._misfits = 0  # how often they could not be
        self._loops_apart: dict[Head, Loop] = {}
        # How many elements go through the loop before the first that go link by link, and then how many blocks.
        self._elements_to_wait = policy.probed if kinds in _generated else 0
        self._blocks_to_wait = 0

    @property
    def is_known(self) -> bool:
        """Whether some elements went link by link, so that each result was seen."""
        return self._known is not None

    def ways(self, count: int) -> Iterator[tuple[int, bool]]:
        """Yields how a block of so many elements goes: so many of it through the loop, or, where that is said, link by link; and so on.

        What a loop that knows nothing makes of the first ones tells how the others are made, be they of the same block. Who stops in the
        middle goes on with the next block as with the rest of this one.
        """
        first = min(count, self._elements_to_wait)
        if first:
            self._elements_to_wait -= first
            yield first, False
        rest = count - first
        probed = self._to_probe(rest) if rest else 0
        if probed:
            yield probed, True
        if rest > probed:
            yield rest - probed, False

    def _to_probe(self, count: int) -> int:
        """Returns how many elements of so many are to go link by link."""
        self._blocks_to_wait -= 1
        has_seen_all = len(self._kinds) == 1 and self.is_known  # a single link has all the time for itself
        if self._blocks_to_wait >= 0 or has_seen_all or not self._policy.probed:
            return 0
        self._blocks_to_wait = self._policy.every - 1
        return min(count, self._policy.probed)

    def look_soon(self) -> None:
        """Has the first elements of the next block go link by link: they take long, and it is to be known which link does."""
        self._elements_to_wait = self._blocks_to_wait = 0

    def share(self, seconds: Sequence[float]) -> None:
        """Takes in how long each link took with some elements: the latest count most, and the first for all that was before."""
        whole_s = sum(seconds)
        fresh = [own_s / whole_s for own_s in seconds]
        if self._has_shares:
            fresh = [(share + own) / 2 for share, own in zip(self.shares, fresh, strict=True)]
        self.shares, self._has_shares = fresh, True

    def learn(self, forms: Sequence[Form | None]) -> None:
        """Takes in the form of the results of each link, None where they have none."""
        # A list that is a result is a tuple, so what looks as if lists were made of it were texts of NumPy's.
        known = [Known(TEXTS if isinstance(form, ListForm) else form) for form in forms]
        self._known, self._loops, self._loops_apart = tuple(known), {}, {}

    def loop(self, head: Head, *, is_stacked: bool) -> Loop:
        """Returns the loop for rows like these, as what is known of results is now; where these are stacked, they may be taken apart."""
        apart = self._apart if is_stacked else None
        loops = self._loops if apart is None else self._loops_apart
        loop = loops.get(head)
        if loop is None:
            _generated.add(self._kinds)
            known = self._known or (GENERIC,) * len(self._kinds)
            loop = loops[head] = loop_of(head, self._kinds, known, apart)
        return loop

    @property
    def is_to_look_at(self) -> bool:
        """Whether a result is to be looked at, so that those after it are taken apart."""
        return self._apart is None and self._misfits < SURPRISES

    def look_at(self, result: Element) -> None:
        """Has results taken apart that are as this one, where that can be."""
        apart = Apart.of(result)
        self._misfits += apart is None
        self._loops_apart, self._apart = {}, apart

    def misfit(self) -> None:
        """Takes in that a result was of another form than those that are taken apart."""
        self._apart = None
        self._misfits += 1

    def surprised(self, link: int, result: Element, row: Element, kind: type, ids: Any) -> None:
        """Takes in a result that was not of the form that was known, or not new, and after some of them expects both.

        Args:
            link: of which it is the result.
            result: it, as an element.
            row: of which it was made.
            kind: its type as it was returned.
            ids: which arrays were in it then.
        """
        self.surprises += 1
        self._since_then[link] += 1
        if self._since_then[link] < SURPRISES or self._known is None:
            return
        self._since_then[link] = 0
        now = known_better(self._known[link], result, row, ids, is_list=kind is list)
        self._known, self._loops, self._loops_apart = (*self._known[:link], now, *self._known[link + 1 :]), {}, {}


def known_better(before: Known, result: Element, row: Element, ids: Any, *, is_list: bool) -> Known:
    """Returns what is known of results when one more is."""
    form = None if before.form is None else joined_form(before.form, form_of(result))
    is_listed = before.is_listed or is_list
    if form is None or form != before.form or is_listed != before.is_listed:
        return Known(form, is_fresh=before.is_fresh, is_listed=is_listed)
    if is_passed_on(form):
        return Known(form_of(result), is_fresh=False, is_listed=is_listed)  # at times it is, and at times not
    if before.is_fresh:  # it was as expected, but others may have it: the row, or who knows
        owned = form_with_owners(form, result, row, ids)
        owned = owned if owned != form else form_with_held_dicts(form)
        return Known(owned, is_fresh=owned != form, is_listed=is_listed)
    return Known(None)  # as where equal dtypes are different objects
