"""The command of a long run: it plays one case after the other, and prints how each that went wrong is played again."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.cases.processes import Played, WrongError

__all__ = ["run"]

_TOLD_EVERY: Final = 100

# Plays the case of a number with processes that are ``fresh`` or ``forked``, in a folder; None where the number has no case.
Play = Callable[[int, str, Path], Played | None]


def run(name: str, description: str, play: Play, *, minutes: float) -> int:
    """Plays cases, and says what happened how often; returns the program's status."""
    parser = argparse.ArgumentParser(prog=f"tests.{name}", description=description.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=minutes, help=f"for so long (default: {minutes:g})")
    parser.add_argument("--plans", type=int, help="so many cases, however long they take")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case (default: 0)")
    parser.add_argument(
        "--fresh",
        type=int,
        default=50,
        help="every how many cases each process is a new interpreter (default: 50; 0 is never)",
    )
    options = parser.parse_args()
    total: Played = Counter()
    with contextlib.suppress(KeyboardInterrupt):  # what was played until then is told all the same
        _play_all(name, play, options, total)
    for what, count in sorted(total.items()):
        print(f"{count:9,} {what}")
    return int(total["wrong"] > 0)


def _play_all(name: str, play: Play, options: argparse.Namespace, total: Played) -> None:
    end_s = time.monotonic() + options.minutes * 60
    for seed in itertools.count(options.seed):
        done = seed - options.seed
        if done == options.plans or (options.plans is None and time.monotonic() > end_s):
            return
        is_fresh = options.fresh > 0 and done % options.fresh == options.fresh - 1
        total.update(_played(name, seed, play, "fresh" if is_fresh else "forked"))
        total["cases in new interpreters"] += is_fresh
        if (done + 1) % _TOLD_EVERY == 0:
            wrong = f"{total['plans']:,} plans, {total['wrong']:,} wrong"
            print(f"{done + 1:,} cases: {wrong}", file=sys.stderr, flush=True)


def _played(name: str, seed: int, play: Play, method: str) -> Played:
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
        try:
            played = play(seed, method, Path(folder))
        except WrongError as wrong:
            fresh = 1 if method == "fresh" else 0
            print(f"WRONG: python -m tests.{name} --seed {seed} --plans 1 --fresh {fresh}\n{wrong}\n", flush=True)
            return Counter({"wrong": 1})
    return Counter({"numbers without a case": 1}) if played is None else played
