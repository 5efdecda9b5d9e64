"""Programs that end while daemon threads of their own are anywhere inside headrace: each must end in silence.

    python -m tests.stress.exits --rounds 100

Before Python 3.14 a thread that is inside a C++ library then is unwound, and the process aborted (docs/decisions/0012). Run it
beside other work: on an idle machine threads are seldom caught there.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["stress"]

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 120.0

# What the threads iterate for ever.
LOOPS: Final = {
    "structures": "made",
    "structures, inline": "made.with_options(hr.Options(executor='inline'))",
    "numbers": "numbers.map(lambda x: x + 1)",
    "batches": "made.batch(4)",
    "workers": "numbers.map(make, num_parallel_calls=2)",
    "prefetch": "made.prefetch(2)",
    "sleepers": "numbers.map(lambda x: time.sleep(0.01))",
    "files": "hr.CsvDataset(sys.argv[2], [0.0, 0.0]).repeat()",
    "short runs": "(x for _ in iter(int, 1) for x in made.take(2))",
    "a library in a function": "numbers.map(lambda x: optree.tree_map(lambda y: sum(range(20_000)), {'a': [x, x]}))",
    "queues": "((queue.enqueue({'a': object(), 'b': 3}), queue.dequeue()) for _ in iter(int, 1))",
}

PROGRAM: Final = """
import itertools, sys, threading, time
import optree
import headrace as hr

class Value:
    pass

def make(x):
    return {"a": [x, {"b": (x, [x])}], "c": Value()}

numbers = hr.Dataset.range(10**9)
made = numbers.map(make)
queue = hr.queue.FIFOQueue(100, [object, "int64"], names=["a", "b"])
under_way = threading.Event()

def work():
    for number, _ in enumerate(LOOP):
        if number == 20:
            under_way.set()

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
under_way.wait(60)
time.sleep(float(sys.argv[1]))  # every round ends them somewhere else
"""


def stress(rounds: int, *, at_once: int = 4) -> collections.Counter[tuple[str, int, str]]:
    """How often each loop ended with which status and which words."""
    rows = ROOT / "build" / "exits.csv"
    rows.parent.mkdir(exist_ok=True)
    rows.write_text("1,2\n" * 50_000)

    def ended(case: tuple[int, str]) -> tuple[str, int, str]:
        number, name = case
        command = [sys.executable, "-c", PROGRAM.replace("LOOP", LOOPS[name]), str(number % 10 * 0.002), str(rows)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        return name, done.returncode, done.stderr.strip()[-200:]

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return collections.Counter(pool.map(ended, itertools.product(range(rounds), LOOPS)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.stress.exits", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="how often each loop is ended (default: 100)")
    ends = stress(parser.parse_args().rounds)
    for (name, status, words), count in sorted(ends.items()):
        sys.stdout.write(
            f"{count:6} x {name}: {'in silence' if (status, words) == (0, '') else f'status {status} {words}'}\n"
        )
    return int(any((status, words) != (0, "") for _, status, words in ends))


if __name__ == "__main__":
    sys.exit(main())
