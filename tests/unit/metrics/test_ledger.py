"""Metrics are of all iterators together: of open ones what they do, of those that have ended what they did, once."""

from __future__ import annotations

import gc
import os
import re
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as hr
from headrace.metrics import ledger
from headrace.metrics.ledger import Ledger
from headrace.metrics.table import METRICS, Kind
from headrace.observe.iterators import ITERATORS, Iterators

ROOT = Path(__file__).parents[3]
EXECUTORS = ["thread", "inline", "process", "subprocess"]


def doubled(x: int) -> int:
    return x * 2


DS = hr.Dataset.range(100).map(doubled).batch(10)
NAME = "range → batch"


@pytest.fixture
def counting() -> Iterator[Ledger]:
    """A ledger that has just begun, in place of any other."""
    before, ITERATORS.told = ITERATORS.told, None
    held = [*ITERATORS.begun]
    ITERATORS.begun.clear()
    told = Ledger()
    told.begin()
    yield told
    ITERATORS.told = before
    for one in held:
        ITERATORS.begins(one)


def figure(told: Ledger, name: str, **labels: str) -> float | None:
    """The one figure of a metric that has these labels."""
    found = [
        value
        for (metric, values), value in told.figures().items()
        if metric.name == name and labels.items() <= dict(zip(metric.labels, values, strict=True)).items()
    ]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("executor", EXECUTORS)
def test_epochs_that_have_ended_are_counted_once_and_whole(counting: Ledger, executor: str) -> None:
    ds = DS.with_options(hr.Options(executor=executor))
    for _ in range(2):
        assert len([*ds]) == 10
    for _ in range(2):  # to look counts nothing
        assert figure(counting, "headrace.elements", pipeline=NAME, rank="0") == 20
        assert figure(counting, "headrace.stage.elements", stage=f"map 'doubled' (test_ledger.py:{LINE})") == 200
        assert figure(counting, "headrace.step.waiting", pipeline=NAME)
    assert figure(counting, "headrace.iterators") is None


LINE = doubled.__code__.co_firstlineno


def test_open_iterators_are_counted_together_and_go_on_to_count(counting: Ledger) -> None:
    first, second = iter(DS), iter(DS)
    next(first), next(second), next(second)
    assert figure(counting, "headrace.elements") == 3
    assert figure(counting, "headrace.iterators") == 2
    first.close()
    next(second)
    assert figure(counting, "headrace.iterators") == 1
    assert figure(counting, "headrace.elements") == 4
    second.close()
    second.close()
    assert figure(counting, "headrace.elements") == 4


def test_a_look_that_tells_late_what_was_before_counts_nothing_twice(counting: Ledger) -> None:
    iterator = iter(DS)
    next(iterator)
    counted, early = counting._counted.setdefault(iterator, {}), counting._figures(iterator)
    list(iterator)
    counting.add((counted, early))
    assert figure(counting, "headrace.elements") == 10


def test_an_iterator_that_goes_on_from_a_state_counts_what_it_gives_from_there(counting: Ledger) -> None:
    iterator = iter(DS)
    next(iterator)
    state = iterator.state_dict()
    next(iterator)
    iterator.load_state_dict(state)
    assert len([*iterator]) == 9
    waited = iterator.stats().wait_s
    assert figure(counting, "headrace.elements") == 2 + 9
    assert figure(counting, "headrace.step.waiting") == pytest.approx(waited)


def test_nobody_who_looks_keeps_an_iterator(counting: Ledger) -> None:
    iterator = iter(DS)
    next(iterator)
    assert figure(counting, "headrace.elements") == 1
    dropped = weakref.ref(iterator)
    del iterator
    gc.collect()
    assert dropped() is None
    assert figure(counting, "headrace.elements") == 1
    assert figure(counting, "headrace.iterators") is None
    assert len(counting._counted) == 0


def test_before_somebody_asks_nothing_is_counted() -> None:
    iterators = Iterators()
    counting = Ledger(iterators)
    iterators.ends(object())
    assert counting.figures() == {}
    assert not counting._fresh


