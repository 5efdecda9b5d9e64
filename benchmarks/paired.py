"""What a change costs: two versions of headrace, each in a process of its own, run the same work by turns.

    git worktree add --detach /tmp/before main
    python benchmarks/paired.py /tmp/before/src src --work overhead --rounds 60

Each round both run one epoch, in an order that is drawn, and the processor's time of both is compared: whatever else the machine
does meanwhile disturbs both alike. Told are the median of the ratios with the two between which half of the rounds lie, and the ratio of the quickest
tenths, which is the better figure where others use the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent


def _rows(examples: int) -> Any:
    return import_module("works.memory")._load(HERE, examples)  # noqa: SLF001 - of the benchmarks' own


SOURCES: Final[dict[str, Callable[[int], Any]]] = {"overhead": range, "memory": _rows}


def serve(work: str, examples: int) -> None:
    """Runs an epoch whenever a line comes, and answers with the processor's time that it took."""
    sys.path.insert(0, str(HERE))
    epoch = import_module(f"works.{work}").headrace(SOURCES[work](examples))
    for _ in sys.stdin:
        start_s = time.process_time()
        for _ in epoch():
            pass
        print(time.process_time() - start_s, flush=True)


class Version:
    """One version, in a process that waits to run an epoch."""

    def __init__(self, source: Path, work: str, examples: int) -> None:
        command = [sys.executable, __file__, "--serve", "--work", work, "--examples", str(examples)]
        variables = os.environ | {"PYTHONPATH": str(source.resolve())}
        self._process = subprocess.Popen(
            command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def epoch_s(self) -> float:
        """Returns what an epoch took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        """Ends its process."""
        self._process.communicate()


def compare(before: Version, after: Version, rounds: int) -> list[tuple[float, float]]:
    """Returns what an epoch took before and after, of each round; the first two rounds warm up."""
    taken_s: list[tuple[float, float]] = []
    for _ in range(rounds + 2):
        of_round = {version: version.epoch_s() for version in random.sample([before, after], 2)}
        taken_s.append((of_round[before], of_round[after]))
    return taken_s[2:]


def main() -> None:
    """Measures, as it is told on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "sources", nargs="*", type=Path, help="the folders src of the version before, and of the one after"
    )
    parser.add_argument("--work", choices=SOURCES, default="overhead")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--examples", type=int, default=200_000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.work, given.examples)
        return
    before, after = (Version(source, given.work, given.examples) for source in given.sources)
    try:
        taken_s = compare(before, after, given.rounds)
    finally:
        before.end()
        after.end()
    low, middle, high = statistics.quantiles([late_s / early_s for early_s, late_s in taken_s], n=4)
    quick_s = [statistics.quantiles(of_version, n=10)[0] for of_version in zip(*taken_s, strict=True)]
    print(
        f"{given.work}: {middle:.3f} times the processor's time (half of {given.rounds} rounds: {low:.3f} to {high:.3f}); "
        f"the quickest tenths {quick_s[1] / quick_s[0]:.3f}"
    )


if __name__ == "__main__":
    main()
