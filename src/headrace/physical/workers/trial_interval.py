"""When the other way to do an operation is tried again: after ever more work, as long as nothing has changed."""

from __future__ import annotations

from typing import Final

__all__ = ["TrialInterval"]

# Work until the other way is tried again, however it comes. Each time that nothing has changed workers are left alone four times as long,
# and one thread twice: it is the answer that a busy machine gives to what would have workers on a free one.
_FIRST_S: Final = 0.25
_LAST_S: Final = 16.0
_GROWTH: Final = {True: 4, False: 2}  # of workers or not


class TrialInterval:
    """Counts the work until then.

    Args:
        at_once: whether it is tried as soon as that is little beside the work.
    """

    __slots__ = ("_interval_s", "_left_s", "_longer_s")

    def __init__(self, *, at_once: bool) -> None:
        self._interval_s = _FIRST_S
        self._left_s = 0.0 if at_once else _FIRST_S
        self._longer_s = _LAST_S

    @property
    def is_over(self) -> bool:
        """Whether there was so much work."""
        return self._left_s <= 0

    @property
    def is_longest(self) -> bool:
        """Whether nothing has changed for long."""
        return self._interval_s >= _LAST_S

    def worked(self, seconds: float) -> None:
        """Counts work in the way that was found better."""
        self._left_s -= seconds

    def begin(self, *, has_workers: bool, is_same: bool) -> None:
        """Begins anew, as a way was found better: that with workers or not, the same as before or not."""
        self._interval_s = min(_GROWTH[has_workers] * self._interval_s, _LAST_S) if is_same else _FIRST_S
        self._left_s = self._interval_s

    def lengthen(self) -> None:
        """Begins anew, as the other way did not end by itself: longer than all others, and ever longer."""
        self._longer_s *= _GROWTH[True]
        self._left_s = self._longer_s
