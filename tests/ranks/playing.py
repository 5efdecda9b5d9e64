"""Plays a case: the whole plan undisturbed in one process, then its jobs one after the other, and compares what each rank got."""

from __future__ import annotations

import collections
import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.cases.processes import KILLED, Played, WrongError, failure_of, lines_of, present, run_all
from tests.laws.jobs import Given, expected_of, shown
from tests.ranks.drawn import MOST, Case, Turn
from tests.ranks.rank import Part, given_file, play_alone, play_rank, state_file

import headrace as hr
from headrace.errors import InvalidArgumentError

__all__ = ["play"]

# Of these each stream has the elements that it has in any order of the files, and keeps or changes them one by one.
_ONE_BY_ONE: Final = ("map ", "filter", "vectorized", "prefetch", "shuffle")


def play(seed: int, case: Case, processes: Any, folder: Path) -> Played:
    """Plays a case; returns how often what happened.

    Raises:
        WrongError: anything is not as it is to be.
    """
    (files := folder / "files").mkdir()
    said = folder / "alone.json"
    run_all(processes, [(play_alone, (seed, files, said))])
    alone = json.loads(present(said).read_text())
    if alone is None:
        return Counter({"plans that cannot be dealt": 1})
    case = case.smaller(*alone["size"])
    try:
        return _played(seed, case, alone, processes, folder)
    except WrongError as wrong:
        raise WrongError(f"{case}\n{wrong}") from wrong


def _played(seed: int, case: Case, alone: dict[str, Any], processes: Any, folder: Path) -> Played:
    jobs = _Jobs(seed, case, alone, processes, folder)
    jobs.played["epochs compared with the plan that nobody deals"] += _check_epoch(case, alone)
    for number, turn in enumerate(case.turns):
        jobs.play(number, turn)
    jobs.played["plans"] += 1
    jobs.played[f"plans dealt {'whole' if alone['is_whole'] else 'by streams'}"] += 1
    jobs.played["steps"] += alone["steps"]
    return jobs.played


