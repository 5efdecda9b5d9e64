"""How long waits are remembered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.queues.wait_times import WaitRecorder, WaitTimes

WAITS_S = st.lists(st.floats(0, 1e6), max_size=700)


def recorded(waits_s: list[float]) -> WaitRecorder:
    recorder = WaitRecorder()
    for wait_s in waits_s:
        recorder.fresh.append(wait_s)
    return recorder


@given(waits_s=WAITS_S, quick=st.integers(0, 1000))
def test_a_percentile_is_right_to_a_tenth_and_the_longest_and_the_sum_exactly(waits_s: list[float], quick: int) -> None:
    calls = len(waits_s) + quick
    times = recorded(waits_s).summary(calls)
    everyone = sorted([0.0] * quick + waits_s)
    assert (times.calls, times.waited) == (calls, len(waits_s))
    assert times.max_s == max(everyone, default=0.0)
    assert times.total_s == pytest.approx(sum(waits_s))
    for percent, estimate in [(50, times.p50_s), (95, times.p95_s), (99, times.p99_s)]:
        exact = everyone[-(-percent * calls // 100) - 1] if calls else 0.0
        assert exact <= estimate * (1 + 1e-9) or exact == 0
        assert estimate <= max(exact * 1.1 * (1 + 1e-9), 1e-7)


def test_who_never_waited_has_waited_nothing() -> None:
    assert WaitRecorder().summary(5) == WaitTimes(calls=5)
