"""How many elements are asked for at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.physical.pace import Pace


def settled(pace: Pace, *, element_s: float, element_nbytes: int = 0) -> int:
    for _ in range(60):
        pace.observe(pace.size, pace.size * element_s, pace.size * element_nbytes)
    return pace.size


def test_it_begins_with_one_and_grows_by_four_at_most() -> None:
    pace = Pace()
    sizes = [pace.size]
    for _ in range(6):
        pace.observe(pace.size, 1e-9, 0)
        sizes.append(pace.size)
    assert sizes == [1, 4, 16, 64, 256, 1024, 4096]


def test_a_block_is_about_a_millisecond_of_work() -> None:
    assert 900 <= settled(Pace(), element_s=1e-6) <= 1000
    assert settled(Pace(), element_s=5e-3) == 1
    assert settled(Pace(), element_s=0.0) == 1 << 16


def test_a_first_block_that_takes_long_says_nothing_once_there_is_a_second() -> None:
    pace = Pace()
    pace.observe(1, 20e-3, 0)
    assert pace.size == 1
    sizes = []
    for _ in range(4):
        pace.observe(pace.size, pace.size * 1e-6, 0)
        sizes.append(pace.size)
    assert sizes == [4, 16, 64, 256]
    pace = Pace()
    for seconds in (20e-3, 20e-3, 1e-6):
        pace.observe(1, seconds, 0)
    assert pace.size == 1


@given(st.floats(1e-2, 1e3), st.sampled_from([1e-6, 1e-5, 1e-4]))
def test_one_block_that_takes_long_says_little_and_two_in_a_row_do(seconds: float, element_s: float) -> None:
    pace = Pace()
    usual = settled(pace, element_s=element_s)
    pace.observe(pace.size, seconds, 0)
    assert pace.size >= usual // 3
    for _ in range(8):
        pace.observe(pace.size, pace.size * element_s, 0)
    assert pace.size >= usual // 2
    size = pace.size
    for _ in range(2):
        pace.observe(size, seconds, 0)
    assert pace.size <= max(1, 5e-3 * size / seconds)


@given(st.floats(0, 1.5e-3), st.floats(1e-7, 2e-4), st.integers(0, 3))
def test_what_blocks_take_beside_their_elements_is_shared_by_many(begin_s: float, element_s: float, late: int) -> None:
    pace, sizes = Pace(), [1]
    for number in range(300):
        held_up_s = 5e-3 if late and number == 40 * late else 0.0
        pace.observe(pace.size, begin_s + element_s * pace.size + held_up_s, 0)
        sizes.append(pace.size)
    size = sorted(sizes[200:])[50]  # not one that is looked at
    block_s = begin_s + element_s * size
    assert block_s <= 1.05 * max(1e-3, 2 * begin_s) + element_s
    assert element_s * (size + 1) >= 0.95 * min(begin_s, 1e-3 - begin_s if begin_s < 5e-4 else begin_s)
    assert max(sizes[200:]) <= 2 * size + 2


def test_slow_elements_are_never_asked_for_two_at_a_time() -> None:
    pace = Pace()
    for _ in range(300):
        pace.observe(pace.size, 3e-3 * pace.size, 0)
        assert pace.size == 1


def test_a_block_weighs_no_more_than_it_may() -> None:
    assert settled(Pace(bytes_limit=1000), element_s=1e-9, element_nbytes=100) == 10
    assert settled(Pace(bytes_limit=1000), element_s=1e-9, element_nbytes=5000) == 1
    assert settled(Pace(limit=7), element_s=1e-9) == 7


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 10), st.integers(0, 10**9)), max_size=30))
def test_whatever_it_observes_it_asks_for_something_within_its_bounds(blocks: list[tuple[int, float, int]]) -> None:
    pace = Pace(limit=500)
    for elements, seconds, nbytes in blocks:
        pace.observe(elements, seconds, nbytes)
        assert 1 <= pace.size <= 500
    assert pace.element_nbytes >= 0
