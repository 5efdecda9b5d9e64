"""How much of a run's bytes what reads ahead may hold: an equal part of what those leave that must hold what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from headrace.observe.meter import Meter
from headrace.semantics.held_bytes import HeldBytes, Holder

__all__ = ["Ahead", "Budget"]

# Where nobody stated a budget, what reads ahead keeps this part of the default one, however much must be held.
_LEAST_PART: Final = 8
# A block in hand is beside the budget. As large as this it is a hand-off in a thousand; where the budget is small, a part of it.
_BLOCK_BYTES: Final = 4 << 20
_BLOCKS: Final = 8


class Budget(HeldBytes):
    """How much one run may hold.

    Args:
        total_bytes: the budget.
        parts: how many stages will read ahead, at least 1; where more do, as in the streams of a dealt plan, each has less.
        most_bytes: how much must be held before that is an error: the budget itself where it was stated, else all that the
            process may take.
        whole_bytes: how much the process may take, which not even a single element may exceed; by default as ``most_bytes``.
        present: the ids of the arrays that are there anyway.
    """

    def __init__(
        self,
        total_bytes: int,
        *,
        parts: int = 1,
        most_bytes: int | None = None,
        whole_bytes: int | None = None,
        present: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(total_bytes, most_bytes=most_bytes, whole_bytes=whole_bytes, present=present)
        self._parts = max(1, parts)
        self._readers: dict[int, Ahead] = {}
        self._least = total_bytes // _LEAST_PART if self.most_bytes > total_bytes else 0

    @property
    def block_bytes(self) -> int:
        """How much a block may have that somebody has in hand."""
        return max(1, min(_BLOCK_BYTES, self.total_bytes // _BLOCKS))

    def ahead(self, meter: Meter | None = None) -> Ahead:
        """Makes what says how much a stage has read ahead.

        Args:
            meter: of the operation that holds it; None where it is none of the plan, as a feed.
        """
        ahead = Ahead(self, meter)
        self._readers[id(ahead)] = ahead
        return ahead

    def let_ahead_go(self, ahead: Ahead) -> None:
        """Forgets what reads ahead no more."""
        self._readers.pop(id(ahead), None)

    def change_ahead(self, ahead: Ahead, nbytes: int) -> None:
        """Counts so many bytes more, or with a negative number less, of what was read ahead."""
        with self._lock:  # in which nothing is called, as in ``count``
            self.ahead_bytes += nbytes
            ahead.nbytes += nbytes
            if self.held_bytes + self.ahead_bytes > self.highest_bytes:  # noqa: PLR1730 - max is a call
                self.highest_bytes = self.held_bytes + self.ahead_bytes

    def _holders(self) -> Iterable[Holder]:
        return [*super()._holders(), *list(self._readers.values())]

    @property
    def share_bytes(self) -> int:
        """How much each stage that reads ahead may hold now."""
        left = self.total_bytes - self.held_bytes if self._holdings else self.total_bytes
        return max(1, max(left, self._least) // max(self._parts, len(self._readers)))


class Ahead:
    """What one stage has read ahead; it may hold a part of the budget, which becomes less where others must hold more."""

    __slots__ = ("_budget", "meter_id", "nbytes")

    def __init__(self, budget: Budget, meter: Meter | None) -> None:
        self._budget = budget
        self.meter_id = id(meter)
        self.nbytes = 0

    @property
    def share_bytes(self) -> int:
        """How much it may hold now."""
        return self._budget.share_bytes

    @property
    def is_full(self) -> bool:
        """Whether it holds as much as it may."""
        return self.nbytes >= self._budget.share_bytes

    def add(self, nbytes: int) -> None:
        """Says that so many bytes came, or with a negative number went; from any thread."""
        if nbytes:
            self._budget.change_ahead(self, nbytes)

    def set(self, nbytes: int) -> None:
        """Says how much it holds now; one thread at a time."""
        if nbytes != self.nbytes:
            self._budget.change_ahead(self, nbytes - self.nbytes)

    def release(self) -> None:
        """Holds nothing any more."""
        self.set(0)
        self._budget.let_ahead_go(self)
