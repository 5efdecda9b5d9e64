"""Runs a contestant under a fault, ends what does not end, and looks at what it left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.function import AT, COUNT, ENDING

HERE: Final = Path(__file__).resolve().parent
LIMIT_S: Final = 20.0  # for a program that takes a second or two
SETTLE_S: Final = 2.0  # after the program has ended; what is there then is left
_MARK: Final = "HEADRACE_FAULTS"
_LOOK_EVERY_S: Final = 0.01
_HANGS: Final = f"hangs (it is killed after {LIMIT_S:.0f} s)"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        said: whether it went on, gave an error or hung, in words.
        lost: how many elements did not come, of those that could be made at a second try; None where nobody reads to the end.
        doubled: how many came more than once.
        left: what was left behind, in words; empty for nothing, None of a program that did not end by itself.
    """

    said: str
    lost: int | None
    doubled: int
    left: str | None


def outcome_of(contestant: str, fault: str) -> Outcome:
    """Runs a contestant under a fault once."""
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        folder = Path(place)
        before = _segments()
        process = _started(contestant, fault, folder)
        try:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LIMIT_S)
            has_ended, end_s = process.returncode is not None, time.monotonic()
            gone_s, left = _settled(place, before) if has_ended else (None, None)
        finally:
            _end_all(process, place)
            for name in _segments() - before:
                Path("/dev/shm", name).unlink(missing_ok=True)
        return _Story(fault, folder, end_s if has_ended else None, gone_s).outcome(left)


def _started(contestant: str, fault: str, folder: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, [str(HERE.parent.parent / "src"), os.environ.get("PYTHONPATH")]))
    with (folder / "stderr").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, str(HERE / "program.py"), contestant, fault, str(folder)],
            env={**os.environ, "PYTHONPATH": path, _MARK: str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,  # Ctrl-C goes to all of a terminal's processes: here to all of the session's
        )


def _settled(mark: str, before: set[str]) -> tuple[float | None, str]:
    """Returns when all processes were gone, and what is left after a while."""
    until_s = time.monotonic() + SETTLE_S
    while time.monotonic() < until_s:
        if not _processes(mark):
            break
        time.sleep(_LOOK_EVERY_S)
    gone_s = time.monotonic()
    processes, segments = len(_processes(mark)), len(_segments() - before)
    words = [_counted(processes, "process", "es"), _counted(segments, "segment", "s")]
    return (None if processes else gone_s), ", ".join(filter(None, words))


def _counted(count: int, what: str, more: str) -> str:
    return f"{count} {what}{more if count > 1 else ''}" if count else ""


def _processes(mark: str) -> list[int]:
    """Returns the processes that have the mark in their environment, zombies left out: they are the system's to collect."""
    wanted = f"{_MARK}={mark}\0".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def _segments() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob("*")}


def _end_all(process: subprocess.Popen[bytes], mark: str) -> None:
    for pid in {process.pid, *_processes(mark)}:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


class _Story:
    """What a program wrote down, and when it ended."""

    def __init__(self, fault: str, folder: Path, end_s: float | None, gone_s: float | None) -> None:
        self._fault = fault
        self._events = [json.loads(line) for line in _lines(folder / "events")]
        self._errors = _lines(folder / "stderr")
        self._end_s = end_s
        self._gone_s = gone_s
        at = folder / "fault"
        self._fault_s = float(at.read_text()) if at.exists() else None

    def outcome(self, left: str | None) -> Outcome:
        came = Counter(event[2] for event in self._events if event[1] == "element")
        doubled = came.total() - len(came)
        if self._fault_s is None:
            return Outcome(f"did not begin: {self._errors[-1][:200] if self._errors else ''}", None, doubled, left)
        if self._fault in ENDING:
            return Outcome(self._ended(self._fault_s), None, doubled, left)
        lost = sum(number not in came for number in range(COUNT) if self._can_be_made(number))
        return Outcome(self._went_on(self._fault_s, came), lost, doubled, left)

    def _can_be_made(self, number: int) -> bool:
        if self._fault == "truncated":
            return number < COUNT // 2
        return self._fault != "raises" or number != AT

    def _ended(self, fault_s: float) -> str:
        end_s = self._gone_s if self._fault == "parent" else self._end_s
        if end_s is not None:
            return (
                f"all is gone after {end_s - fault_s:.2f} s"
                if self._fault == "parent"
                else f"ends after {end_s - fault_s:.2f} s"
            )
        return "processes stay" if self._end_s is not None else _HANGS

    def _went_on(self, fault_s: float, came: Counter[int]) -> str:
        errors = [event for event in self._events if event[1] == "error"]
        if not errors:
            if self._end_s is None:
                return _HANGS
            taken = [event[0] for event in self._events if event[1] == "element" and event[2] == AT]
            if taken:
                return f"goes on after {max(0.0, taken[0] - fault_s):.2f} s"
            return (
                "ends, and says nothing"
                if self._is_told_end()
                else f"dies: {self._errors[-1][:100] if self._errors else ''}"
            )
        at_s, _, kind, message = errors[0]
        words = f"error after {max(0.0, at_s - fault_s):.2f} s ({kind}: {_in_short(message)})"
        has_more = any(event[0] > at_s for event in self._events if event[1] == "element")
        words += ", goes on" if has_more else ""
        return (
            words
            + (f", {len(errors)} errors" if len(errors) > 1 else "")
            + ("" if self._end_s is not None else ", then hangs")
        )

    def _is_told_end(self) -> bool:
        return any(event[1] == "end" for event in self._events)


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def _in_short(message: str) -> str:
    """A message without the traceback that some quote in it, whose paths are of this machine."""
    own = message.partition("Traceback (most recent call last)")[0].removesuffix("Original ").strip()
    return textwrap.shorten(own or message, 90, placeholder=" …")
