"""Deals random plans to processes, kills some of them, goes on with other numbers of ranks, and compares every global batch.

    python -m tests.ranks --minutes 10
    python -m tests.ranks --seed 1234 --plans 1       one case again

Each plan is played undisturbed in one process first. Then so many processes read it until each was stopped after some steps of its own, or killed:
inside a function, in the middle of saving, or anywhere in headrace. The states that are there are merged, and another number of processes goes on, until the
end. Every part of a global batch must be what the undisturbed one has; what cannot be merged must be refused. A case that is not so is
printed with the command that plays it again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cases.command import run
from tests.cases.processes import Played, processes_of
from tests.ranks.drawn import case_of
from tests.ranks.playing import play


def _played(seed: int, method: str, folder: Path) -> Played | None:
    case = case_of(seed)
    return None if case is None else play(seed, case, processes_of(method, "tests.ranks.preloaded"), folder)


if __name__ == "__main__":
    sys.exit(run("ranks", __doc__ or "", _played, minutes=10))
