from __future__ import annotations

import errno

import pytest

import headrace
from headrace.cli import app, main
from headrace.cli.app import EXIT_INTERRUPTED
from headrace.errors import InternalError, OutOfRangeError


def ending_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit status of a demo that ends with an error."""

    def fail(request: object) -> None:
        raise error

    monkeypatch.setattr("headrace.cli.demo.command.run_demo", fail)
    return main(["demo"])


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (OutOfRangeError("nothing\nmore"), 1, "headrace: error: nothing more\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "data/a.csv"),
            1,
            "headrace: error: No space left on device: data/a.csv\n",
        ),
        (OSError("strange"), 1, "headrace: error: strange\n"),
        (KeyboardInterrupt(), EXIT_INTERRUPTED, "headrace: interrupted\n"),
    ],
)
def test_what_goes_wrong_is_one_line_on_stderr(
    error: BaseException,
    status: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ending_with(error, monkeypatch) == status
    captured = capsys.readouterr()
    assert captured.err == line
    assert captured.out == ""


@pytest.mark.parametrize("error", [InternalError("please report it"), ZeroDivisionError()])
def test_a_fault_of_our_own_shows_where_it_is(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(type(error)):
        ending_with(error, monkeypatch)


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["--nonsense"],
        ["demo", "nonsense"],
        ["demo", "--files", "-3"],
        ["demo", "--rows", "many"],
        ["demo", "--features", "0"],
        ["demo", "--epochs", "0"],
        ["demo", "--batch-size", "0"],
        ["demo", "--batch-size", "2.5"],
        ["demo", "--seed", "-1"],
        ["demo", "--workers", "0"],
        ["demo", "--framework", "abacus"],
        ["demo", "--device", "toaster"],
        ["demo", "--data"],
    ],
)
def test_a_command_line_that_makes_no_sense_is_one_line_on_stderr(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("headrace.cli.demo.command.run_demo", lambda request: pytest.fail("it ran"))
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("headrace: error: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("words", "expected"), [([], "demo"), (["--help"], "demo"), (["demo", "--help"], "--batch-size")]
)
def test_help_is_there_when_it_is_needed(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("word", ["cache", "ranks"])
def test_a_group_without_a_command_shows_its_help_and_no_empty_error(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    captured = capsys.readouterr()
    assert "--help" in captured.out + captured.err
    assert "headrace: error" not in captured.err


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"headrace {headrace.__version__}\n"


def test_the_entry_point_is_the_app() -> None:
    assert main is app.main
