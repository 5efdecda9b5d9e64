"""How many blocks a prefetch may have ready: more once so many were ready, and then none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.physical.workers.depth_tuner import DepthTuner


def test_a_source_that_never_fills_it_gains_nothing() -> None:
    depth = DepthTuner()
    for _ in range(1_000):
        depth.taken(0, 0.1)
    assert depth.blocks == 8


def test_a_consumer_that_never_waits_has_enough() -> None:
    depth = DepthTuner()
    for ready in [8, 4, 0] * 100:
        depth.taken(ready, 1e-6)
    assert depth.blocks == 8


def test_what_was_full_and_then_empty_may_hold_twice_as_much() -> None:
    depth = DepthTuner()
    for ready, waited_s in [(8, 0.0), (3, 0.0), (0, 0.05), (0, 0.05)]:
        depth.taken(ready, waited_s)
    assert depth.blocks == 16
    assert depth.reason == "all 8 that may be ready were, and then none, for 50.0 ms"


@given(st.integers(1, 400))
def test_bursts_are_bridged_after_a_few_of_them(burst: int) -> None:
    depth, bursts = DepthTuner(), 0
    while depth.blocks < burst:
        depth.taken(min(burst, depth.blocks), 0.0)
        depth.taken(0, 0.1)
        bursts += 1
    assert bursts <= 6
    assert depth.blocks <= 512


@given(st.lists(st.tuples(st.integers(0, 600), st.floats(0, 1))))
def test_it_is_bounded(taken: list[tuple[int, float]]) -> None:
    depth = DepthTuner()
    for ready, waited_s in taken:
        depth.taken(ready, waited_s)
        assert 8 <= depth.blocks <= 512
