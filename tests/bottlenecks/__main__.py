"""Plants causes of waiting in pipelines, and compares what a profile says with what was planted, and what it promises with what came.

python -m tests.bottlenecks --cases 60
python -m tests.bottlenecks --only gil --number 3 --show      one case again, and all that it says
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from typing import Final

from tests.bottlenecks.measuring import Measured, measured
from tests.bottlenecks.planted import CAUSES, planted
from tests.bottlenecks.ranks import measured_ranks

# What takes PyTorch, whose processes step together.
_OF_RANKS: Final = ("rank",) if importlib.util.find_spec("torch") else ()


def _cases(options: argparse.Namespace) -> list[tuple[str, int]]:
    causes = options.only.split(",") if options.only else (*CAUSES, *_OF_RANKS)
    if options.number is not None:
        return [(cause, options.number) for cause in causes]
    return [(causes[index % len(causes)], index // len(causes)) for index in range(options.first, options.cases)]


def main() -> int:
    """Runs the cases that were asked for, and prints a line for each; returns the program's status."""
    parser = argparse.ArgumentParser(prog="tests.bottlenecks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=60, help="how many (default: 60)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default: 0)")
    parser.add_argument("--only", help="only these causes, with commas")
    parser.add_argument("--number", type=int, help="only the case of this number")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long a profile takes (default: 3)")
    parser.add_argument("--show", action="store_true", help="print what each profile says")
    options = parser.parse_args()
    found: list[Measured] = []
    for cause, number in _cases(options):
        if cause == "rank":
            found.append(measured_ranks(number, options.seconds))
        else:
            found.append(measured(planted(cause, number), options.seconds, shows=options.show))
        print(f"{cause:14} {number:2} {found[-1]}", flush=True)
    named = sum(one.is_right for one in found)
    kept = [one for one in found if one.promised is not None]
    print(
        f"{named} of {len(found)} named right; {sum(one.is_kept for one in kept)} of {len(kept)} first advices kept what they promised"
    )
    return int(named < 0.95 * len(found) or not all(one.is_kept for one in kept))


if __name__ == "__main__":
    sys.exit(main())
