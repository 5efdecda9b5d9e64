"""Plays a case: the plan undisturbed in one process, then its programs one after the other, and compares what each of them got."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.cases.processes import KILLED, Played, WrongError, failure_of, lines_of, present, run_all
from tests.chaos.faulty import EXIT_STATUS, deaths_of, hangs_of
from tests.chaos.program import MARK, Part, play_alone, play_turn

if TYPE_CHECKING:
    from tests.chaos.drawn import Case, Turn

__all__ = ["play"]

# Processes of a program that has ended are to be gone two seconds later; on a machine that has much other work, after these.
_GONE_S: Final = 30.0
_SOON_S: Final = 2.0
_LOOK_EVERY_S: Final = 0.02


def play(seed: int, case: Case, processes: Any, folder: Path) -> Played:
    """Plays a case; returns how often what happened.

    Raises:
        WrongError: anything is not as it is to be.
    """
    try:
        return _Programs(seed, case, processes, folder).play()
    except WrongError as wrong:
        raise WrongError(f"{case}\n{wrong}") from wrong


class _Programs:
    """The programs of a case, each of which goes on where the one before had saved."""

    def __init__(self, seed: int, case: Case, processes: Any, folder: Path) -> None:
        self._seed = seed
        self._case = case
        self._processes = processes
        self._folder = folder
        self._confirmed: list[str] = []  # what had come when the last state was saved
        self._state: Path | None = None
        self._played: Played = Counter()

    def play(self) -> Played:
        self._expected = self._alone()
        for number, turn in enumerate(self._case.turns):
            self._turn(number, turn)
        self._played["plans"] += 1
        self._played[f"plans in {'one' if self._case.in_order else 'any'} order"] += 1
        self._played["plans with large arrays"] += self._case.is_large
        self._played["elements of plans"] += len(self._expected)
        return self._played

    def _alone(self) -> list[str]:
        (files := self._folder / "files").mkdir()
        said = self._folder / "alone.json"
        run_all(self._processes, [(play_alone, (self._seed, files, said))])
        found: list[str] = json.loads(present(said).read_text())
        for path in files.glob("cache *"):
            shutil.rmtree(path)  # the programs fill their own
        return found

    def _turn(self, number: int, turn: Turn) -> None:
        folder = self._folder / f"turn-{number}"
        folder.mkdir()
        mark = f"{os.getpid()} {self._seed} {number}"
        part = Part(
            seed=self._seed,
            turn=number,
            begun=len(self._confirmed),
            files=self._folder / "files",
            folder=folder,
            state=self._state,
            mark=mark,
        )
        (code,) = run_all(self._processes, [(play_turn, (part,))])
        self._wait_for_the_end(mark)
        noted = lines_of(part.noted)
        deaths = deaths_of(turn.faults, folder) + sum(what == "kill" for what, _ in noted)
        gave_up = self._check_ended(turn, code, part, noted, deaths)
        given = lines_of(part.given)
        is_last = number == len(self._case.turns) - 1
        is_whole = code == 0 and not gave_up and (turn.stop is None or len(given) < turn.stop)
        self._compare(given, is_whole=is_whole)
        if is_last and not is_whole:
            raise WrongError(f"the last program ended with status {code} and {noted}")
        self._go_on(part, given)
        self._count(turn, part, noted, deaths, code)

    def _check_ended(self, turn: Turn, code: int, part: Part, noted: list[Any], deaths: int) -> bool:
        """Fails where a program did not end as it is to; returns whether its run gave up, because processes died, the disk was full or an element took too long."""
        here = self._case.dies_here(turn)
        may = (
            {0} | ({KILLED} if turn.kill is not None else set()) | ({KILLED, EXIT_STATUS} if here and deaths else set())
        )
        if code not in may:
            raise WrongError(f"it ended with status {code}: {failure_of(part.failed)}")
        reasons = [value for what, value in noted if what == "gave up"]
        if reasons and deaths < 2:
            raise WrongError(f"it gave up after {deaths} deaths: {reasons[0]}")
        late = [value for what, value in noted if what == "timed out"]
        if late and not hangs_of(turn.faults, part.folder):
            raise WrongError(f"nothing hung: {late[0]}")
        full = [value for what, value in noted if what == "disk full"]
        if full and turn.room is None:
            raise WrongError(f"there was room: {full[0]}")
        refused = [value for what, value in noted if what == "state refused"]
        if refused and (self._case.in_order or not deaths):
            raise WrongError(f"after {deaths} deaths a state was refused: {refused[0]}")
        restarts = sum(value for what, value in noted if what == "restarts")
        if restarts > deaths:
            raise WrongError(f"{restarts} processes were replaced, and {deaths} died")
        return bool(reasons or full or late)

    def _compare(self, given: list[str], *, is_whole: bool) -> None:
        begun = len(self._confirmed)
        if self._case.in_order:
            wanted = self._expected[begun:]
            for number, (one, other) in enumerate(itertools.zip_longest(given, wanted, fillvalue="nothing")):
                if one != other and (number < len(given) or is_whole):
                    raise WrongError(f"element {begun + number} is {one[:500]} instead of {other[:500]}")
            return
        left = Counter(self._expected) - Counter(self._confirmed)
        if more := Counter(given) - left:
            raise WrongError(f"after {begun} elements in any order, these came too often: {more}")
        if is_whole and (missing := left - Counter(given)):
            raise WrongError(f"after {begun} elements in any order, these are missing: {missing}")

    def _go_on(self, part: Part, given: list[str]) -> None:
        """Takes the state that is there; without one, the next program begins where this one did."""
        if part.saved.exists():
            self._state = part.saved
            self._confirmed += given[: json.loads(part.saved.read_text())["count"]]
            self._played["programs that had saved"] += 1

    def _count(self, turn: Turn, part: Part, noted: list[Any], deaths: int, code: int) -> None:
        played = self._played
        played["programs"] += 1
        played[f"programs with executor={turn.executor!r}"] += 1
        played["programs that went on from a state"] += part.state is not None
        played["programs killed or ended by their function"] += code != 0
        played["programs that left without closing"] += code == 0 and not turn.closes
        played["programs of which nothing may be left, counted by themselves"] += code == 0 and turn.closes
        played["elements that came"] += len(lines_of(part.given))
        for what, _ in noted:
            played[
                {"kill": "processes killed from outside", "stop": "processes stopped from outside"}.get(what, what)
            ] += 1
        del played["restarts"]
        played["processes that died"] += deaths
        played["processes replaced"] += sum(value for what, value in noted if what == "restarts")

    def _wait_for_the_end(self, mark: str) -> None:
        """Fails unless all processes of a program end that has ended."""
        begun_s = time.monotonic()
        for pid in _processes_with(mark):  # one that the program had stopped hears of nothing
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        while left := _processes_with(mark):
            if time.monotonic() > begun_s + _GONE_S:
                raise WrongError(f"processes are left of a program that has ended: {left}")
            time.sleep(_LOOK_EVERY_S)
        self._played["programs whose processes took more than 2 s to end"] += time.monotonic() > begun_s + _SOON_S


def _processes_with(mark: str) -> dict[int, str]:
    """Returns the commands of the processes that have the mark in their environment (Linux)."""
    wanted = f"{MARK}={mark}\0".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone, or another user's
            if wanted in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
    return found
