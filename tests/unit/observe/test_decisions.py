"""What a run decided: noted with its reason, bounded, printed, and told as plain data."""

from __future__ import annotations

import itertools
import json

from tests.laws.running import Alternating, Restless, Way, running

import headrace as hr
from headrace.observe.decisions import Decision, Decisions, decision_lines
from headrace.observe.stats import IteratorStats

FIRST, LATEST = 32, 96


def test_the_first_decisions_and_the_latest_are_kept() -> None:
    decisions = Decisions()
    for number in range(1_000):
        decisions.note("map 'f'", "workers", number, number + 1, "why")
    assert [one.before for one in decisions.all()] == [*range(FIRST), *range(1_000 - LATEST, 1_000)]
    times = [one.at_s for one in decisions.all()]
    assert times == sorted(times)


def test_a_decision_says_when_what_changed_and_why() -> None:
    one = Decision("map 'f'", 1.25, "workers", 2, 32, "elements wait 98 % of their time")
    assert str(one) == "1.250 s  map 'f': workers 2 → 32: elements wait 98 % of their time"
    stats = IteratorStats(1, 0.0, 1.0, (), decisions=(one,) * 9)
    assert str(stats).splitlines()[-7:] == ["decided, after 3 before:", *[f"  {one}"] * 6]
    assert "2 → 32" in stats._repr_html_()
    assert json.loads(json.dumps(stats.to_dict()))["decisions"][0]["after"] == 32
    assert decision_lines(()) == []


def test_a_run_notes_what_its_tuners_decide_about_each_operation() -> None:
    numbers = hr.Dataset.range(200).map(lambda x: x + 1, num_parallel_calls=hr.AUTOTUNE)
    dataset = numbers.batch(2, num_parallel_calls=hr.AUTOTUNE).prefetch(2)
    way = Way(hr.Options(num_workers=2), block_sizes=(3,), overlap=Alternating, concurrency=Restless)
    with running(dataset, way) as iterator:
        list(iterator)
        stats = iterator.stats()
    of_stages: dict[str, list[Decision]] = {}
    for one in stats.decisions:
        of_stages.setdefault(f"{one.stage.split()[0]} {one.what}", []).append(one)
    assert set(of_stages) == {"map workers", "batch workers", "prefetch threads"}
    for decided in of_stages.values():
        assert decided[0].before == 0
        changes = [(one.before, one.after) for one in decided[:10]]
        assert all(after == before for (_, after), (before, _) in itertools.pairwise(changes))
    assert str(stats.decisions[-1]) in str(stats)
    assert "decided" in dataset.explain(stats)


def test_what_is_quicker_where_it_is_decides_nothing() -> None:
    with iter(hr.Dataset.range(1_000).map(lambda x: x + 1).batch(10)) as iterator:
        list(iterator)
        assert iterator.stats().decisions == ()


def test_workers_that_were_asked_for_are_no_decision_and_that_they_are_not_used_is_one() -> None:
    dataset = hr.Dataset.range(200).map(lambda x: x + 1, num_parallel_calls=3).batch(2, num_parallel_calls=3)
    with iter(dataset) as iterator:
        list(iterator)
        assert not [one for one in iterator.stats().decisions if one.what == "workers"]
    with running(dataset, Way(hr.Options(), block_sizes=(3,), concurrency=Restless)) as iterator:
        list(iterator)
        decided = [one for one in iterator.stats().decisions if one.what == "workers"]
    first = {one.stage.split()[0]: (one.before, one.after) for one in reversed(decided)}
    assert first == {"map": (3, 0), "batch": (3, 0)}
