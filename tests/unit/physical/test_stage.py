"""How many elements a stage asks for at once, and who says how long a pull took."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

import headrace.physical
from headrace.blocks.block import Block
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Pace, Stage


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


class Generous(Stage):
    """Gives more than it is asked for."""

    def __init__(self, sizes: list[int], unit: int) -> None:
        super().__init__(Meter("generous"), (), IndexCursor(0))
        self.granularity = unit
        self._sizes = sizes
        self._number = 0

    def _pull(self, limit: int) -> Item:
        if not self._sizes:
            return None
        start, self._number = self._number, self._number + self._sizes.pop(0) * self.granularity
        numbers = range(start, self._number)
        return Block(Rows(list(numbers)), IndexCursor(start), IndexOrigin(numbers))


@given(
    st.lists(st.integers(1, 9), max_size=6), st.integers(1, 4), st.lists(st.integers(1, 12), min_size=60, max_size=60)
)
def test_nobody_gets_more_than_was_asked_for_and_nothing_is_lost(
    sizes: list[int], unit: int, limits: list[int]
) -> None:
    stage = Generous(list(sizes), unit)
    found: list[int] = []
    for limit in limits:
        item = stage.pull(limit)
        if item is None:
            break
        assert isinstance(item, Block)
        assert len(item) <= max(limit, unit)
        assert len(item) % unit == 0
        assert item.cursor.state() == IndexCursor(len(found)).state()
        found += item.payload.rows()
        assert stage.cursor.state() == IndexCursor(len(found)).state()
    assert found == list(range(sum(sizes) * unit))


def _all_stages() -> Iterator[type[Stage]]:
    for module in pkgutil.walk_packages(headrace.physical.__path__, "headrace.physical."):
        importlib.import_module(module.name)
    left = [Stage]
    while left:
        yield (stage := left.pop())
        left += stage.__subclasses__()


def test_who_hands_on_what_others_give_leaves_it_to_its_reader_to_time_that() -> None:
    stages = [stage for stage in _all_stages() if stage.__module__.startswith("headrace.")]
    assert len(stages) > 40
    for stage in stages:
        has_own_pull = stage.pull is not Stage.pull
        assert stage.times_pulls is not has_own_pull, stage
