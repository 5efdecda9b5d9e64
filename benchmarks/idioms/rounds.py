"""Rounds: the sides of a case take turns, each in its library's process, so that what disturbs one round disturbs all.

A program of headrace with something added differs from it by a few parts in a hundred, and an epoch of 50 ms by as much from the
next. So these have rounds of their own, three times as many, over the same number of units, and the order changes from round
to round.

A case that was measured while the machine ran slower is measured again after all others, and the better time of the machine counts.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from statistics import median
from typing import Any, Final

from idioms.case import Case
from idioms.sides import BESIDE_OURS, OURS, process_of
from idioms.worker import NOT_THERE, Answer, Begin, Forget, Time, serve
from pace import Pace

TIMES_AS_MANY: Final = 3
TIMES_AGAIN: Final = 2
GIVE_UP_AFTER_S: Final = 120.0  # importing TensorFlow takes seconds on a cold disk; what takes this long hangs


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much is measured."""

    sides: Sequence[str]
    rounds: int
    budget_s: float  # of an epoch
    clock: str = "wall"


@dataclass(slots=True)
class Measured:
    """The figures of one case."""

    case: Case
    rounds: dict[str, list[float]] = field(default_factory=dict)  # nanoseconds a unit of each side, one a round
    beside: dict[str, list[float]] = field(default_factory=dict)  # the same, of headrace's programs among themselves
    units: dict[str, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    lap_s: float = 0.0  # what the machine's pace was meanwhile

    def ns(self, side: str) -> float | None:
        """Nanoseconds a unit: the median of the rounds, or None where there is none."""
        return median(self.rounds[side]) if self.rounds.get(side) and side not in self.failures else None

    def speed_of(self, side: str, beside: str) -> float | None:
        """How fast a side is as a part of another: the median of the ratios within a round."""
        rounds = self.beside if side in BESIDE_OURS else self.rounds
        if not all(rounds.get(one) and one not in self.failures for one in (side, beside)):
            return None
        return median(other / one for one, other in zip(rounds[side], rounds[beside], strict=True))


class Processes:
    """One process for each library, started when it is first needed."""

    def __init__(self, clock: str) -> None:
        self._clock = clock
        self._running: dict[str, tuple[Any, Connection]] = {}

    def ask(self, name: str, asked: Begin | Time | Forget) -> Answer:
        """Have a process do something; one that hangs or dies is ended, and its successor knows nothing."""
        if name not in self._running:
            self._start(name)
        _, connection = self._running[name]
        try:
            connection.send(asked)
            if connection.poll(GIVE_UP_AFTER_S):
                answer: Answer = connection.recv()
                return answer
            reason = f"no end after {GIVE_UP_AFTER_S:.0f} s"
        except (EOFError, OSError):
            reason = "its process died"
        self._end(name)
        return {"failed": reason}

    def close(self) -> None:
        """End all processes."""
        for name in list(self._running):
            self._end(name)

    def _start(self, name: str) -> None:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, self._clock), name=f"idioms-{name}", daemon=True)
        process.start()
        there.close()
        self._running[name] = process, here

    def _end(self, name: str) -> None:
        process, connection = self._running.pop(name)
        connection.close()
        process.join(1)
        with suppress(ProcessLookupError):
            process.kill()
        process.join()


def run_rounds(
    cases: Iterable[Case], settings: Settings, report: Callable[[Measured], None], pace: Pace
) -> list[Measured]:
    """Measure case after case, and again those for which the machine was slow; Ctrl-C ends the second, and keeps what there is."""
    processes = Processes(settings.clock)
    found: dict[str, Measured] = {}
    asked = cases = list(cases)
    try:
        for _ in range(1 + TIMES_AGAIN):
            for case in asked:
                measured = _measure(case, settings, processes, pace)
                report(measured)
                found[case.name] = min(measured, found.get(case.name, measured), key=_lap_s)
            asked = [one.case for one in found.values() if pace.is_slow(one.lap_s)]
    except KeyboardInterrupt:
        if any(case.name not in found for case in cases):
            raise
    finally:
        processes.close()
    pace.laps_s = [one.lap_s for one in found.values()]
    return list(found.values())


def _lap_s(measured: Measured) -> float:
    return measured.lap_s


def _measure(case: Case, settings: Settings, processes: Processes, pace: Pace) -> Measured:
    measured, begun = Measured(case), len(pace.laps_s)
    _measure_sides(measured, settings, processes, pace)
    measured.lap_s = median(pace.laps_s[begun:])
    return measured


def _measure_sides(measured: Measured, settings: Settings, processes: Processes, pace: Pace) -> None:
    for side in settings.sides:
        units = measured.units.get(OURS) if side in BESIDE_OURS else None
        answer = processes.ask(process_of(side), Begin(side, measured.case.name, settings.budget_s, units))
        if "failed" in answer:
            measured.failures[side] = answer["failed"]
        else:
            measured.units[side] = answer["units"]
    libraries = [side for side in settings.sides if side not in BESIDE_OURS]
    _take_turns(measured, measured.rounds, libraries, settings.rounds, processes, pace)
    ours = [side for side in settings.sides if side == OURS or side in BESIDE_OURS]
    if len(ours) > 1:
        _take_turns(measured, measured.beside, ours, TIMES_AS_MANY * settings.rounds, processes, pace)
    for name in {process_of(side) for side in measured.units}:
        processes.ask(name, Forget())


def _take_turns(
    measured: Measured,
    found: dict[str, list[float]],
    sides: Sequence[str],
    rounds: int,
    processes: Processes,
    pace: Pace,
) -> None:
    for number in range(rounds):
        pace.lap()
        # There and back, and each side first in turn: a machine that slows down steadily treats all alike.
        start = number // 2 % len(sides)
        turned = [*sides[start:], *sides[:start]]
        for side in turned if number % 2 == 0 else reversed(turned):
            if side not in measured.failures:
                _time(measured, found, side, processes)


def _time(measured: Measured, found: dict[str, list[float]], side: str, processes: Processes) -> None:
    answer = processes.ask(process_of(side), Time(side))
    if "failed" in answer:
        measured.failures[side] = answer["failed"]
    else:
        found.setdefault(side, []).append(answer["ns"])


def is_failure(reason: str) -> bool:
    """Whether a side has no figure although it has a program."""
    return reason != NOT_THERE
