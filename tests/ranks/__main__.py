"""Deals random plans to processes, kills some of them, goes on with other numbers of ranks, and compares every global batch.

    python -m tests.ranks --minutes 10
    python -m tests.ranks --seed 1234 --plans 1       one case again

Each plan is played undisturbed in one process first. Then so many processes read it until each was stopped after some steps of its own, or killed:
inside a function, in the middle of saving, or anywhere in headrace. The states that are there are merged, and another number of processes goes on, until the
end. Every part of a global batch must be what the undisturbed one has; what cannot be merged must be refused. A case that is not so is
printed with the command that plays it again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

from tests.ranks.drawn import case_of
from tests.ranks.playing import Played, WrongError, play, processes_of

_TOLD_EVERY: Final = 100


def main() -> int:
    """Plays cases, and says what happened how often."""
    parser = argparse.ArgumentParser(prog="tests.ranks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10, help="for so long (default: 10)")
    parser.add_argument("--plans", type=int, help="so many cases, however long they take")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case (default: 0)")
    parser.add_argument(
        "--fresh",
        type=int,
        default=50,
        help="every how many cases each process is a new interpreter (default: 50; 0 is never)",
    )
    options = parser.parse_args()
    end_s = time.monotonic() + options.minutes * 60
    total: Played = Counter()
    for seed in itertools.count(options.seed):
        done = seed - options.seed
        if done == options.plans or (options.plans is None and time.monotonic() > end_s):
            break
        is_fresh = options.fresh > 0 and done % options.fresh == options.fresh - 1
        total += _played(seed, "fresh" if is_fresh else "forked")
        total["cases in new interpreters"] += is_fresh
        if (done + 1) % _TOLD_EVERY == 0:
            print(
                f"{done + 1:,} cases: {total['plans']:,} plans, {total['wrong']:,} wrong", file=sys.stderr, flush=True
            )
    for name, count in sorted(total.items()):
        print(f"{count:9,} {name}")
    return int(total["wrong"] > 0)


def _played(seed: int, method: str) -> Played:
    case = case_of(seed)
    if case is None:
        return Counter({"numbers without a case": 1})
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        try:
            return play(seed, case, processes_of(method), Path(folder))
        except WrongError as wrong:
            fresh = 1 if method == "fresh" else 0
            print(f"WRONG: python -m tests.ranks --seed {seed} --plans 1 --fresh {fresh}\n{wrong}\n", flush=True)
            return Counter({"wrong": 1})


if __name__ == "__main__":
    sys.exit(main())
