"""Reads damaged files for a while, a process for each format, and keeps every file that a reader did not answer for.

    python -m tests.fuzz --seconds 600 --only csv,tar

An answer is an element, or an error under ``HeadraceError``; both may come as often as the file has bytes, and no oftener,
unless the file is compressed.
No answer are another exception, a crash, one that takes longer than ``HANG_S``, and memory beyond the process's limit.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import faulthandler
import logging
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from tests.fuzz.mutations import damaged
from tests.fuzz.targets import TARGETS, Target

import headrace as hr
from headrace.errors import HeadraceError

# So long may the next few thousand answers take; a hundred bytes can be the compressed form of a million records.
HANG_S = 30
_ANSWERS_AT_ONCE = 10_000
# Of a file that may hold any number of records.
_ENOUGH_ANSWERS = 100_000
# What a process may have beyond what it has when it begins: more than any buffer of a reader, less than a length that is
# believed.
_LIMIT_BYTES = 1 << 30
# Of what Python and NumPy allocate for one file: a reader's buffers, and what the elements of the file are.
_PEAK_BYTES = 64 << 20
KEPT = Path("build/fuzz")


def answers(target: Target, path: Path) -> int:
    """How many elements and errors a file gave."""
    try:
        read = target.read(str(path))
        if isinstance(read, hr.Dataset):
            read = read.with_options(hr.Options(executor="inline"))
        iterator = iter(read)
    except HeadraceError:
        return 1
    count, most = 0, _ENOUGH_ANSWERS if target.most_answers is None else path.stat().st_size * target.most_answers + 2
    while count <= most:
        try:
            next(iterator)
        except StopIteration:
            return count
        except HeadraceError:
            if not isinstance(iterator, hr.DatasetIterator):
                return count + 1
        count += 1
        if count % _ANSWERS_AT_ONCE == 0:
            faulthandler.dump_traceback_later(HANG_S, exit=True)
    if target.most_answers is None:
        return count  # the rest would be more of the same
    raise AssertionError(f"more than {most} answers from a file of {path.stat().st_size} bytes")


def fuzz(name: str, seconds: float, seed: int, folder: Path) -> int:
    """Reads damaged files; the one that is read lies in the folder, whatever becomes of this process."""
    logging.getLogger("headrace").setLevel(logging.CRITICAL)
    target = TARGETS[name]
    good = target.good()
    rng = random.Random(seed)
    path = folder / f"{name}{target.suffix}"
    for content in good:
        path.write_bytes(content)
        answers(target, path)  # also imports all that it needs, before memory is limited
    _limit_memory()
    cases, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        path.write_bytes(damaged(rng, rng.choice(good), good))
        _watched(target, path) if cases % 16 == 0 else _bounded(target, path)
        cases += 1
    return cases


def _bounded(target: Target, path: Path) -> None:
    faulthandler.dump_traceback_later(HANG_S, exit=True)
    answers(target, path)
    faulthandler.cancel_dump_traceback_later()


def _watched(target: Target, path: Path) -> None:
    """The same, following each allocation, which makes reading several times slower."""
    # Around the other: its thread frees memory without Python's lock, which it may not do while following begins or ends
    # (CPython 3.11 crashes about once in ten thousand times).
    tracemalloc.start()
    _bounded(target, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < _PEAK_BYTES, f"{peak:,} bytes for a file of {path.stat().st_size:,}"


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return  # on Windows there is no such limit; the peak is looked at all the same
    import psutil

    most = psutil.Process().memory_info().vms + _LIMIT_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def in_a_process(name: str, options: argparse.Namespace) -> bool:
    """Fuzzes one format, and keeps the file on which it ended."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz", "--one", name, "--folder", folder]
        command += ["--seconds", str(options.seconds), "--seed", str(options.seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            print(f"{name:10s} {done.stdout.strip()}", flush=True)
            return True
        KEPT.mkdir(parents=True, exist_ok=True)
        for path in Path(folder).glob(f"{name}.*"):
            path.replace(kept := KEPT / f"{path.stem}-{options.seed}-{int(time.time())}{path.suffix}")
            print(f"{name:10s} FAILED (exit {done.returncode}) on {kept}\n{done.stderr[-3000:]}", flush=True)
        return False


def main() -> int:
    """Fuzzes all formats, or some."""
    parser = argparse.ArgumentParser(description="Read damaged files of every format.")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help=f"some of {', '.join(TARGETS)}, with commas between")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(f"{fuzz(options.one, options.seconds, options.seed, options.folder):,} files")
        return 0
    names = [name for name in options.only.split(",") if name] or list(TARGETS)
    if unknown := set(names) - TARGETS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        clean = list(pool.map(lambda name: in_a_process(name, options), names))
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
