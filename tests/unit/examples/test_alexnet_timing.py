"""What examples/alexnet_finetune makes of times: ratios, sentences, a picture. No test waits: the times are given."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from examples.alexnet_finetune import box_plot
from examples.alexnet_finetune.table import print_table
from examples.alexnet_finetune.timing import Comparison, TimedRun


def comparison(*, losses: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())) -> Comparison:
    sequential = TimedRun(way="sequential", steps_s=(0.9, 0.2, 0.2, 0.2, 0.1), waiting=0.75, losses=losses[0])
    parallel = TimedRun(way="parallel", steps_s=(0.3, 0.1, 0.1, 0.1, 0.04), waiting=0.25, losses=losses[1])
    return Comparison(task="training on nothing", batch_size=10, runs=(sequential, parallel))


def printed(found: Comparison) -> str:
    file = io.StringIO()
    print_table(found, Console(file=file, width=80))
    return file.getvalue()


def test_the_ratio_is_that_of_all_steps() -> None:
    assert comparison().ratio == pytest.approx(1.6 / 0.64)


def test_the_table_has_medians_and_what_was_waited() -> None:
    lines = [" ".join(line.split()) for line in printed(comparison()).splitlines()]
    assert "sequential 200 ms 900 ms 31 75% 1.00×" in lines
    assert "parallel 100 ms 300 ms 78 25% 2.50×" in lines


@pytest.mark.parametrize(
    ("losses", "same"), [(((), ()), False), (((1.0, 0.5), (1.0, 0.5)), True), (((1.0, 0.5), (1.0, 0.25)), False)]
)
def test_losses_are_called_identical_only_where_they_are(
    losses: tuple[tuple[float, ...], tuple[float, ...]], same: bool
) -> None:
    assert ("identical losses: both ways gave the very same 2" in printed(comparison(losses=losses))) is same


@pytest.mark.parametrize("suffix", box_plot.SUFFIXES)
def test_the_picture_is_drawn_in_each_form(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    box_plot.draw([comparison(), comparison()], tmp_path / f"box{suffix}")
    assert (tmp_path / f"box{suffix}").stat().st_size > 1000


def test_a_step_far_beyond_the_others_is_told_in_words(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    box_plot.draw([comparison()], tmp_path / "box.svg")
    drawn = (tmp_path / "box.svg").read_text()
    assert ">900 ms<" in drawn
    assert "training on nothing: 2.50 times as fast" in drawn
    box_plot.draw([comparison()], tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == drawn
