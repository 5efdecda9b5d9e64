"""What programs are started of: all that they import, and the strategies that they draw from, ready to be drawn from."""

from __future__ import annotations

import gc

import tests.ranks.preloaded  # noqa: F401 - it imports all of headrace
from tests.chaos.drawn import case_of
from tests.chaos.program import play_turn

__all__ = ["play_turn"]

for _seed in range(50):
    case_of(_seed)
gc.freeze()
