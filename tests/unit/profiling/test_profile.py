"""``ds.profile``: what comes back, whatever the machine's speed."""

from __future__ import annotations

import dataclasses
import json
import time

import numpy as np
import pytest

import headrace as hr
from headrace.analysis.changes import Change, Way
from headrace.analysis.figures import MachineFigures, PipelineFigures
from headrace.plan.node import nodes_of
from headrace.profiling import profile as profile_module
from headrace.profiling.applying import applied
from headrace.profiling.phases import Phase
from headrace.profiling.profile import Advice

CAUSES = {
    "source", "map", "gil", "parallelism", "buffer", "burst", "straggler", "memory_budget", "consumer", "trainer_slowed",
}  # fmt: skip
NOTHING = PipelineFigures(stages=(), machine=MachineFigures(cores=1))


def doubled(x: int) -> int:
    return x * 2


PIPELINE = hr.Dataset.range(1000).map(doubled).batch(8)


@pytest.mark.parametrize("executor", ["thread", "inline", "subprocess", "process"])
def test_a_profile_has_a_verdict_and_figures_that_json_can_hold(executor: str) -> None:
    taken: list[np.ndarray] = []
    profile = PIPELINE.with_options(hr.Options(executor=executor)).profile(taken.append, seconds=0.05)
    assert profile.verdict.cause in CAUSES
    assert 0 <= profile.verdict.waiting_share <= 1
    assert str(profile).startswith(profile.verdict.text)
    assert json.loads(json.dumps(profile.to_dict()))["verdict"]["cause"] == profile.verdict.cause
    assert len(taken) >= 4
    assert all(batch.shape == (8,) for batch in taken)


def test_a_pipeline_alone_has_no_figures_of_steps() -> None:
    profile = PIPELINE.profile(seconds=0.05)
    assert profile.step_s is None
    assert profile.steps_per_s == profile.pipeline_per_s > 0


def test_advice_is_a_dataset_with_the_same_elements() -> None:
    def slow(x: int) -> int:
        # Rather than compute: a machine whose cores are taken is promised nothing for more calls of that.
        time.sleep(0.002)
        return x

    profile = hr.Dataset.range(2000).map(slow).batch(8).profile(lambda _: None, seconds=0.2)
    assert profile.advice
    for advice in profile.advice:
        assert advice.expected_speedup >= 1.05
        batches = advice.applied().take(3)
        assert [batch.tolist() for batch in batches] == [[*range(n, n + 8)] for n in (0, 8, 16)]


@pytest.mark.parametrize(
    ("way", "shown"),
    [
        (Way.CALLS, "num_parallel_calls=3"),
        (Way.PROCESSES, "executor=process"),
        (Way.CACHE, "cache"),
        (Way.PREFETCH, "prefetch"),
        (Way.SUBPROCESS, "executor=subprocess"),
    ],
)
def test_a_change_changes_its_operation_alone(way: Way, shown: str) -> None:
    plan = hr.Dataset.range(8).map(doubled).map(doubled).batch(2).__headrace_plan__()
    second = [*nodes_of(plan)][2]
    is_of_all = way in (Way.PREFETCH, Way.SUBPROCESS)
    change = Change(way, None if is_of_all else 2, 3, 1.0, NOTHING)
    with_it = applied(plan, change, None if is_of_all else second)
    assert with_it is not None
    changed = hr.Dataset(with_it)
    written, *_ = changed.explain().split("\n\n")
    assert written.count(shown) == 1
    assert [batch.tolist() for batch in changed] == [[0, 4], [8, 12], [16, 20], [24, 28]]


def test_nothing_to_profile_is_an_error() -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match="the dataset is empty"):
        hr.Dataset.range(0).profile()
    with pytest.raises(hr.errors.InvalidArgumentError, match="must be positive"):
        PIPELINE.profile(seconds=0)
    with pytest.raises(hr.errors.InvalidArgumentError, match="not inf"):
        PIPELINE.profile(seconds=float("inf"))
    with pytest.raises(TypeError, match="seconds must be a number, not str"):
        PIPELINE.profile(seconds="3")  # type: ignore[arg-type]
    with pytest.raises(hr.errors.InvalidArgumentError, match="callable"):
        PIPELINE.profile(3)  # type: ignore[arg-type]


def test_a_change_that_fails_is_one_that_did_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(x: int) -> int:
        return sum(range(20_000)) * 0 + x

    def fails(_: object) -> int:
        raise ValueError("not there")

    failing = hr.Dataset.range(8).map(fails)
    monkeypatch.setattr(Advice, "applied", lambda _: failing)
    ds = hr.Dataset.range(200).map(slow).batch(8)
    profile = ds.profile(seconds=0.2, apply=True)
    assert profile.tried
    assert all(one.measured_speedup == 0 and "it failed: map 'fails'" in one.text for one in profile.tried)
    assert profile.dataset.explain() == ds.explain()


def test_a_process_beside_the_trainer_shares_neither_its_thread_nor_its_lock() -> None:
    profile = PIPELINE.with_options(hr.Options(executor="subprocess")).profile(lambda _: None, seconds=0.1)
    assert not any("subprocess" in one.text or "prefetch" in one.text for one in profile.advice)


def test_a_dealt_plan_is_profiled_as_its_rank_runs_it() -> None:
    ds = hr.Dataset.range(2000).map(doubled).shuffle(50, seed=1).distributed_batch(16, num_streams=4)
    profile = ds.with_options(hr.Options(rank=1, world_size=2)).profile(lambda _: None, seconds=0.1)
    assert profile.verdict.cause in CAUSES


