"""Reads random plans with all executors while processes die, stop and are late, and has other programs go on: every element is compared.

    python -m tests.chaos --minutes 30
    python -m tests.chaos --seed 1234 --plans 1       one case again

Each plan is read undisturbed by the reference first. Then programs read it, one after the other, each with an executor of its own, until each was stopped,
left without closing, or died: of a function of the plan, of a signal in the middle of saving or anywhere in headrace. Processes beside them die of
functions and from outside, or stop for a moment. The next program goes on from the state that is there, and the last one comes to the end. Every element must be
the undisturbed one, in its place. Who closes must leave no thread, process, shared memory, descriptor or temporary file; who dies, no process.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cases.command import run
from tests.cases.processes import Played, processes_of
from tests.chaos.drawn import case_of
from tests.chaos.playing import play


def _played(seed: int, method: str, folder: Path) -> Played | None:
    case = case_of(seed)
    return None if case is None else play(seed, case, processes_of(method, "tests.chaos.preloaded"), folder)


if __name__ == "__main__":
    sys.exit(run("chaos", __doc__ or "", _played, minutes=5))
