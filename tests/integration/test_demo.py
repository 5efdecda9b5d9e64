"""``headrace demo`` as a person runs it, on a small scale."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.cli import main
from headrace.cli.demo.csv_folder import look_into
from headrace.cli.demo.ways import SAME_LOSSES, WAYS, Job, pipeline

SMALL = ["--files", "4", "--rows", "25", "--features", "16"]
LIMIT_S = 60.0  # far beyond what any of this takes; a hang shall be a failure


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(words: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "headrace", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
    )


def ran(*words: str) -> tuple[int, str, str]:
    with started(words) as process:
        output, errors = process.communicate(timeout=LIMIT_S)
    return process.returncode, output, errors


def result_of(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["demo", "--json", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    read: dict[str, Any] = json.loads(captured.out)
    return read


def test_every_way_takes_the_same_steps_and_the_pipelines_give_the_same_losses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = result_of(capsys, *SMALL, "--no-report")
    assert [way["way"] for way in result["ways"]] == [way.name for way in WAYS]
    # 2 epochs of 100 rows in batches of 23: eight whole ones, and 16 rows.
    assert {(way["steps"], way["last_batch"]) for way in result["ways"]} == {(9, 16)}
    assert result["identical_losses"] == list(SAME_LOSSES)
    assert [way["way"] for way in result["ways"] if way["verdict"]] == list(SAME_LOSSES)


def test_the_job_of_the_documents_ends_after_174_steps_with_a_batch_of_21(capsys: pytest.CaptureFixture[str]) -> None:
    # As many rows, of fewer numbers: the counts do not depend on the width.
    result = result_of(capsys, "--files", "20", "--rows", "100", "--features", "8", "--no-report")
    assert {(way["steps"], way["last_batch"]) for way in result["ways"]} == {(174, 21)}


def test_a_person_sees_progress_a_table_and_where_the_report_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    assert main(["demo", *SMALL]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "made 4 CSV files" in captured.out
    for way in WAYS:
        assert f"{way.name:<11} step 9/9" in captured.out
    assert "identical losses: sequential and parallel gave the very same 9 losses." in captured.out
    assert captured.out.endswith("report: headrace-report.html\n")
    page = (tmp_path / "headrace-report.html").read_text(encoding="utf-8")
    assert "The pipeline" in page
    assert str(tmp_path) not in page


def losses_in_order(result: dict[str, Any]) -> list[list[float]]:
    """The losses of each way whose batches come in one order: two runners of a queue race."""
    return [way["losses"] for way in result["ways"] if way["way"] != "queue"]


@pytest.mark.parametrize("features", ["1", "2"])
def test_rows_of_few_features_are_trained_on_too(features: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = result_of(capsys, "--files", "2", "--rows", "5", "--features", features, "--no-report")
    assert {(way["steps"], way["last_batch"]) for way in result["ways"]} == {(1, 20)}


@pytest.mark.parametrize("word", ["nan", "inf", "1e38", "1e39"])
def test_losses_that_are_no_numbers_are_equal_all_the_same_and_told(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_data(tmp_path / "mine", a=f"1,2,1\n3,{word},0\n" * 20)
    assert main(["demo", "--data", "mine", "--no-report"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "gave the very same 4 losses." in captured.out
    assert "The losses of naive are no numbers from step " in captured.out


def test_an_output_that_holds_ascii_alone_costs_no_result() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "headrace", "demo", *SMALL, "--no-report"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "ascii"},
    ) as process:
        output, errors = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, errors) == (0, b"")
    assert b"1.00x" in output
    assert output.isascii()


def test_the_same_command_gives_the_same_losses_again(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (result_of(capsys, *SMALL, "--no-report") for _ in range(2))
    assert losses_in_order(first) == losses_in_order(second)


def test_the_number_of_workers_changes_no_loss(capsys: pytest.CaptureFixture[str]) -> None:
    one, three = (result_of(capsys, *SMALL, "--no-report", "--workers", workers) for workers in "13")
    assert one["ways"][-1]["losses"] == three["ways"][-1]["losses"]


def test_torch_takes_the_same_steps(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    numpy, torch = (result_of(capsys, *SMALL, "--no-report", "--framework", name) for name in ("numpy", "torch"))
    assert [(way["steps"], way["last_batch"]) for way in numpy["ways"]] == [
        (way["steps"], way["last_batch"]) for way in torch["ways"]
    ]
    for mine, theirs in zip(losses_in_order(numpy), losses_in_order(torch), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-2)


@pytest.mark.parametrize("parallel", [False, True])
def test_the_pipeline_delivers_every_row_of_every_file_once_an_epoch(parallel: bool, tmp_path: Path) -> None:
    assert main(["demo", *SMALL, "--no-report"]) == 0
    job = Job(folder=look_into(tmp_path / "data", "*.csv", features=None, made_by=None), epochs=1, batch_size=7)
    with iter(pipeline(job, parallel=parallel)) as batches:
        rows = [(*row, *label) for features, labels in batches for row, label in zip(features, labels, strict=True)]
    written = [row for path in job.folder.paths for row in csv.reader(path.read_text().splitlines())]
    assert sorted(map(tuple, np.array(written, np.float32))) == sorted(rows)


def own_data(folder: Path, **texts: str) -> None:
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)


def test_files_of_one_s_own_are_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own_data(tmp_path / "mine", a="1,2,1\n-1,-2,0\n", b="2,1,1\n")
    result = result_of(capsys, "--data", "mine", "--no-report", "--batch-size", "4")
    assert result["data"] == {"files": 2, "rows": 3, "features": 2}
    assert {(way["steps"], way["last_batch"]) for way in result["ways"]} == {(2, 2)}


def break_row(folder: Path, old: str, new: str) -> None:
    own_data(folder, a="1,2,1\n3,4,0\n", b="5,6,1\n7,8,0\n".replace(old, new))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--data", "no/such/folder"], "no such folder: no/such; create it, or name another with --data"),
        (["--data", "empty"], "no file matches empty/*.csv; without --data the demo makes its own files"),
        (["--data", "notes.txt"], "notes.txt is a file; --data names a folder of CSV files"),
        (["--data", "hollow"], "hollow/a.csv is empty; remove it, or put rows of numbers into it"),
        (["--data", "short"], "short/b.csv, row 2: there are 2 columns, column 3 is missing; 3 are needed"),
        (["--data", "word"], "word/b.csv, row 1, column 2: 'six' is not a number"),
        (["--data", "word", "--report", "notes.txt/page.html"], "cannot write notes.txt/page.html: Not a directory"),
        (["--report", "nowhere/page.html"], "cannot write nowhere/page.html: No such file or directory"),
        (["--device", "cuda"], "numpy computes on the CPU; use --framework torch with --device cuda"),
    ],
)
def test_bad_input_is_one_line_and_no_traceback(words: list[str], line: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    own_data(tmp_path / "hollow", a="")
    break_row(tmp_path / "short", "7,8,0", "7,8")
    break_row(tmp_path / "word", "6", "six")
    before = sorted(tmp_path.rglob("*"))
    assert ran("demo", *words) == (1, *ends_with(words, line))
    assert sorted(tmp_path.rglob("*")) == before


def ends_with(words: list[str], line: str) -> tuple[str, str]:
    # What is inside a file shows after the training has begun, and so after its first line.
    started = "4 rows of 3 numbers in 2 CSV files; 2 epochs in batches of 23: 1 step; numpy on CPU\n"
    return started if "row " in line else "", f"headrace: error: {line}\n"


def test_an_option_that_makes_no_sense_has_a_status_of_its_own() -> None:
    status, output, errors = ran("demo", "--batch-size", "0")
    assert (status, output) == (2, "")
    assert errors.startswith("headrace: error: ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("way", [way.name for way in WAYS])
def test_control_c_ends_every_way_and_leaves_no_partial_file(way: str, tmp_path: Path) -> None:
    with started(["demo", *SMALL, "--epochs", "600", "--report", "page.html"]) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(way):
                process.send_signal(signal.SIGINT)
                break
        _, errors = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, errors) == (130, "headrace: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert len(list((tmp_path / "data").iterdir())) == 5


def test_a_reader_that_leaves_is_no_error() -> None:
    with started(["demo", *SMALL, "--no-report"]) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()
        process.wait(timeout=LIMIT_S)
    assert errors == ""
