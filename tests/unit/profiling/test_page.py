"""The page of a profile: what it says, made of figures that are given."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.page.reading import Reader, check_needs_nothing

import headrace as hr
from headrace.durations import Times
from headrace.observe.stats import IteratorStats, StageStats
from headrace.page.machine import Machine
from headrace.page.stairs import Line, Window, stairs, windowed
from headrace.profiling.foreign import ForeignProfile
from headrace.profiling.page import foreign_page, profile_page
from headrace.profiling.profile import Advice, Profile, Verdict

SLOW = "map 'f<g>' (train.py:41)"
STAGES = tuple(
    StageStats(name, 10, busy_s, 0.0, 0, window_s=1.0, service=Times(count=10))
    for name, busy_s in (("range", 0.01), (SLOW, 0.9), ("batch", 0.0))
)
PROFILE = Profile(
    Verdict("map", SLOW, 0.75, f"Steps wait 75% of the time: {SLOW} takes 90 ms."),
    (Advice("num_parallel_calls=2: about 2.0×", 2.0, list), Advice(".cache(): about 1.1×", 1.1, list)),
    IteratorStats(10, 0.9, 1.0, STAGES),
    steps_per_s=10.0,
    pipeline_per_s=11.0,
    step_s=0.025,
    step_beside_s=0.025,
    waited_s=0.075,
    windows=(Window(0.5, 0.5), Window(1.0, 1.0)),
)
MACHINE = Machine(cpu="a", cores=2, memory_bytes=1, system="b", python="3", versions={"headrace": "0"}, device="CPU")
FOREIGN = ForeignProfile("list", PROFILE.verdict, 10.0, 11.0, 1.0, 2, 5e6, 0.025, 0.025, 0.075, windows=PROFILE.windows)


def headings(read: Reader, page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page)


def test_the_verdict_comes_first_and_then_where_steps_wait() -> None:
    page = profile_page(PROFILE, MACHINE)
    read = check_needs_nothing(page)
    assert read.text.partition("headrace profile ")[2].startswith(PROFILE.verdict.text)
    assert headings(read, page) == [
        "The time of a step",
        "When steps wait",
        "What to change",
        "The stages",
        "The machine",
    ]
    assert "100 ms, 75% waiting" in read.text
    assert "f<g>" not in page


def test_the_stage_that_is_the_cause_is_marked_and_no_other() -> None:
    page = profile_page(PROFILE, MACHINE)
    rows = re.findall(r"<tr.*?</tr>", page.partition("The stages")[2])
    assert [("marked" in row, "the cause" in row) for row in rows] == [
        (False,) * 2,
        (False,) * 2,
        (True,) * 2,
        (False,) * 2,
    ]
    none = replace(PROFILE, verdict=replace(PROFILE.verdict, cause="consumer", stage=None))
    assert "the cause" not in profile_page(none, MACHINE)


def test_the_longest_work_has_the_longest_bar() -> None:
    widths = re.findall(r'class="bar"><i style="width:([\d.]+)%', profile_page(PROFILE, MACHINE))
    assert widths == ["1.1", "100.0", "0.0"]


def test_advice_says_what_it_brought_where_it_was_tried() -> None:
    def told(profile: Profile) -> list[str]:
        return re.findall(r"<li>(.*?)</li>", profile_page(profile, MACHINE).partition("What to change")[2])

    first, second = PROFILE.advice
    tried = replace(first, measured_speedup=1.9), replace(second, measured_speedup=0.9)
    assert told(PROFILE) == [first.text, second.text]
    profile = replace(PROFILE, tried=tried)
    assert told(profile) == [
        f"{first.text}; measured 1.90×, kept",
        f"{second.text}; measured 0.90×, not kept",
    ]
    assert "together 1.90×" in profile_page(profile, MACHINE)
    assert "Nothing that headrace could change" in profile_page(replace(PROFILE, advice=()), MACHINE)


def test_a_pipeline_alone_has_no_picture_of_steps() -> None:
    alone = replace(PROFILE, step_s=None, step_beside_s=None, waited_s=None, windows=())
    page = profile_page(alone, MACHINE)
    assert headings(check_needs_nothing(page), page) == ["What to change", "The stages", "The machine"]


def test_what_is_not_headraces_has_what_was_seen_from_outside() -> None:
    page = foreign_page(FOREIGN, MACHINE)
    told = check_needs_nothing(page)
    assert headings(told, page) == ["The time of a step", "When steps wait", "Seen from outside", "The machine"]
    assert "5 MB/s" in told.text
    assert "Read from disks" not in foreign_page(replace(FOREIGN, read_bytes_per_s=None), MACHINE)


def test_a_notebook_shows_the_verdict_the_advice_and_the_table() -> None:
    shown = PROFILE._repr_html_()
    assert Reader(shown).text.split()[:4] == ["Steps", "wait", "75%", "of"]
    assert shown.count("<li>") == 2
    assert shown.count("<tr>") == 4
    assert "5 MB/s from disks" in Reader(FOREIGN._repr_html_()).text


def test_a_profile_is_saved_whole_in_place_of_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("before")
    PROFILE.save(tmp_path / "report.html")
    FOREIGN.save(str(tmp_path / "foreign.html"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign.html", "report.html"]
    assert PROFILE.verdict.text.split(":")[0] in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("profile", [PROFILE, FOREIGN])
def test_a_folder_that_is_missing_is_an_error_and_is_not_made(tmp_path: Path, profile: Profile) -> None:
    with pytest.raises(hr.errors.FailedPreconditionError, match=r"cannot write .*nowhere/report\.html: No such file"):
        profile.save(tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_real_profile_has_windows_of_its_steps(tmp_path: Path) -> None:
    profile = hr.Dataset.range(1000).batch(8).profile(lambda _: None, seconds=0.05)
    assert 1 <= len(profile.windows) <= 60
    assert all(0 <= window.wait_share <= 1 for window in profile.windows)
    assert [window.ended_s for window in profile.windows] == sorted(window.ended_s for window in profile.windows)
    check_needs_nothing(profile_page(profile, MACHINE))


def test_windows_are_of_equal_numbers_of_steps() -> None:
    windows = windowed([1.0] * 100 + [0.0] * 20, [2.0] * 120, [2.0 * number for number in range(1, 121)])
    assert len(windows) == 60
    assert [window.wait_share for window in windows] == [0.5] * 50 + [0.0] * 10
    assert windows[-1].ended_s == 240


def test_a_picture_has_round_seconds_and_ends_where_its_windows_do() -> None:
    picture = stairs([Line((Window(1.0, 0.0), Window(9.8, 1.0))), Line((Window(4.9, 0.25),))], "seconds")
    assert re.findall(r"left:.*?>(.*?)</span>", picture) == ["0", "2", "4", "6", "8"]
    assert "M0 100.00V100.00H10.20V0.00H100.00" in picture
    assert 'd="M50.00 75.00h0"' in picture
