"""The job in examples/elastic that loses a process: every batch is the same, and nothing is left behind however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import psutil
import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are sent signals")

ROOT = Path(__file__).parents[2]
LIMIT_S = 100.0  # far beyond what any of this takes; a hang shall be a failure
SMALL = ["--ranks", "2,1", "--streams", "2", "--batch", "4"]
VOID = {"meta"}  # elements of HTML that have no end


@pytest.fixture(name="temporary")
def _temporary() -> Iterator[Path]:
    # Not in pytest's own folder: processes listen on a socket in it, whose path has a hundred letters at most.
    with tempfile.TemporaryDirectory(prefix="hr-") as short:
        folder = Path(short) / "t"
        folder.mkdir()
        yield folder


@contextmanager
def started(*words: str, temporary: Path) -> Iterator[subprocess.Popen[str]]:
    """The example, in a group of its own, as a shell starts it."""
    with subprocess.Popen(
        [sys.executable, "-m", "examples.elastic", *SMALL, *words, "--page", str(temporary.parent / "page.html")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(temporary)},
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # nobody is left, where the test passes
                os.killpg(process.pid, signal.SIGKILL)


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What is left of its output: it ends when the last process that could write to it is gone."""
    return process.communicate(timeout=LIMIT_S)


def read_up_to(process: subprocess.Popen[str], start: str) -> None:
    assert process.stdout is not None
    assert any(line.startswith(start) for line in process.stdout), process.communicate(timeout=LIMIT_S)


class Balanced(HTMLParser):
    """Sees that each element of a page is closed where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """Neither opens nor closes anything."""

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_a_job_that_lost_a_process_goes_on_with_another_number_and_every_batch_is_the_same(temporary: Path) -> None:
    with started("--steps", "8", temporary=temporary) as process:
        output, errors = ended(process)
    assert (process.returncode, errors) == (0, ""), output
    assert re.search(r"^kill -9 \d+: rank 1, in the middle of step 3$", output, re.MULTILINE)
    # Each had saved, but the killed one a step less.
    assert "saved: 1 after step 2 and 1 after step 3; merged in " in output
    assert "1 process goes on from step 3\n" in output
    rows = re.findall(r"^ +(\d+)  ([0-9a-f]{16})  ([0-9a-f]{16})  +([12])$", output, re.MULTILINE)
    assert [(int(step), int(ranks)) for step, *_, ranks in rows] == [
        *[(1, 2), (2, 2)],
        *[(at, 1) for at in range(3, 9)],
    ]
    assert all(undisturbed == found for _, undisturbed, found, _ in rows)
    assert len({found for _, _, found, _ in rows}) == len(rows)
    assert "8 of 8 global batches are those of the undisturbed job." in output
    assert list(temporary.iterdir()) == []
    check_page((temporary.parent / "page.html").read_text(encoding="utf-8"), temporary)


def check_page(page: str, temporary: Path) -> None:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    reading, streams = (ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    groups = reading.findall("{*}g")
    # Two ranks read steps 1 to 3, and what one of them read after that, until the other was missed; one rank 3 to 8.
    assert len(groups) == 2 * 3 + 1 + 6
    assert len([group for group in groups if group.get("opacity")]) == 3
    assert [text.text for text in reading.iterfind(".//{*}text") if "kill" in str(text.text)] == ["kill -9 rank 1"]
    assert [text.text for text in streams.iterfind(".//{*}text")][-2:] == ["0", "0"]
    assert str(temporary) not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("line", ["3 sources", "undisturbed"], ids=["while they start", "while they train"])
def test_control_c_ends_all_processes_and_leaves_no_file(line: str, temporary: Path) -> None:
    with started("--steps", "100000", temporary=temporary) as process:
        read_up_to(process, line)
        os.killpg(process.pid, signal.SIGINT)
        ended(process)
    assert process.returncode == 130
    assert list(temporary.iterdir()) == []
    assert not (temporary.parent / "page.html").exists()


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes that train: on Linux they are started by one that the example has started."""
    depth = psutil.Process(process.pid).children()
    return [child for starter in depth for child in starter.children()] or depth


def test_a_process_that_dies_unasked_ends_the_job_with_a_line_that_says_which(temporary: Path) -> None:
    with started("--steps", "100000", temporary=temporary) as process:
        read_up_to(process, "undisturbed")
        workers_of(process)[0].kill()
        _, errors = ended(process)
    assert process.returncode == 1
    assert re.match(r"elastic: rank \d of 2 ended after step \d+, and nobody had killed it: ", errors)
    assert list(temporary.iterdir()) == []


def test_nobody_is_left_when_the_example_itself_is_killed(temporary: Path) -> None:
    with started("--steps", "100000", temporary=temporary) as process:
        read_up_to(process, "undisturbed")
        process.kill()
        ended(process)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranks", "3,1", "--streams", "4"], "3 does not divide 4: ranks divide --streams, and streams --batch"),
        (["--ranks", "1,2"], "one process is killed"),
        (["--steps", "7"], "--steps is 8 at least"),
    ],
)
def test_numbers_that_do_not_fit_are_refused_before_anything_is_made(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from examples.elastic.__main__ import main

    with pytest.raises(SystemExit, match="2"):
        main([*SMALL, *words])
    assert said in capsys.readouterr().err


def test_an_interpreter_that_cannot_ask_others_costs_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    from examples.elastic.__main__ import _asked

    assert _asked("no-such-python") == []
    assert "elastic: other libraries could not be asked: " in capsys.readouterr().err


def test_others_are_asked_by_the_interpreter_that_is_named() -> None:
    from examples.elastic.__main__ import _asked

    answers = _asked(sys.executable)
    assert answers[0].name == "headrace"
    assert answers[0].numbers == ["8 → 6, 6 → 12: nothing lost or doubled, 16 of 16 global batches equal"]
