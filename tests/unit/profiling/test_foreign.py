"""What is said of an iterable of which nothing is known but when its elements come, and what its process used."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from headrace.profiling.foreign import ForeignProfile, examined
from headrace.profiling.profile import Verdict


class ManualClock:
    def __init__(self) -> None:
        self.time_s = 0.0

    def now_s(self) -> float:
        return self.time_s


class Loader:
    """Takes time for its elements, of which a step may find some ready."""

    def __init__(self, clock: ManualClock, *waits_s: float) -> None:
        self._clock = clock
        self._waits_s = waits_s

    def __iter__(self) -> Iterator[int]:
        for wait_s in self._waits_s:
            self._clock.time_s += wait_s
            yield 0


def waiting_for(*waits_s: float, step_s: float | None = 1.0, monkeypatch: pytest.MonkeyPatch, cores_used: float) -> str:
    clock = ManualClock()

    def step(_: int) -> None:
        assert step_s is not None
        clock.time_s += step_s

    class Used:
        """A process that keeps so many cores busy."""

        cpu_s, delayed_s, read_bytes = 0.0, 0.0, None

        @classmethod
        def now(cls) -> Used:
            made = cls()
            made.cpu_s = cores_used * clock.time_s
            return made

        def since(self, before: Used) -> Used:
            self.cpu_s -= before.cpu_s
            return self

    monkeypatch.setattr("headrace.profiling.foreign._Use", Used)
    cores = dataclasses.make_dataclass("Share", [("cores", int)])(4)
    monkeypatch.setattr("headrace.profiling.foreign.current_share", lambda: cores)
    found = examined(Loader(clock, *waits_s), None if step_s is None else step, 100.0, clock)
    return f"{found.verdict.cause} {found.verdict.waiting_share:.2f}"


@pytest.mark.parametrize(
    ("cores_used", "cause"), [(0.02, "source"), (0.7, "gil"), (1.0, "gil"), (2.5, "parallelism"), (3.9, "map")]
)
def test_how_many_cores_are_busy_says_what_a_slow_iterable_needs(
    monkeypatch: pytest.MonkeyPatch, cores_used: float, cause: str
) -> None:
    assert waiting_for(3.0, monkeypatch=monkeypatch, cores_used=cores_used) == f"{cause} 0.75"
    assert waiting_for(3.0, step_s=None, monkeypatch=monkeypatch, cores_used=cores_used) == f"{cause} 1.00"


def test_one_that_is_fast_enough_comes_at_the_wrong_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting_for(0.5, monkeypatch=monkeypatch, cores_used=1.0) == "buffer 0.33"
    assert waiting_for(*[0.0] * 29, 12.0, monkeypatch=monkeypatch, cores_used=1.0).startswith("burst ")
    assert waiting_for(0.01, monkeypatch=monkeypatch, cores_used=1.0) == "consumer 0.01"


def reachable(
    per_s: float, cores_used: float, step_s: float | None = None, workers: int = 1
) -> tuple[float, float | None]:
    verdict = Verdict("source", None, 0.5, "Steps wait.")
    found = ForeignProfile("Loader", verdict, per_s / 2, per_s, cores_used, 4, None, step_s, workers=workers)
    assert ("a worker for each core" in str(found)) == (workers < 4)
    return found.reachable_per_s, found.reachable_steps_per_s


def test_a_worker_for_each_core_is_promised_and_never_more() -> None:
    assert reachable(100.0, 0.01) == (400.0, None)  # it waits: nobody knows for what
    assert reachable(100.0, 1.0) == (400.0, None)
    assert reachable(100.0, 2.0) == (200.0, None)
    assert reachable(100.0, 4.5) == (100.0, None)
    assert reachable(100.0, 1.0, 0.01) == (400.0, 100.0)  # the step allows no more
    assert reachable(100.0, 0.01, workers=2) == (200.0, None)
    assert reachable(100.0, 0.01, workers=4) == (100.0, None)  # has them
    assert reachable(100.0, 0.01, workers=9) == (100.0, None)
