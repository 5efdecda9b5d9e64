"""Figures as tables, in terminals of any width and in notebooks."""

from __future__ import annotations

import io
import json
import sys
import textwrap

import pytest

import headrace as hr
from headrace.durations import Times
from headrace.observe import stats as shown
from headrace.observe.stats import Drawn, IteratorStats, StageStats
from headrace.observe.tables import Table, cut, data_size, duration, quantity, screen_width

STAGES = (
    StageStats(
        "sample_from_datasets",
        1_500,
        0.5,
        0.0,
        0,
        (Drawn("range", 900, 0.6), Drawn("<b>", 600, 0.4)),
        elements_per_s=750.0,
        service=Times(1_500, 0.5, 340e-6, 340e-6, 360e-6, 1.5e-3),
        parallelism=0.25,
    ),
    StageStats(
        "map 'decode_and_resize' (train.py:41)",
        1_499,
        12.25,
        1.0,
        16,
        failed=1,
        elements_per_s=749.5,
        service=Times(1_500, 12.25, 8.17e-3, 9e-3, 12.3e-3, 0.25),
        parallelism=1.875,
        max_parallelism=2,
        wait_share=0.5,
        input_wait_share=0.125,
        cpu_share=0.875,
    ),
)
STATS = IteratorStats(1_400, 0.5, 2.0, STAGES, workers=2, ram_budget_bytes=3_000_000_000)


def printed(width: int, monkeypatch: pytest.MonkeyPatch, stats: IteratorStats = STATS) -> str:
    """What ``print`` shows in a terminal so wide."""
    monkeypatch.setattr(shown, "screen_width", lambda: width)
    text = str(stats)
    assert max(map(len, text.splitlines())) <= width
    return text


def test_statistics_are_printed_as_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = """\
        1,400 elements in 2.000 s
        the caller waited 0.500 s (25%)
        2 workers, 0 bytes held of at most 3 GB

        stage                                  elements  per_s      p50      p99    at_work  cpu  input  wait  buffered  failed
        sample_from_datasets                      1,500    750   340 µs   360 µs  0.25 of 1          0%    0%         0       0
          60.0% range                               900
          40.0% <b>                                 600
        map 'decode_and_resize' (train.py:41)     1,499    750  8.17 ms  12.3 ms  1.88 of 2  88%    12%   50%        16       1"""
    assert printed(120, monkeypatch) == textwrap.dedent(wide)


def test_a_name_is_cut_before_a_figure_is(monkeypatch: pytest.MonkeyPatch) -> None:
    row = printed(112, monkeypatch).splitlines()[-1]
    assert row.startswith("map 'decode_and_resize' (trai…     1,499  ")
    assert row.endswith("  16       1")


def test_in_a_narrow_terminal_names_stand_above_their_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = """\
        stage
          elements  per_s  p50  p99    at_work  cpu  input
        map 'decode_and_resize' (train.py:41)
             1,499      0            0.00 of 1          0%"""
    stage = StageStats(STAGES[1].name, 1_499, 12.25, 0.0, 0)
    stats = IteratorStats(1, 0.5, 2.0, (stage,), workers=1, ram_budget_bytes=1)
    assert printed(60, monkeypatch, stats).partition("\n\n")[2] == textwrap.dedent(narrow)


def test_times_have_the_unit_that_fits() -> None:
    told = {
        0.0: "0 ns",
        2e-8: "20 ns",
        1e-6: "1.00 µs",
        0.0004567: "457 µs",
        0.0999996: "100 ms",
        1.25: "1.25 s",
        4000.0: "4,000 s",
    }
    assert {value_s: duration(value_s) for value_s in told} == told


def test_bytes_have_the_unit_that_fits() -> None:
    told = {
        0: "0 bytes",
        1: "1 byte",
        999: "999 bytes",
        999.7: "1 kB",
        640_000: "640 kB",
        999_700: "1 MB",
        6_319_000_000: "6.32 GB",
        4e15: "4,000 TB",
    }
    assert {nbytes: data_size(nbytes) for nbytes in told} == told


