"""``explain`` with figures: what each line of a plan did, where the time goes, and which rule changed what."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.durations import Times
from headrace.observe.stats import IteratorStats, StageStats
from headrace.observe.steps import StepStats


def decode(x: int) -> int:
    return x


def augment(x: int) -> int:
    return x


def stage(name: str, elements: int, *, each_s: float, calls: int = 1) -> StageStats:
    """The figures of a stage that made so many elements in ten seconds."""
    return StageStats(
        name,
        elements,
        elements * each_s,
        0.0,
        0,
        window_s=10.0,
        elements_per_s=elements / 10,
        service=Times(elements, elements * each_s, each_s, each_s, each_s, each_s),
        parallelism=elements * each_s / 10,
        max_parallelism=calls,
        cpu_share=0.5,
    )


def made_up(waited_s: float = 9.0) -> IteratorStats:
    stages = (
        stage("range", 1000, each_s=1e-6),
        stage(
            f"map 'decode' (test_explained_figures.py:{decode.__code__.co_firstlineno})", 1000, each_s=0.016, calls=2
        ),
        stage("batch", 100, each_s=1e-4),
        stage("prefetch", 100, each_s=1e-6),
    )
    step = StepStats(10.0, Times(100, waited_s, 0, 0, 0, 0), Times(), Times(100, 10 - waited_s, 0, 0, 0, 0), 10.0)
    return IteratorStats(100, waited_s, 10.0, stages, step=step)


PLAN = hr.Dataset.range(1000).map(decode, num_parallel_calls=2).batch(10).prefetch(1)


def test_each_line_of_the_plan_that_ran_has_its_figures_and_the_bottleneck_is_marked() -> None:
    lines = PLAN.explain(made_up()).splitlines()
    (marked,) = [line for line in lines if line.endswith("← bottleneck")]
    assert "map 'decode' (test_explained_figures.py:" in marked
    assert "16.0 ms" in marked
    assert "1.60 of 2" in marked
    (batch,) = [line for line in lines if line.strip().startswith("batch") and "100 µs" in line]
    assert batch.startswith("  batch [batch_size=10")
    assert "its 2 calls at once allow about 12.5 elements a second at the end of the plan" in lines[-1]


def test_where_the_caller_is_slower_nothing_is_marked() -> None:
    text = PLAN.explain(made_up(waited_s=0.2))
    assert "← bottleneck" not in text
    assert text.endswith("the caller waits 2% of its time: nothing here holds it up")


def test_rules_say_what_they_changed() -> None:
    dataset = hr.Dataset.range(9).map(decode, num_parallel_calls=2).map(augment, num_parallel_calls=2).shuffle(4)
    rules = dataset.explain(analyze=True).partition("\n\nrules\n")[2].partition("\n\nruns as\n")[0].splitlines()
    names = [line.partition(":")[0] for line in rules]
    assert names == ["shuffle_before_map", "fuse_parallel_maps", "add_final_prefetch"]
    assert rules[1].count("map 'decode'") == rules[1].count("map 'augment'") == 2
    assert rules[2] == "add_final_prefetch: adds prefetch"


def test_to_analyze_runs_an_epoch_that_does_not_count() -> None:
    dataset = hr.Dataset.range(1000).shuffle(1000, seed=3).map(decode).batch(10)
    before = [batch.tolist() for batch in dataset]
    again = hr.Dataset.range(1000).shuffle(1000, seed=3).map(decode).batch(10)
    text = again.explain(analyze=True)
    assert [batch.tolist() for batch in again] == before
    assert any(line.strip().startswith("range") and "  1,000  " in line for line in text.splitlines())


def test_figures_of_another_dataset_are_refused() -> None:
    other = hr.Dataset.range(5).map(augment)
    with iter(other) as iterator:
        next(iterator)
        stats = iterator.stats()
    assert "augment" in other.explain(stats)
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"another dataset, which ran as range, map 'augment'"):
        hr.Dataset.range(5).map(decode).explain(stats)
    with pytest.raises(hr.errors.InvalidArgumentError, match="not str"):
        other.explain("stats")  # type: ignore[arg-type]


def test_what_functions_made_is_told_below_the_plan() -> None:
    dataset = hr.Dataset.range(3).flat_map(lambda x: hr.Dataset.range(x).map(augment))
    inner = dataset.explain(analyze=True).partition("in the datasets that functions made")[2]
    assert "map 'augment'" in inner


def test_every_executor_has_figures() -> None:
    for executor in ("inline", "thread", "subprocess"):
        dataset = PLAN.with_options(hr.Options(executor=executor))
        assert "1,000" in dataset.explain(analyze=True).partition("map 'decode'")[2]
