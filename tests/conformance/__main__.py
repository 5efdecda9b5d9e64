"""Random chains in tf.data and in headrace, compared element for element, errors with their kinds and places.

    python -m tests.conformance --chains 20000 --seed 1
    python -m tests.conformance --differences

It prints how many chains of how many operations agreed; the first that differs is made short and printed, and the exit
status is 1. What is known to differ stands in docs/conformance.md, and chains are kept from it where they are drawn; with
``--differences`` the programs of that page are run on both sides instead, and compared with what it says that they print.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import json
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conformance.differences import compare
from tests.conformance.finals import FINALS
from tests.conformance.sides import HEADRACE, Event, Headrace, events_of, tensorflow_side
from tests.conformance.sources import sources, write_files
from tests.conformance.steps import STEPS

if TYPE_CHECKING:
    from tests.conformance.drawn import Drawn

LIMIT = 60
_SHOWN = 12  # events of a chain that differs
# Chains of one process: enough that starting TensorFlow does not count, and few to lose when it crashes.
_JOB = 500
# Behind a failure, other operations differ on purpose (docs/decisions/0009), or TensorFlow never ends.
_BEHIND_FAILURES = frozenset(
    {"map", "failing map", "filter", "unbatch", "flat_map", "ignore_errors", "prefetch", "zip", "failing zip"}
)


# What TensorFlow gives one error for at every further call.
_FAILS_FOR_EVER = ("absent", "assert", "broken", "FixedLength")
_READ_TWICE = frozenset(
    {"concatenate", "zip", "choose_from_datasets", "sample_from_datasets", "repeat", "rejection_resample"}
)


# What a Python function makes is known of its first element alone; an order is each library's own; and headrace knows more
# lengths.
_FUNCTIONS = ("map", "scan", "flat_map", "interleave", "window", "group_by_window", "rejection_resample")
_WITHOUT_NUMBERS = (
    *("from_generator", "filter", "take_while", "flat_map", "interleave", "scan", "group_by_window"),
    *("bucket_by_sequence_length", "unbatch", "rebatch", "window", "unique", "ignore_errors"),
    *("choose_from_datasets", "sample_from_datasets", "rejection_resample"),
)
_KEPT_FROM = {
    # Behind ignore_errors as well: what it leaves out are failures of functions.
    "element_spec": (*_FUNCTIONS, "bucket_by_sequence_length", "ignore_errors"),
    "at": ("shuffle", *_WITHOUT_NUMBERS),
    "cardinality": ("rebatch",),
}


def drawn_chain(rng: random.Random, first: list[Any], most: int) -> list[Drawn]:
    """A source, and steps that suit what comes before them."""
    chain = [rng.choice(first)(rng, None)]
    fails = chain[0].fails
    for _ in range(rng.randint(0, most)):
        if chain[-1].kind is None:
            return chain
        name = rng.choice(list(STEPS))
        if fails and name not in _BEHIND_FAILURES:
            continue
        if name in _READ_TWICE and chain[0].text.startswith("from_generator"):
            continue  # TensorFlow's generators crash now and then when several iterators run one
        if name in ("zip", "failing zip") and fails and any(step.text.startswith(("zip", "batch")) for step in chain):
            continue  # TensorFlow's zip ends a row early where one of these fails, and ends at once
        if name in ("ignore_errors", "zip", "failing zip") and any(
            word in step.text for step in chain for word in _FAILS_FOR_EVER
        ):
            continue  # TensorFlow fails again and again, for ever
        step = STEPS[name](rng, chain[-1].kind)
        if step is not None:
            chain.append(step)
            fails = (fails or step.fails) and name != "ignore_errors"
    if chain[-1].kind is not None and not fails and rng.random() < 0.3:
        name = rng.choice(list(FINALS))
        if not any(step.text.partition("(")[0] in _KEPT_FROM.get(name, ()) for step in chain):
            chain.append(FINALS[name](rng, chain[-1].kind))
    return chain


def outcome(side: Headrace, chain: list[Drawn]) -> list[Event]:
    """What a chain gives on a side."""
    made: Any = None
    try:
        for step in chain:
            made = step.apply(side, made)
        iterator = None if chain[-1].is_last else iter(made)
    except Exception as error:
        return [("contradicts itself", "")] if _CONTRADICTION in str(error) else [("refused", _refusal(side, error))]
    if iterator is not None:
        return list(events_of(side, iterator, LIMIT))
    if chain[-1].text.startswith("element_spec"):
        return [("spec", made)]
    return [("result", side.plain(made))]


def _refusal(side: Headrace, error: Exception) -> str:
    """A wrong value or a wrong type; where TensorFlow has two names for a wrong value, they are one."""
    kind = side.kind_of(error)
    return "InvalidArgument" if kind in ("ValueError", "InvalidArgument", "IndexError") else kind


# TensorFlow takes some chains of datasets that were chosen from, and then makes no iterator of them: their shapes, of which its
# Python half and its C++ half think otherwise, are incompatible.
_CONTRADICTION = "[Op:MakeIterator]"
# What TensorFlow's `at` says where it cannot, by what stands last.
_NO_RANDOM_ACCESS = ([("refused", "Unimplemented")], [("refused", "FailedPrecondition")])


def knows_as_much(wanted: Any, found: Any) -> bool:
    """Whether a spec of headrace's has the dtypes of TensorFlow's, and each size that is known there; it may know more."""
    if isinstance(wanted, dict):
        return wanted.keys() == found.keys() and all(knows_as_much(wanted[key], found[key]) for key in wanted)
    if not isinstance(wanted[0], str):
        return len(wanted) == len(found) and all(knows_as_much(*pair) for pair in zip(wanted, found, strict=True))
    (dtype, sizes), (own_dtype, own) = wanted, found
    alike = sizes is None or (own is not None and len(own) == len(sizes))
    return dtype == own_dtype and alike and all(a in (None, b) for a, b in zip(sizes or (), own or (), strict=False))


def agree(wanted: list[Event], found: list[Event]) -> bool:
    """Whether headrace gives what TensorFlow does, as far as TensorFlow goes.

    An error that TensorFlow gives again and again, for ever, counts once, and what comes behind it is headrace's own. What
    TensorFlow refuses because its graph knows the elements, headrace may say in place of every element; and it may have random
    access where TensorFlow has none.
    """
    if wanted == found or wanted in _NO_RANDOM_ACCESS or wanted[:1] == [("contradicts itself", "")]:
        return True
    if [kind for kind, _ in (*wanted, *found)] == ["spec", "spec"]:
        return knows_as_much(wanted[0][1], found[0][1])
    if wanted and wanted[0][0] == "refused":
        # The kinds may be others: a source that fails is asked first, and the chain fails only where it gives elements.
        return all(kind == "error" for kind, _ in found)
    end = len(wanted)
    while end > 1 and wanted[end - 1][0] == "error" and wanted[end - 2] == wanted[end - 1]:
        end -= 1
    return len(wanted) == LIMIT and end < LIMIT and wanted[:end] == found[:end]


def shortened(tf: Headrace, chain: list[Drawn]) -> list[Drawn]:
    """The chain without the steps that the difference does not need."""
    for at in range(len(chain) - 1, 0, -1):
        shorter = chain[:at] + chain[at + 1 :]
        if _differs(tf, shorter):
            return shortened(tf, shorter)
    return chain


def _differs(tf: Headrace, chain: list[Drawn]) -> bool:
    try:
        return not agree(outcome(tf, chain), outcome(HEADRACE, chain))
    except Exception:
        return False


def compared(arguments: tuple[int, int, int, str]) -> tuple[int, collections.Counter[str], list[str]]:
    """Chains of one process: how many agreed, how often each operation took part, and differences in words."""
    seed, count, most, folder = arguments
    logging.getLogger("headrace").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    tf = tensorflow_side()
    tf.module.get_logger().setLevel("CRITICAL")
    rng, drawn_sources = random.Random(seed), sources(Path(folder))
    agreed, taken = 0, collections.Counter[str]()
    differences: list[str] = []
    for number in range(count):
        chain = drawn_chain(rng, drawn_sources, most)
        wanted, found = outcome(tf, chain), outcome(HEADRACE, chain)
        taken.update(step.text.partition("(")[0] for step in chain)
        for event in wanted:
            if event[0] in ("error", "refused", "contradicts itself"):
                taken[f"{event[0]} {event[1]}"] += 1
        if agree(wanted, found):
            agreed += 1
        elif len(differences) < 5:
            differences.append(_words(tf, chain, number))
    return agreed, taken, differences


def in_a_process(options: argparse.Namespace, number: int, count: int) -> Any:
    """Chains in a process of their own: TensorFlow crashes now and then, and then others are drawn in their place."""
    for attempt in range(10):
        job = options.seed * 100_000 + number * 10 + attempt
        command = [sys.executable, "-m", "tests.conformance", "--job", str(job), "--chains", str(count)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            # A chain takes a twentieth of a second; one that TensorFlow never ends is a crash like another.
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, timeout=300
            )
            if done.returncode == 0:
                return json.loads(done.stdout.splitlines()[-1])
        print(f"TensorFlow crashed or hung in job {job}; others are drawn instead", file=sys.stderr, flush=True)
    return [0, {}, [f"TensorFlow crashed in every attempt at job {number}"]]


def _words(tf: Headrace, chain: list[Drawn], number: int) -> str:
    short = shortened(tf, chain)
    lines = [f"chain {number}: " + ".".join(step.text for step in short)]
    for side in (tf, HEADRACE):
        events = outcome(side, short)
        more = f" and {len(events) - _SHOWN} more" if len(events) > _SHOWN else ""
        lines.append(f"  {side.name}: {events[:_SHOWN]}{more}")
    return "\n".join(lines)


def main() -> int:
    """Compares, and prints what came out."""
    parser = argparse.ArgumentParser(description="Compare headrace with tf.data on random chains.")
    parser.add_argument("--chains", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=5, help="at most so many operations behind a source")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--differences", action="store_true", help="run the programs of docs/conformance.md instead")
    parser.add_argument("--write", action="store_true", help="with --differences: put what they print into the page")
    options = parser.parse_args()
    if options.differences:
        wrong = compare(write=options.write)
        sys.stdout.flush()
        os._exit(1 if wrong else 0)  # threads that hang in TensorFlow would keep the process
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        write_files(Path(folder))
        if options.job is not None:
            agreed, taken, differences = compared((options.job, options.chains, options.steps, folder))
            print(json.dumps([agreed, taken, differences]))
            return 0
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        shares = [len(range(i, options.chains, -(-options.chains // _JOB))) for i in range(-(-options.chains // _JOB))]
        results = list(pool.map(lambda job: in_a_process(options, *job), enumerate(shares)))
    agreed = sum(result[0] for result in results)
    taken = sum((collections.Counter(result[1]) for result in results), collections.Counter[str]())
    differences = list(itertools.chain.from_iterable(result[2] for result in results))
    operations = sorted((name, count) for name, count in taken.items() if " " not in name)
    print("\n".join(f"{name:28s} {count:7,}" for name, count in operations))
    print("\n".join(f"{name:28s} {count:7,}" for name, count in sorted(taken.items()) if " " in name))
    seconds = time.perf_counter() - start
    print(
        f"{agreed:,} of {options.chains:,} chains of {len(operations)} operations agreed ({seconds:.0f} s, seed {options.seed})"
    )
    print("\n".join(differences))
    return 0 if agreed == options.chains else 1


if __name__ == "__main__":
    sys.exit(main())