def test_what_functions_made_stands_below_who_opens_it() -> None:
    def opened(x: int) -> hr.Dataset:
        return hr.Dataset.range(2).flat_map(lambda _: hr.Dataset.range(x).map(str)).map(str)

    dataset = hr.Dataset.range(3).flat_map(opened).batch(1).with_options(hr.Options(optimize=False))
    with iter(dataset) as iterator:
        assert len(list(iterator)) == 6
        stats = iterator.stats()
    table = str(stats).partition("stage")[2].splitlines()[1:]
    shown = [line.split("  ")[0].partition(" (")[0].partition(" '")[0] for line in table if line]
    assert shown[:2] == ["range", "flat_map"]
    assert shown[-1] == "batch"
    assert sorted(shown[2:-1]) == ["· flat_map", "· map", "· range", "· · map", "· · range"]
    assert shown.index("· · map") > shown.index("· flat_map")
    assert {stage["within"] is None for stage in stats.to_dict()["stages"]} == {True, False}


def test_an_operation_within_one_of_its_own_name_is_shown_once() -> None:
    stages = [StageStats("flat_map f", 1, 0.0, 0.0, 0), StageStats("flat_map f", 1, 0.0, 0.0, 0, within="flat_map f")]
    assert shown.with_depth(stages) == [(stages[0], 0), (stages[1], 1)]


def test_figures_that_round_to_another_number_of_digits_are_whole() -> None:
    told = {99.94: "99.9", 99.96: "100", 99.999: "100", 999.6: "1,000", 9.999: "10.0", 0.0: "0"}
    assert {value: quantity(value) for value in told} == told
    told = {999.4: "999 s", 999.6: "1,000 s", 0.9996: "1.00 s", 99.97: "100 s"}
    assert {value_s: duration(value_s) for value_s in told} == told


def test_before_anything_was_asked_for_there_is_no_table() -> None:
    with iter(hr.Dataset.range(3)) as iterator:
        assert str(iterator.stats()).splitlines()[1:] == ["the caller waited 0.000 s (0%)"]
        assert "<table>" not in iterator.stats()._repr_html_()
        next(iterator)
        assert str(iterator.stats()).startswith("1 element in ")
        assert "no workers" in str(iterator.stats())
        assert '<td style="text-align: left">range</td>' in iterator.stats()._repr_html_()


def test_statistics_become_plain_data() -> None:
    figures = STATS.to_dict()
    assert json.loads(json.dumps(figures)) == figures
    assert figures["wait_share"] == 0.25
    assert [stage["name"] for stage in figures["stages"]] == [stage.name for stage in STAGES]
    assert figures["stages"][0]["drawn"][1] == {"name": "<b>", "elements": 600, "share": 0.4}


def test_in_a_notebook_no_name_is_taken_for_markup() -> None:
    page = STATS._repr_html_()
    assert "40.0% &lt;b&gt;" in page
    assert "<b>" not in page
    assert page.count("<tr>") == 5


def test_a_feed_shows_its_steps_and_the_pipeline_that_it_read() -> None:
    torch = pytest.importorskip("torch")
    with iter(hr.Dataset.range(6).batch(2).to_torch()) as feed:
        assert str(feed.stats()).startswith("rank 0: 0 steps in ")
        assert [torch.is_tensor(batch) for batch in feed] == [True] * 3
        stats = feed.stats()
    text = str(stats)
    assert text.startswith("rank 0: 3 steps in ")
    assert "the pipeline that was fed:\n3 elements in" in text
    assert stats._repr_html_().count("<table>") == 2
    figures = stats.to_dict()
    assert json.loads(json.dumps(figures)) == figures
    assert figures["pipeline"]["elements"] == 3


def test_a_name_is_no_command_for_the_terminal() -> None:
    assert Table(("name", "n"), [("red\x1b[31m", "1")]).lines(80)[1] == r"red\x1b[31m  1"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 4, "abc…"),
        ("解码一二", 8, "解码一二"),
        ("解码一二", 6, "解码…"),
        ("e\u0301e\u0301e", 3, "e\u0301e\u0301e"),
    ],
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown


def test_columns_stand_below_each_other_whatever_letters_a_name_has() -> None:
    lines = Table(("name", "n"), [("解码", "1"), ("e\u0301a", "22")]).lines(80)
    assert lines == ["name   n", "解码   1", "e\u0301a    22"]


def test_a_terminal_is_asked_for_its_width_and_a_file_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "57")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert screen_width() == 57
    for stdout in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stdout", stdout)
        assert screen_width() == 120
