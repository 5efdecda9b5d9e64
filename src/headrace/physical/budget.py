"""How much of a run's bytes what reads ahead may hold: an equal part of what those leave that must hold what they hold."""

from __future__ import annotations

from typing import Final

from headrace.semantics.held_bytes import HeldBytes

__all__ = ["Budget"]

# Where nobody stated a budget, what reads ahead keeps this part of the default one, however much must be held.
_LEAST_PART: Final = 8


class Budget(HeldBytes):
    """How much one run may hold.

    Args:
        total_bytes: the budget.
        parts: how many stages read ahead, at least 1.
        most_bytes: how much must be held before that is an error: the budget itself where it was stated, else all that the
            process may take.
        present: the ids of the arrays that are there anyway.
    """

    def __init__(
        self, total_bytes: int, *, parts: int = 1, most_bytes: int | None = None, present: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(total_bytes, most_bytes=most_bytes, present=present)
        self._parts = max(1, parts)
        self._least = total_bytes // _LEAST_PART if self.most_bytes > total_bytes else 0

    @property
    def share_bytes(self) -> int:
        """How much each stage that reads ahead may hold now."""
        left = self.total_bytes - self.held_bytes if self._holdings else self.total_bytes
        return max(1, max(left, self._least) // self._parts)
