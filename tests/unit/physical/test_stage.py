"""What a stage gives of what it is asked for, and who says how long a pull took."""

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
from headrace.physical.stage import Item, Stage


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
