"""Who holds Python's lock: planted functions in real runs, and single moments as a system tells them."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.unit.queues.background import HandClock

import headrace as hr
from headrace import machine
from headrace.observe import lock_probe
from headrace.observe.frames import begins, holds
from headrace.observe.lock_probe import LockProbe
from headrace.observe.lock_use import LockUse, RunLockUse
from headrace.observe.stats import IteratorStats, StageStats
from headrace.observe.watch import WATCH
from headrace.physical import lock_watch

LIMIT_S = 60.0
VALUES = np.random.default_rng(0).random(100_000)


def python_alone(x: int) -> int:
    return x + sum(1 for _ in range(20_000)) - 20_000


def in_numpy(x: int) -> int:
    np.sort(VALUES)
    return x


def asleep(x: int) -> int:
    threading.Event().wait(0.002)
    return x


def map_of(stats: IteratorStats) -> StageStats:
    found: list[StageStats] = [stage for stage in stats.stages if stage.name.startswith("map")]
    return found[0]


def seen(dataset: hr.Dataset) -> IteratorStats:
    """Reads until something can be said of its map."""
    with iter(dataset) as iterator:
        end_s = time.monotonic() + LIMIT_S
        next(iterator)
        while map_of(iterator.stats()).gil_share is None:
            assert time.monotonic() < end_s
            for _ in range(20):
                next(iterator)
        return iterator.stats()


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    if not lock_probe.can_probe():
        pytest.skip("this system, or this Python, does not tell who holds the lock")
    cores = max(2, machine.current_share().cores)
    monkeypatch.setattr(lock_watch, "current_share", lambda: machine.Share(cores, 1 << 30))


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("calls", [None, 2, hr.AUTOTUNE])
def test_a_function_that_is_python_alone_is_told_that_processes_pay(calls: int | None) -> None:
    dataset = hr.Dataset.counter().map(python_alone, num_parallel_calls=calls)
    stats = seen(dataset)
    stage = map_of(stats)
    assert stage.gil_share is not None
    assert stage.gil_share > 0.5
    assert stage.process_speedup is not None
    assert stage.process_speedup > 1.2
    assert stage.advice is not None
    assert "map 'python_alone' (test_lock_probe.py:" in stage.advice
    assert f'num_parallel_calls={stage.processes}, executor="process"' in stage.advice
    assert stage.advice in str(stats)
    assert stage.advice in dataset.explain(stats)
    assert stats.to_dict()["stages"][1]["gil_share"] == stage.gil_share


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("function", [in_numpy, asleep])
def test_a_function_that_leaves_the_lock_is_told_nothing(function: Callable[[int], int]) -> None:
    stage = map_of(seen(hr.Dataset.counter().map(function, num_parallel_calls=2)))
    assert stage.gil_share is not None
    assert stage.gil_share < 0.5
    assert stage.advice is None or stage.gil_share >= 0.3


@pytest.mark.usefixtures("two_cores")
def test_a_pipeline_beside_the_trainer_is_looked_at_there() -> None:
    dataset = hr.Dataset.counter().map(python_alone).with_options(hr.Options(executor="subprocess"))
    share = map_of(seen(dataset)).gil_share
    assert share is not None
    assert share > 0.5


@pytest.mark.usefixtures("two_cores")
def test_no_run_is_looked_at_any_more_when_it_is_closed() -> None:
    probe, iterator = lock_probe.PROBE, iter(hr.Dataset.counter().map(asleep))
    next(iterator)
    assert probe.is_looking
    iterator.close()
    assert not probe.is_looking


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(hr.Dataset.range(9).batch(2), id="no function"),
        pytest.param(hr.Dataset.range(9).map(asleep).with_options(hr.Options(executor="inline")), id="inline"),
        pytest.param(hr.Dataset.range(9).map(hr.vectorized(np.sqrt)), id="vectorized"),
        pytest.param(hr.Dataset.range(9).map(abs, num_parallel_calls=2, executor="process"), id="in processes"),
    ],
)
@pytest.mark.usefixtures("two_cores")
def test_what_processes_cannot_make_faster_is_not_looked_at(dataset: hr.Dataset) -> None:
    with iter(dataset) as iterator:
        next(iterator)
        assert not lock_probe.PROBE.is_looking


@pytest.mark.usefixtures("two_cores")
def test_without_a_lock_or_another_core_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with iter(hr.Dataset.range(9).map(abs)) as iterator:
        next(iterator)
        assert not lock_probe.PROBE.is_looking
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    monkeypatch.setattr(lock_watch, "current_share", lambda: machine.Share(1, 1 << 30))
    with iter(hr.Dataset.range(9).map(abs)) as iterator:
        next(iterator)
        assert not lock_probe.PROBE.is_looking


# ------------------------------------------------------------------------- single moments


class System:
    """What a system tells of threads, as a test says."""

    def __init__(self) -> None:
        self.waited = 0
        self.spent: dict[int, float] = {}
        self.going_on: set[int] = set()
        self.places: dict[int, bytes] = {}

    def waits(self) -> int:
        return self.waited

    def spent_s(self, number: int) -> float:
        return self.spent.get(number, 0.0)

    def keep_lock(self) -> None:
        for number in self.going_on:
            self.spent[number] += 1.0

    def place(self, number: int) -> bytes:
        return self.places.get(number, b"")


class Parked:
    """A thread inside an operation of a run."""

    def __init__(self, run: Run, name: str) -> None:
        self._inside = threading.Event()
        self.go = threading.Event()
        self.thread = threading.Thread(target=run.pull, args=(self.inside, name), daemon=True)
        self.thread.start()
        assert self._inside.wait(LIMIT_S)

    @property
    def number(self) -> int:
        assert self.thread.native_id is not None
        return self.thread.native_id

    @holds(lambda at, _: (at["name"], None))
    def inside(self, name: str) -> None:
        self._inside.set()
        assert self.go.wait(LIMIT_S)


class Run:
    @begins
    def pull(self, inside: Callable[[str], None], name: str) -> None:
        inside(name)


class Scene:
    """A run with threads in operations ``a`` and ``b``, and a probe that looks when it is told."""

    def __init__(self, *names: str) -> None:
        self.clock, self.system, run = HandClock(), System(), Run()
        self.parked = [Parked(run, name) for name in names]
        self.use = RunLockUse(run, lambda: [one.thread.ident or 0 for one in self.parked], {"a": 2}, parts={}, cores=2)
        self.probe = LockProbe(clock=self.clock, kernel=lambda: self.system)
        self.probe.begin(self.use)
        self.look(waits=0)

    def look(self, *, waits: int, moments: int = 1) -> None:
        self.clock.move(max(0.0, self.probe.due_s() - self.clock.now_s()) + (moments - 1) * 0.025 + 1e-6)
        self.system.waited += waits
        self.probe.look()

    def worked(self, index: int, seconds: float) -> None:
        number = self.parked[index].number
        self.system.spent[number] = self.system.spent.get(number, 0.0) + seconds

    def seen(self, name: str) -> tuple[float, float, float, float]:
        use = self.use.of(name)
        return use.moments, use.held, use.released, use.blocked


@pytest.fixture
def scene() -> Iterator[Callable[..., Scene]]:
    made: list[Scene] = []

    def make(*names: str) -> Scene:
        made.append(Scene(*names))
        return made[-1]

    yield make
    for one in itertools.chain.from_iterable(scene.parked for scene in made):
        one.go.set()
        one.thread.join(LIMIT_S)
        assert not one.thread.is_alive()
    WATCH.end()


def test_who_worked_and_does_not_go_on_without_the_lock_had_it(scene: Any) -> None:
    at = scene("a", "b")
    at.worked(0, 0.02)
    at.worked(1, 0.02)
    at.system.going_on = {at.parked[1].number}
    at.look(waits=2)
    assert at.seen("a") == (1, 1.0, 0, 0)
    assert at.seen("b") == (1, 0.0, 1.0, 0)


def test_several_that_may_have_had_it_have_parts_as_they_worked(scene: Any) -> None:
    at = scene("a", "b")
    at.worked(0, 0.03)
    at.worked(1, 0.01)
    at.look(waits=2)
    assert at.seen("a") == (1, pytest.approx(0.75), 0, 0)
    assert at.seen("b") == (1, pytest.approx(0.25), 0, 0)


def test_who_sleeps_is_blocked_and_who_waits_for_the_lock_is_not(scene: Any) -> None:
    at = scene("a", "b")
    at.system.places = {at.parked[0].number: b"hrtimer_nanosleep", at.parked[1].number: b"futex_wait_queue"}
    at.worked(1, 0.01)
    at.look(waits=2)
    assert at.seen("a") == (1, 0, 0, 1.0)
    assert at.seen("b") == (1, 1.0, 0, 0)
    at.look(waits=1)  # nobody has the lock, so that it waits for something else
    assert at.seen("b") == (2, 1.0, 0, 1.0)


def test_moments_that_pass_while_the_lock_is_waited_for_count(scene: Any) -> None:
    at = scene("a")
    at.worked(0, 0.02)
    at.look(waits=2, moments=4)
    assert at.seen("a") == (4, 4.0, 0, 0)


def test_too_few_moments_say_nothing() -> None:
    use = RunLockUse(None, list, {"map": 2}, parts={}, cores=2)
    stage = StageStats("map", 1, 0.0, 0.0, 0)
    use.of("map").moments = use.of("map").held = 24
    assert use.told([stage])[0].gil_share is None
    use.of("map").moments = use.of("map").held = 25
    assert use.told([stage])[0].gil_share == 1.0


@pytest.mark.parametrize(
    ("use", "processes", "cores", "speedup"),
    [
        pytest.param(LockUse(moments=100, held=100), 2, 2, 1.86, id="two threads, one lock"),
        pytest.param(LockUse(moments=100, held=93, released=7), 4, 4, 3.72, id="four"),
        pytest.param(LockUse(moments=100, held=100), 8, 4, 3.72, id="more processes than cores"),
        pytest.param(LockUse(moments=100, held=50, blocked=50), 2, 2, 1.86, id="one thread that sleeps half of it"),
        pytest.param(LockUse(moments=100, held=100, blocked=100), 2, 2, 0.93, id="two that sleep by turns"),
        pytest.param(LockUse(moments=100, released=200), 2, 2, 0.93, id="without the lock"),
    ],
)
def test_processes_do_what_they_and_the_cores_can_do_beside_what_threads_did(
    use: LockUse, processes: int, cores: int, speedup: float
) -> None:
    assert use.speedup(processes, cores) == pytest.approx(speedup)


def test_a_stage_of_several_functions_is_all_of_them() -> None:
    use = RunLockUse(None, list, {"a + b": 2}, parts={"a + b": ["a", "b"]}, cores=2)
    use.of("a").moments = use.of("b").moments = 50
    use.of("a").held, use.of("b").released = 30, 20
    (told,) = use.told([StageStats("a + b", 1, 0.0, 0.0, 0)])
    assert told.gil_share == pytest.approx(0.6)


def test_what_short_epochs_show_adds_up_and_older_ones_count_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_watch, "can_probe", lambda: True)
    monkeypatch.setattr(lock_watch, "current_share", lambda: machine.Share(4, 1 << 30))

    def epoch_of(dataset: hr.Dataset) -> RunLockUse:
        use = lock_watch.lock_use_of(None, dataset.__headrace_plan__(), hr.Options(), list)
        assert use is not None
        return use

    ds = hr.Dataset.range(3).map(python_alone)
    name = ds.__headrace_plan__().label
    for seen_in_all in (10, 20, 30):
        epoch = epoch_of(ds)
        epoch.of(name).moments += 10
        epoch.of(name).held += 10
        (told,) = epoch.told([StageStats(name, 1, 0.0, 0.0, 0)])
        assert told.gil_share == (1.0 if seen_in_all == 30 else None)
    long = epoch_of(ds).of(name)
    long.moments += 600
    long.released += 600
    after = epoch_of(ds).of(name)
    assert (after.moments, after.held) == pytest.approx((60, 60 * 30 / 630))
    others = (ds.map(in_numpy), ds.map(python_alone), hr.Dataset.range(3).map(python_alone))
    assert [epoch_of(other).of(name).moments for other in others] == [0, 0, 0]


def test_it_looks_more_often_while_somebody_wants_to_know(scene: Any) -> None:
    def gap_s(at: Scene) -> float:
        at.look(waits=1)
        return at.probe.due_s() - at.clock.now_s()

    at = scene("a")
    usual_s = gap_s(at)
    with at.probe.closely():
        assert gap_s(at) < 0.8 * usual_s
    assert gap_s(at) > 0.5 * usual_s


def at_work(name: str, share: float) -> StageStats:
    return StageStats(name, 1, 0.0, 0.0, 0, parallelism=share)


def test_who_never_lets_go_of_the_lock_holds_it_though_it_is_seen_where_others_let_go() -> None:
    use = RunLockUse(None, list, {"parse": 2}, parts={"parse": ["parse"]}, cores=2, elsewhere={"sent"})
    use.of("sorted").moments = use.of("sorted").held = 140
    use.of("parse").moments = use.of("parse").held = 10
    stages = [at_work("sorted", 0.07), at_work("parse", 0.9), at_work("sent", 2.0)]
    told = {stage.name: stage for stage in use.told(stages)}
    assert told["parse"].gil_share == 1.0
    assert told["parse"].process_speedup is not None
    assert told["sent"].gil_share is None


def test_what_is_seen_as_often_as_it_works_stays_where_it_was_seen() -> None:
    use = RunLockUse(None, list, {"decode": 2}, parts={}, cores=2)
    use.of("decode").moments = use.of("decode").released = 45
    use.of("parse").moments = use.of("parse").held = 55
    told = {stage.name: stage.gil_share for stage in use.told([at_work("decode", 0.5), at_work("parse", 0.5)])}
    assert told == {"decode": 0.0, "parse": 1.0}


def test_runs_that_are_shorter_than_it_takes_to_look_twice_are_seen_together_while_somebody_wants_to_know(
    scene: Any,
) -> None:
    at = scene("a")

    def epochs(count: int) -> None:
        for _ in range(count):
            at.probe.end(at.use)
            at.probe.begin(at.use)
            at.worked(0, 0.02)
            at.look(waits=2)

    epochs(3)
    assert at.seen("a") == (0, 0, 0, 0)
    with at.probe.closely():
        epochs(3)
        assert at.seen("a") == (2, 2.0, 0, 0)
    epochs(3)
    assert at.seen("a") == (2, 2.0, 0, 0)
