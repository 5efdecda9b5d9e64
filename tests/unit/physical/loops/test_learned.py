"""What is learned of a chain of operations: how its time is shared out among them."""

from __future__ import annotations

import pytest

from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.learned import Learned


def test_the_first_look_at_a_chain_says_how_its_time_is_shared_and_later_ones_count_half() -> None:
    learned = Learned(("map", "filter"), LoopPolicy())
    assert learned.shares == [0.5, 0.5]  # nobody has looked
    learned.share([3.0, 0.0])
    assert learned.shares == [1.0, 0.0]
    learned.share([1.0, 1.0])
    assert learned.shares == pytest.approx([0.75, 0.25])