class _Jobs:
    """The jobs of a case, each of which goes on where the one before can."""

    def __init__(self, seed: int, case: Case, alone: dict[str, Any], processes: Any, folder: Path) -> None:
        self._seed = seed
        self._case = case
        self._finest: list[list[Given]] = alone["given"]
        self._size: tuple[int, int] = tuple(alone["size"])
        self._steps: int = alone["steps"]
        self._is_whole: bool = alone["is_whole"]
        self._processes = processes
        self._folder = folder
        self._at = 0
        self._merged: Path | None = None
        self.played: Played = collections.Counter()

    def play(self, number: int, turn: Turn) -> None:
        """Plays one job; the last is not killed, and comes to the end."""
        folder = self._folder / f"turn-{number}"
        folder.mkdir()
        is_last = number == len(self._case.turns) - 1
        parts = [
            Part(
                seed=self._seed,
                size=self._size,
                turn=number,
                rank=rank,
                steps=self._steps,
                most=MOST + 1 if is_last else turn.stop(rank),
                is_last=is_last,
                files=self._folder / "files",
                folder=folder,
                merged=self._merged,
            )
            for rank in range(turn.ranks)
        ]
        codes = run_all(self._processes, [(play_rank, (part,)) for part in parts])
        self._count(turn, codes, folder, is_last=is_last)
        self._compare(turn, codes, folder, is_last=is_last)
        if not is_last:
            self._merge(turn, folder, number)

    def _count(self, turn: Turn, codes: Sequence[int], folder: Path, *, is_last: bool) -> None:
        self.played["processes"] += turn.ranks
        self.played["jobs that went on"] += self._merged is not None
        for rank, code in enumerate(codes):
            kill = None if is_last else turn.kill(rank)
            if code == KILLED and kill is not None:
                self.played[f"killed at {kill.point}"] += 1
                self.played["killed"] += 1
            elif code != 0:
                raise WrongError(
                    f"rank {rank} of {turn.ranks} ended with status {code}: {failure_of(folder / f'rank-{rank}.failed')}"
                )

    def _compare(self, turn: Turn, codes: Sequence[int], folder: Path, *, is_last: bool) -> None:
        for rank, code in enumerate(codes):
            given = lines_of(given_file(folder, rank))
            for step, part in enumerate(given, self._at):
                expected = self._expected(step, turn.ranks)[rank]
                if shown([part]) != [expected]:
                    raise WrongError(f"rank {rank} of {turn.ranks}, step {step}: {_unlike(part, expected)}")
            # With the end, which counts as one.
            most = len(self._finest) - self._at + 1
            count = most if is_last else min(turn.stop(rank), most)
            if code == 0 and len(given) != count:
                raise WrongError(
                    f"rank {rank} of {turn.ranks} got {len(given)} from step {self._at} on, and not {count}"
                )
            self.played["parts of global batches"] += len(given) - given.count(None)

    def _expected(self, step: int, ranks: int) -> list[Given]:
        if step >= len(self._finest):
            return [None] * ranks
        return expected_of(self._finest[step], ranks)

    def _merge(self, turn: Turn, folder: Path, number: int) -> None:
        """Makes one state of those that are there; where there can be none, the next job begins where this one did."""
        saved = {rank: path for rank in range(turn.ranks) if (path := state_file(folder, rank)).exists()}
        states = {rank: json.loads(path.read_text()) for rank, path in saved.items()}
        lowest = min((state["step"] for state in states.values()), default=0)
        try:
            merged = hr.merge_states(list(states.values()), align=True)
        except InvalidArgumentError as refused:
            reason = self._reason(turn, states)
            if reason is None:
                raise WrongError(f"refused without a reason: {refused}") from refused
            self.played[f"refused: {reason}"] += 1
            return
        if merged["step"] != lowest:
            raise WrongError(f"merged at step {merged['step']}, and the lowest was {lowest}")
        if (reason := self._reason(turn, states)) is not None:
            raise WrongError(f"merged, though {reason}")
        self.played["states merged"] += 1
        self.played["of different steps"] += len({state["step"] for state in states.values()}) > 1
        self._merged = folder / "merged.json"
        self._merged.write_text(json.dumps(merged))
        self._at = lowest

    def _reason(self, turn: Turn, states: dict[int, Any]) -> str | None:
        """Returns why such states cannot be merged; None where they can."""
        if not states:
            return "no rank had saved"
        if self._is_whole:
            return None
        if len(states) < turn.ranks:
            return "a rank had not saved"
        return None


def _check_epoch(case: Case, alone: dict[str, Any]) -> bool:
    """Compares all batches with the elements that the plan has where nobody deals it, if it is known what of them is in which."""
    has_failed = any(isinstance(part, str) for parts in alone["given"] for part in parts)
    elements = alone["elements"]
    if elements is None or has_failed or not (alone["is_whole"] or _goes_one_by_one(case)):
        return False
    found = [row for parts in alone["given"] for row in expected_of(parts, 1)[0] or []]
    if case.end == "pad":
        found = [row for row in found if row.endswith("np.True_)")]
    count = len(found)
    if alone["steps"] < MOST and (case.end == "pad" or alone["is_whole"]):
        count = len(elements) if case.end == "pad" else len(elements) // case.batch * case.batch
    if len(found) != count:
        raise WrongError(f"all batches have {len(found)} elements, of {len(elements)}")
    if alone["is_whole"]:
        is_right = found == elements[:count]
    else:
        is_right = not Counter(found) - Counter(elements)
    if not is_right:
        raise WrongError(f"all batches, and the plan that nobody deals: {_unlike(found, elements[:count])}")
    return True


def _unlike(found: Given, expected: Given) -> str:
    """Returns where two lists differ for the first time."""
    if not isinstance(found, list) or not isinstance(expected, list):
        return f"{str(found)[:500]} and not {str(expected)[:500]}"
    pairs = itertools.zip_longest(found, expected, fillvalue="nothing")
    number, (one, other) = next((number, pair) for number, pair in enumerate(pairs) if pair[0] != pair[1])
    return f"element {number} of {len(found)} is {one}, and not {other}, of {len(expected)}"


def _goes_one_by_one(case: Case) -> bool:
    return all(step.startswith(_ONE_BY_ONE) for step in case.recipe.text.split(".")[1:])