def test_an_error_of_a_step_is_its_own() -> None:
    def fails(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        PIPELINE.profile(fails, seconds=0.05)


def test_what_brought_nothing_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    advice = tuple(Advice(f"{words}: about 2.0× as many steps", 2.0, lambda: PIPELINE) for words in ("this", "that"))
    found = PIPELINE.profile(seconds=0.05)
    phases = (Phase(1, 1 / (rate * found.steps_per_s), (0.0,), (0.0,)) for rate in (0.5, 2.0, 2.0))
    monkeypatch.setattr(profile_module, "profiled", lambda *_: dataclasses.replace(found, advice=advice))
    monkeypatch.setattr(profile_module, "beside", lambda *_, **__: next(phases))
    tried = PIPELINE.profile(seconds=0.05, apply=True).tried
    told = [(one.text.partition(":")[0], one.helped) for one in tried]
    assert told == [("this", False), ("that", True), ("that", True)]


def test_what_helped_is_kept_and_what_did_not_is_not() -> None:
    def slow(x: int) -> int:
        return sum(range(20_000)) * 0 + x

    ds = hr.Dataset.range(200).map(slow).batch(8)
    profile = ds.profile(seconds=0.2, apply=True)
    assert 1 <= len(profile.tried) <= 3
    # A busy machine may not fill a cache in so short a time.
    assert all(one.measured_speedup is not None or "not tried" in one.text for one in profile.tried)
    written, *_ = profile.dataset.explain().split("\n\n")
    before, *_ = ds.explain().split("\n\n")
    assert (written != before) == any(one.helped for one in profile.tried)
    assert [batch.tolist() for batch in profile.dataset.take(2)] == [[*range(8)], [*range(8, 16)]]
    assert "measured" in str(profile) or "not tried" in str(profile)
    assert json.dumps(profile.to_dict())


def test_what_was_tried_is_printed_with_what_it_brought_and_whether_it_is_kept() -> None:
    profile = hr.Dataset.range(100).batch(10).profile(seconds=0.1)
    advice = Advice("a: about 2.0× as many steps", 2.0, lambda: None)
    assert "  1. a: about 2.0× as many steps\n" in str(dataclasses.replace(profile, advice=(advice,)))
    brought = tuple(dataclasses.replace(advice, measured_speedup=speedup) for speedup in (2.0, 0.9, 1.5, 0.0))
    told = str(dataclasses.replace(profile, tried=brought)).splitlines()
    assert told[2:7] == [
        "  1. a: about 2.0× as many steps; measured 2.00×, kept",
        "  2. a: about 2.0× as many steps; measured 0.90×, not kept",
        "  3. a: about 2.0× as many steps; measured 1.50×, kept",
        "  4. a: about 2.0× as many steps",
        "  together 3.00×: profile.dataset has it",
    ]
    assert "  none of it helped\n" in str(dataclasses.replace(profile, tried=brought[1:2]))


def test_a_cache_is_tried_once_it_is_filled_and_kept_where_it_helps() -> None:
    calls: list[int] = []

    def slow(x: int) -> int:
        calls.append(1)
        time.sleep(0.002)
        return x

    profile = hr.Dataset.range(40).map(slow).batch(8).profile(seconds=0.3, apply=True)
    cached = [one for one in profile.tried if one.text.startswith(".cache()")]
    assert cached
    assert cached[0].helped
    before = len(calls)
    assert [len(batch) for _ in range(3) for batch in profile.dataset] == [8] * 15
    # Of a cache that was filled in the trial, or is in the first of these epochs.
    assert len(calls) in (before, before + 40)


def test_a_cache_that_takes_longer_to_fill_than_a_profile_is_not_tried_and_that_is_said() -> None:
    def slow(x: int) -> int:
        time.sleep(0.002)
        return x

    profile = hr.Dataset.range(10**6).map(slow, num_parallel_calls=64).batch(8).profile(seconds=0.2, apply=True)
    (cached,) = [one for one in profile.tried if one.text.startswith(".cache()")]
    assert cached.measured_speedup is None
    assert not cached.helped
    assert cached.text.endswith("; not tried, as the epoch that fills it takes more than 200 ms")
    assert "measured" not in str(cached)


@pytest.mark.parametrize("executor", ["thread", "inline", "subprocess"])
def test_a_profile_says_nothing_of_the_epochs_that_it_leaves_itself(
    caplog: pytest.LogCaptureFixture, executor: str
) -> None:
    ds = hr.Dataset.range(1000).cache().batch(8).with_options(hr.Options(executor=executor))
    ds.take(3).profile(seconds=0.1)
    assert not caplog.records  # what other processes say comes here, too


def test_of_a_cache_that_keeps_nothing_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    cached, other = (hr.Dataset.range(100).cache() for _ in range(2))
    for ds in (cached, cached, other):
        assert [int(x) for x in ds.take(2)] == [0, 1]
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert all(one.startswith("cache: an epoch was left after") for one in told)


def test_where_nothing_is_worth_promising_that_is_said() -> None:
    profile = dataclasses.replace(PIPELINE.profile(seconds=0.05), advice=(), tried=())
    waits = dataclasses.replace(profile.verdict, cause="map")
    assert "no word in this plan" in str(dataclasses.replace(profile, verdict=waits))
    consumer = dataclasses.replace(profile.verdict, cause="consumer")
    assert "no word in this plan" not in str(dataclasses.replace(profile, verdict=consumer))
