"""What a prefetch tells of its first blocks, by which it is decided whether a thread makes the next ones."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.physical.run_policy import RunPolicy
from headrace.physical.workers.overlap_tuner import OverlapTuner


class Told(OverlapTuner):
    """Notes what it is told, and has all blocks made where they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bool] = []

    def made_here(self, elements: int, made_s: float, gap_s: float | None, *, is_alone: bool = True) -> None:
        """Notes whether a block was made alone."""
        assert (gap_s is None) == (not self.told)
        self.told.append(is_alone)


def raised(x: int) -> int:
    return x + 1


NUMBERS = hr.Dataset.range(1_000)


@pytest.mark.parametrize(
    ("dataset", "holds"),
    [
        (NUMBERS, False),
        (NUMBERS.map(raised), False),
        (NUMBERS.map(raised).batch(8), False),
        (NUMBERS.map(raised).shuffle(100), True),
        (NUMBERS.map(raised).shuffle(100).map(raised).batch(8), True),
        (NUMBERS.batch(100).map(raised).unbatch(), True),
        (hr.Dataset.zip(NUMBERS.map(raised), NUMBERS.map(raised).shuffle(100)), True),
    ],
)
def test_a_first_block_is_alone_unless_something_upstream_holds_others(dataset: hr.Dataset, *, holds: bool) -> None:
    tuner = Told()
    plan = dataset.prefetch(1).__headrace_plan__()
    with DatasetIterator(plan, policy=RunPolicy(overlap=lambda _: tuner)) as iterator:
        for _ in zip(range(100), iterator, strict=False):
            pass
    assert tuner.told[0] is not holds
    assert all(tuner.told[1:])
