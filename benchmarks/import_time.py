"""What a program waits for before its first batch, part by part: ``make import-time``.

Each part is the median of ten fresh interpreters, because the second import in one costs nothing, and a disk is cold only once.
Imports are the main thread's processor time, which other programs disturb least; the last parts are by the clock, as threads and
processes wait for each other in them. A new process imports NumPy, as it does here. A part over its bound ends the program with status 1. The bounds are of a quiet machine; no test has them.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

__all__ = ["main"]

_RUNS: Final = 10
# Milliseconds; None for what is not ours.
_BOUNDS_MS: Final[dict[str, float | None]] = {
    "import numpy, numpy.random": None,
    "import optree": None,
    "import headrace, beyond them": 40,
    "the engine's modules, at the first iter": 30,
    "iter to the first element of ten operations": 5,
    "... of a map with two new processes": 400,
    "... with two that are idle": 20,
    "... of a pipeline in a new process": 400,
}


def _parts() -> dict[str, float]:
    """Returns how many milliseconds each part takes in this interpreter, which has imported nothing yet."""

    def took(part: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
        start_s = clock()
        part()
        return (clock() - start_s) * 1000

    def ten_operations() -> object:
        import headrace as hr

        numbers = hr.Dataset.range(1000).shuffle(100, seed=1).map(lambda x: x + 1).filter(lambda x: x % 2 == 0)
        batches = numbers.map(lambda x: (x, x)).batch(4).enumerate().skip(1).repeat(2).take(10).prefetch(2)
        with iter(batches) as iterator:
            return next(iterator)

    def of_epochs(executor: str, epochs: int) -> list[float]:
        """How long the first element of each of some epochs takes, which are read to their ends."""
        import headrace as hr

        numbers = hr.Dataset.range(100).map(lambda x: x + 1, num_parallel_calls=2)
        numbers = numbers.with_options(hr.Options(executor=executor))
        firsts_ms = []
        for _ in range(epochs):
            start_s = time.perf_counter()
            with iter(numbers) as iterator:
                next(iterator)
                firsts_ms.append((time.perf_counter() - start_s) * 1000)
                list(iterator)
        return firsts_ms

    figures = [
        took(lambda: __import__("numpy.random")),
        took(lambda: __import__("optree")),
        took(lambda: __import__("headrace")),
    ]
    first, again = took(ten_operations), took(ten_operations)
    by_the_clock = min(took(ten_operations, time.perf_counter) for _ in range(3))
    processes = [*of_epochs("process", 2), *of_epochs("subprocess", 1)]
    return dict(zip(_BOUNDS_MS, [*figures, first - again, by_the_clock, *processes], strict=True))


def main() -> int:
    """Prints the table; returns 1 where a part is over its bound."""
    command = [sys.executable, "-m", "benchmarks.import_time", "once"]
    runs = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(_RUNS)]
    is_over = False
    for part, bound_ms in _BOUNDS_MS.items():
        figures = [run[part] for run in runs]
        median_ms = statistics.median(figures)
        over = bound_ms is not None and median_ms > bound_ms
        is_over |= over
        bound = "" if bound_ms is None else f"   at most {bound_ms:.0f}{', which it is over' if over else ''}"
        print(f"{part:45}{median_ms:7.1f} ms  ({min(figures):.1f} to {max(figures):.1f}){bound}")
    return 1 if is_over else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["once"]:
        print(json.dumps(_parts()))
    else:
        sys.exit(main())
