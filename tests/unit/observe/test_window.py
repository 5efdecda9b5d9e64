"""What counters said a while ago: as much of it as a window needs."""

from __future__ import annotations

import weakref

from hypothesis import given
from hypothesis import strategies as st

from headrace.observe.window import WINDOW_S, Window


class Count:
    """What a counter said."""

    def __init__(self, at_s: float) -> None:
        self.at_s = at_s


@given(st.lists(st.floats(0.0, 40.0), max_size=60))
def test_a_window_begins_at_the_latest_reading_that_is_old_enough(gaps_s: list[float]) -> None:
    now_s = 100.0
    window = Window(lambda: Count(now_s), Count(now_s))
    window.begin(now_s)
    noted = [now_s]
    for gap_s in gaps_s:
        now_s += gap_s
        if now_s >= window.due_s:
            window.note(now_s)
            noted.append(now_s)
        begin_s, readings = window.since(now_s)
        assert begin_s == readings[0].at_s == max([at_s for at_s in noted if at_s <= now_s - WINDOW_S], default=100.0)
        assert [reading.at_s for reading in readings] == [at_s for at_s in noted if at_s >= begin_s]


def test_what_no_window_needs_any_more_is_forgotten() -> None:
    now_s = 0.0
    alive: weakref.WeakSet[Count] = weakref.WeakSet()

    def read() -> Count:
        count = Count(now_s)
        alive.add(count)
        return count

    window = Window(read, Count(0.0))
    window.begin(now_s)
    for second in range(1, 500):
        now_s = float(second)
        window.note(now_s)
        assert len(alive) <= WINDOW_S + 3


def test_a_window_that_begins_anew_begins_now() -> None:
    now_s = 0.0
    window = Window(lambda: Count(now_s), Count(now_s))
    window.begin(now_s)
    for now_s in (1.0, 2.0, 3.0):
        window.note(now_s)
    now_s = 3.5
    window.begin_here(now_s)
    begin_s, readings = window.since(4.0)
    assert begin_s == 3.5
    assert [reading.at_s for reading in readings] == [3.5]
    assert window.due_s == 4.5
