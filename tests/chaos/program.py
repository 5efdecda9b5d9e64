"""What one process does: it reads a plan on, saves where it stands, has faults come, and looks at what it leaves behind.

All that it has to say goes into files of its own. A state is written beside the one before and then takes its name, so that a process that
is killed leaves the old one or the new one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import logging
import os
import random
import signal
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
from tests.cases.held import descriptors, held, join_threads, mapped
from tests.cases.killing import armed, passed
from tests.cases.processes import told
from tests.chaos.drawn import Case, Outside, Turn, case_of
from tests.chaos.faulty import faulty, hangs_of, touched
from tests.laws import elements
from tests.laws.jobs import described
from tests.laws.running import REFERENCE, running
from tests.laws.small_limits import STACKED_BY_WORKERS

import headrace as hr
from headrace.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    HeadraceError,
    ResourceExhaustedError,
    WorkerError,
)
from headrace.processes.spare import end_idle
from headrace.testing import faults

__all__ = ["MARK", "Part", "play_alone", "play_turn"]

# The variable of the environment by which a program's processes are known, whoever has started them.
MARK: Final = "HEADRACE_CHAOS"
# Far beyond what anything takes to end; what is there then stays.
_ENDING_S: Final = 20.0
_LOOK_EVERY_S: Final = 0.02
_STOPPED_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Part:
    """What a process is told.

    Attributes:
        seed: the number of the case.
        turn: which of its programs.
        begun: how many elements came before.
        files: the folder of what plans read.
        folder: where it says what it has to say.
        state: what it goes on from; None is the beginning.
        mark: by which its processes are known.
    """

    seed: int
    turn: int
    begun: int
    files: Path
    folder: Path
    state: Path | None
    mark: str

    @property
    def given(self) -> Path:
        """Where it says what came, a line each."""
        return self.folder / "given"

    @property
    def saved(self) -> Path:
        """Where it saves: how many of its elements had come, and the state."""
        return self.folder / "state.json"

    @property
    def failed(self) -> Path:
        """Where it says what went wrong."""
        return self.folder / "failed"

    @property
    def noted(self) -> Path:
        """Where it says what came from outside, and what the run gave up for, a line each."""
        return self.folder / "noted"


def play_alone(seed: int, files: Path, said: Path) -> None:
    """Reads a plan undisturbed, as the reference does, and says what came."""
    with told(said.with_suffix(".failed")):
        case = _case(seed, files)
        with running(case.plan(touched), REFERENCE) as iterator:
            found = [_words(element) for element in _delivered(iterator, case.limit)]
        said.write_text(json.dumps(found))


def play_turn(part: Part) -> None:
    """Plays a program."""
    with told(part.failed):
        os.environ[MARK] = part.mark
        case = _case(part.seed, part.files)
        tempfile.tempdir = str(part.folder / "tmp")
        Path(tempfile.tempdir).mkdir()
        turn = case.turns[part.turn]
        before, opened = held(), descriptors()
        armed(turn.kill)
        _read(case, turn, part)
        # A thread that hangs nobody can end, and its operation is one of the plan, which may have files open.
        hung = hangs_of(turn.faults, part.folder) > 0 and case.dies_here(turn)
        _check_left(before, opened, but=("thread ", "descriptor ") if hung else ())


def _read(case: Case, turn: Turn, part: Part) -> None:
    dataset = case.plan(faulty(turn.faults, part.folder))  # which may write files itself, and before the disk is full
    full = contextlib.nullcontext() if turn.room is None else faults.disk_full(part.files, after_bytes=turn.room)
    with full, running(dataset, turn.full_way) as iterator:
        if part.state is not None:
            iterator.load_state_dict(json.loads(part.state.read_text())["state"])
        if turn.saves_first:
            _save(iterator, part, 0)
        left = case.limit - part.begun
        most = left if turn.stop is None else min(turn.stop, left)
        _give(iterator, turn, part, most)
        _note(part, "restarts", iterator.stats().restarts)
        if not turn.closes:
            os._exit(0)


def _give(iterator: hr.DatasetIterator, turn: Turn, part: Part, most: int) -> None:
    with part.given.open("wb", buffering=0) as file:
        for count in range(1, most + 1):
            _disturb(turn, part, count - 1)
            try:
                element = next(iterator)
            except StopIteration:
                return
            except WorkerError as error:
                _note(part, "gave up", str(error))
                return
            except DeadlineExceededError as error:
                _note(part, "timed out", str(error))
                return
            except ResourceExhaustedError as error:
                _note(part, "disk full", str(error))
                return
            except HeadraceError as error:
                element = error
            passed("a function of an element")
            file.write(json.dumps(_words(element)).encode() + b"\n")
            if count % turn.every == 0:
                _save(iterator, part, count)


def _save(iterator: hr.DatasetIterator, part: Part, count: int) -> None:
    try:
        state = iterator.state_dict()
    except FailedPreconditionError as error:  # in any order, nobody knows which elements a dead process had given
        _note(part, "state refused", str(error))
        return
    text = json.dumps({"count": count, "state": state})
    beside = part.saved.with_suffix(".part")
    with beside.open("w") as file:
        file.write(text[: len(text) // 2])
        file.flush()
        passed("half of a state written")
        file.write(text[len(text) // 2 :])
    passed("a state written beside")
    beside.replace(part.saved)
    passed("a state saved")


def _disturb(turn: Turn, part: Part, came: int) -> None:
    """Has come from outside what comes after so many elements."""
    for outside in turn.outside:
        if outside.after == came:
            _do(outside, part)


def _do(outside: Outside, part: Part) -> None:
    found = [process for process in psutil.Process().children() if _is_ours(process)]
    if not found:
        return
    process = random.Random(f"{part.seed} {part.turn} {outside}").choice(sorted(found, key=lambda one: one.pid))
    _note(part, outside.kind, process.pid)
    if outside.kind == "kill":
        process.kill()
        return
    process.suspend()
    threading.Timer(_STOPPED_S, _go_on, (process,)).start()


def _is_ours(process: psutil.Process) -> bool:
    try:
        return any("headrace.worker" in word for word in process.cmdline())
    except psutil.Error:
        return False


def _go_on(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGCONT)
    except psutil.Error:
        return


def _note(part: Part, what: str, value: Any) -> None:
    with part.noted.open("ab", buffering=0) as file:
        file.write(json.dumps([what, value]).encode() + b"\n")


def _delivered(iterator: hr.DatasetIterator, most: int) -> Any:
    for _ in range(most):
        try:
            yield next(iterator)
        except StopIteration:
            return
        except HeadraceError as error:
            yield error


def _words(element: Any) -> str:
    return f"{type(element).__name__}: {element}" if isinstance(element, Exception) else described(element)


def _check_left(before: set[str], opened: dict[int, str], *, but: tuple[str, ...]) -> None:
    """Fails if threads, processes, memory, descriptors or temporary files are left, but for these."""
    if not but:
        end_idle()
        join_threads(_ENDING_S)
    gc.collect()  # what a failing function had open is its error's, whose frames hold one another; threads hold some of them until they end
    end_s = time.monotonic() + _ENDING_S
    while left := {what for what in _left(before, opened) if not what.startswith(but)}:
        assert time.monotonic() < end_s, f"left behind: {', '.join(sorted(left))}"
        time.sleep(_LOOK_EVERY_S)
        gc.collect()


def _left(before: set[str], opened: dict[int, str]) -> set[str]:
    now = descriptors()
    files = {f"descriptor {number} of {now[number]}" for number in now.keys() - opened.keys()}
    temporary = {f"temporary file {path.name}" for path in Path(tempfile.gettempdir()).iterdir()}
    memory = {f"{count} pieces of shared memory"} if (count := mapped()) else set()
    return (held() - before) | files | temporary | memory


def _case(seed: int, files: Path) -> Case:
    logging.getLogger("headrace").setLevel(logging.CRITICAL)
    for name, limit in STACKED_BY_WORKERS.items():
        module, _, attribute = name.rpartition(".")
        setattr(importlib.import_module(module), attribute, limit)
    elements.use_folder(files)
    case = case_of(seed)
    assert case is not None
    return case
