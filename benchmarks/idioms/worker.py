"""What one process of a library does: it builds, checks and times the programs that it is told of.

Timed is a whole epoch, from asking for a new iterator to its end. Building and checking are not.
"""

from __future__ import annotations

import gc
import logging
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeAlias

from idioms.case import Case
from idioms.cases import find_case
from idioms.sides import Epoch, NotThereError, epoch_of

NOT_THERE: Final = "not there"
Answer: TypeAlias = dict[str, Any]
# Where the processor's time is asked for, others use the machine: an epoch may take this many times as long by the wall clock.
MUST_SHARE: Final = 8.0
CLOCKS: Final[dict[str, Callable[[], float]]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True, slots=True)
class Begin:
    """Build a side of a case, check what it delivers, and find how many units fit the time, if that is not known."""

    side: str
    case: str
    budget_s: float
    units: int | None = None


@dataclass(frozen=True, slots=True)
class Time:
    """Run an epoch of what was begun."""

    side: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Let go of what was begun."""


@dataclass(slots=True)
class Worker:
    """The programs that are ready to be timed, with how many units each has, and the data that they share."""

    folder: Path
    clock: Callable[[], float]
    ready: dict[str, tuple[Epoch, int]] = field(default_factory=dict)
    data: dict[tuple[str, int], Any] = field(default_factory=dict)

    def begin(self, asked: Begin) -> Answer:
        """Build and check a program."""
        case = find_case(asked.case)
        units = case.small
        try:
            check(asked.side, case, self._data_of(case, units))
        except NotThereError:
            return {"failed": NOT_THERE}
        if not gc.get_freeze_count():
            gc.freeze()  # what the libraries' imports left is not looked at again in every collection
        if asked.units is not None:
            return self._warmed(asked, case, asked.units)
        epoch = epoch_of(asked.side, case, self._data_of(case, units))
        took_s = self._fitting_s(epoch)
        # Step by step: what an iterator takes to begin is most of what a short epoch takes, and little of a long one.
        while (fitting := _rounded(min(case.full, max(1, units * asked.budget_s / took_s)))) >= 2 * units:
            units = fitting
            epoch = epoch_of(asked.side, case, self._data_of(case, units))
            took_s = self._fitting_s(epoch)
        self.ready[asked.side] = epoch, units
        return {"units": units}

    def _warmed(self, asked: Begin, case: Case, units: int) -> Answer:
        """Build a program for so many units, and run it as often as one whose units are searched for at its last size."""
        epoch = epoch_of(asked.side, case, self._data_of(case, units))
        self._fitting_s(epoch)
        self.ready[asked.side] = epoch, units
        return {"units": units}

    def time(self, asked: Time) -> Answer:
        """Nanoseconds a unit."""
        epoch, units = self.ready[asked.side]
        return {"ns": timed_s(epoch, self.clock) / units * 1e9}

    def forget(self) -> Answer:
        """Drop all programs."""
        self.ready.clear()
        self.data.clear()
        gc.collect()
        return {}

    def _fitting_s(self, epoch: Epoch) -> float:
        """How long an epoch takes, for what fits the time: the shorter of two, since the first may fill a cache."""
        return min(self._once_s(epoch), self._once_s(epoch))

    def _once_s(self, epoch: Epoch) -> float:
        """How long one takes as the clock says, unless it mostly waits."""
        started_s = time.perf_counter()
        took_s = timed_s(epoch, self.clock)
        if self.clock is time.perf_counter:
            return took_s
        return max(took_s, (time.perf_counter() - started_s) / MUST_SHARE)

    def _data_of(self, case: Case, units: int) -> Any:
        if (case.name, units) not in self.data:
            folder = self.folder / case.name / str(units)
            folder.mkdir(parents=True, exist_ok=True)
            self.data[case.name, units] = case.data(units, folder)
        return self.data[case.name, units]


def timed_s(epoch: Epoch, clock: Callable[[], float]) -> float:
    """How long a whole epoch takes."""
    gc.collect()  # what earlier epochs left is not this one's cost
    started_s = clock()
    for _ in epoch():
        pass
    return max(clock() - started_s, 1e-9)  # a clock has its grain


def _rounded(units: float) -> int:
    """The next smaller of 1, 2 and 5 times a power of ten, so that the sides of a process share their data."""
    power = 10 ** int(math.log10(units))
    return int(max(step * power for step in (1, 2, 5) if step * power <= units))


def check(side: str, case: Case, data: Any) -> None:
    """Compare a side's elements with the plain loop's; raises WrongElementsError, or NotThereError."""
    case.same(list(epoch_of(side, case, data)()), list(case.plain(data)))


def serve(connection: Connection, clock: str) -> None:
    """Answer until the other end is closed."""
    logging.disable(logging.WARNING)  # TensorFlow's, of what its own modules do
    with tempfile.TemporaryDirectory(prefix="headrace-idioms-") as folder:
        worker = Worker(Path(folder), CLOCKS[clock])
        while True:
            try:
                asked = connection.recv()
            except (EOFError, KeyboardInterrupt):
                return
            connection.send(_answer(worker, asked))


def _answer(worker: Worker, asked: Begin | Time | Forget) -> Answer:
    try:
        match asked:
            case Begin():
                return worker.begin(asked)
            case Time():
                return worker.time(asked)
            case Forget():
                return worker.forget()
    except Exception as error:  # noqa: BLE001  # whatever a library raises is its result: it stands where the figure would
        first_line = str(error).strip().partition("\n")[0]
        return {"failed": f"{type(error).__name__}: {first_line}"}