def test_failures_are_counted_by_what_became_of_them(counting: Ledger) -> None:
    def picky(x: int) -> int:
        if x % 10 == 0:
            raise ValueError
        return x

    assert len([*hr.Dataset.range(100).map(picky, on_error="skip")]) == 90
    assert figure(counting, "headrace.stage.failures", outcome="skipped") == 10
    assert figure(counting, "headrace.stage.failures", outcome="raised") == 0


def test_a_feed_tells_what_the_loop_waited_and_not_what_its_reader_did(counting: Ledger) -> None:
    pytest.importorskip("torch")
    fed = iter(DS.to_torch())
    assert len([*fed]) == 10
    assert figure(counting, "headrace.elements") == 10
    assert figure(counting, "headrace.step.waiting") == pytest.approx(fed.stats().wait_s)
    fed.close()
    assert figure(counting, "headrace.step.waiting") == pytest.approx(fed.stats().wait_s)


def test_names_that_come_without_end_are_counted_together(counting: Ledger) -> None:
    counting._pipelines = ledger._Names(2)
    for ds in (DS, DS.take(3), DS.skip(2), DS.repeat(2), DS.take(2)):
        list(ds)
    names = {labels[0] for metric, labels in counting.figures() if metric.name == "headrace.elements"}
    assert names == {NAME, "range → take", "other"}
    assert figure(counting, "headrace.elements", pipeline="other") == 8 + 20


def test_the_rank_is_a_label(counting: Ledger) -> None:
    list(DS.with_options(hr.Options(rank=1, world_size=2)))
    assert figure(counting, "headrace.elements", rank="1") == 10


def test_who_looks_does_not_disturb_who_runs(counting: Ledger) -> None:
    stopped, seen = threading.Event(), list[float]()

    def look() -> None:
        while not stopped.is_set():
            seen.append(figure(counting, "headrace.elements") or 0)

    looking = threading.Thread(target=look)
    looking.start()
    for _ in range(20):
        list(DS)
    stopped.set()
    looking.join(timeout=60)
    assert not looking.is_alive()
    assert figure(counting, "headrace.elements") == 200
    assert seen == sorted(seen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_copy_of_the_process_counts_its_own_alone(counting: Ledger) -> None:
    list(DS)
    iterator = iter(DS)
    next(iterator)
    child = os.fork()
    if not child:
        counting.begin()
        list(hr.Dataset.range(3))
        alone = figure(counting, "headrace.elements") == 3
        os._exit(0 if alone else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert figure(counting, "headrace.elements") == 11
    iterator.close()


def test_an_iterator_that_cannot_be_measured_takes_nothing_from_the_others(
    counting: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = iter(hr.Dataset.range(3)), iter(DS)
    next(broken), next(sound)
    monkeypatch.setattr(broken, "stats", lambda: 1 / 0)
    assert figure(counting, "headrace.elements") == 1
    broken.close()
    sound.close()


def test_names_are_one_metric_each_in_both_notations() -> None:
    for names in ({metric.name for metric in METRICS}, {metric.prometheus_name for metric in METRICS}):
        assert len(names) == len(METRICS)
    assert all(re.fullmatch(r"headrace(\.[a-z_]+)+", metric.name) for metric in METRICS)
    assert all(metric.text.endswith(".") for metric in METRICS)


def test_the_guide_has_every_metric_with_its_unit_and_what_it_is() -> None:
    page = (ROOT / "docs/guide/metrics.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(headrace_\w+)` \| `(headrace\.[\w.]+)` \| (.*?) \| (.*?) \| (.*?) \|$", page, re.MULTILINE
    )
    assert rows == [
        (
            metric.prometheus_name + ("_total" if metric.kind is Kind.COUNTER else ""),
            metric.name,
            metric.unit.strip("{}").replace("}", ""),
            ", ".join(metric.labels),
            metric.text.rstrip("."),
        )
        for metric in METRICS
    ]
