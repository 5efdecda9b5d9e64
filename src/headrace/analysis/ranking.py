"""Which rank keeps the others waiting.

Ranks that train together take their steps together: one that waits for its data begins its step late, and the others wait for it inside theirs.
So of all of them it alone waits for its pipeline, and on the others nothing seems wrong but the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

from headrace.analysis.finding import HARDLY

__all__ = ["late_rank"]

# It waits so many times as long as the rank in the middle.
_TIMES: Final = 2


def late_rank(waiting_shares: Sequence[float]) -> int | None:
    """Returns the rank for which the others wait; None where there is none, or all wait alike.

    Args:
        waiting_shares: of each rank, the part of its time that its steps wait for its own pipeline, from 0 to 1.
    """
    late = max(range(len(waiting_shares)), key=lambda rank: waiting_shares[rank])
    others = [share for rank, share in enumerate(waiting_shares) if rank != late]
    if not others or waiting_shares[late] < HARDLY:
        return None
    return late if waiting_shares[late] >= _TIMES * median(others) else None
