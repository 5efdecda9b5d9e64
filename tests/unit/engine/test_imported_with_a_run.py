"""What a run imports: what its plan has, and nothing that only other plans need."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

SERIAL = """import headrace as hr
numbers = hr.Dataset.range(1000).shuffle(100, seed=1).map(lambda x: x + 1).filter(lambda x: x % 2 == 0)
plan = numbers.map(lambda x: (x, x)).batch(4).enumerate().skip(1).repeat(2).take(10)
iterator = iter(plan)
next(iterator)
iterator.close()
"""
PLAN = "import headrace as hr\nplan = hr.Dataset.range(8)"
READ = "\nlist(plan)"

# What is added to a plan of a source, and modules that come with it and with nothing that is serial.
BROUGHT = {
    ".map(str, num_parallel_calls=2)" + READ: {
        "backends.thread", "physical.learned_together", "physical.stages.elementwise_parallel", "physical.workers.parallel_stage",
    },
    ".map(str, num_parallel_calls=hr.AUTOTUNE)" + READ: {
        "analysis.calls", "physical.workers.calls_tuner", "physical.workers.concurrency_tuner", "physical.workers.tuned_calls",
        "physical.workers.tuned_stage", "physical.workers.tuned_workers",
    },
    ".batch(2, num_parallel_calls=2)" + READ: {"physical.stages.grouping_parallel", "physical.workers.parallel_stage"},
    ".map(hr.vectorized(abs))" + READ: {"physical.loops.whole", "physical.stages.elementwise_vectorized"},
    ".map(str, on_error='skip')" + READ: {"physical.stages.skipping"},
    ".prefetch(1)" + READ: {"physical.stages.buffering_ahead", "physical.workers.overlap_tuner", "physical.workers.prefetch"},
    ".cache()" + READ: {"physical.stages.buffering", "physical.stages.buffering_kept", "semantics.buffering"},
    ".window(2).flat_map(lambda w: w.batch(2))" + READ: {
        "physical.at_once", "physical.stages.nesting", "physical.stages.windowing", "physical.workers.reading_place",
    },
    ".flat_map(lambda x: hr.Dataset.range(x).batch(2))" + READ: {
        "physical.stages.at_once.grouping", "physical.stages.at_once.sources",
    },
    ".as_numpy_iterator().next()": {"iterator.numpy_iterator"},
    ".batch(2).with_options(hr.Options(executor='inline'))" + READ: {"backends.inline", "backends.reference"},
    "\niter(plan).stats()": {"observe.stats"},
    "\nhr.ranks.current()": {"ranks.frameworks", "ranks.here", "ranks.rank"},
    "\niter(plan).state_dict()": {"plan.fingerprint"},
}  # fmt: skip


@cache
def modules_after(program: str) -> frozenset[str]:
    code = f"import sys\n{program}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return frozenset(result.stdout.split())


@pytest.mark.parametrize("what", BROUGHT)
def test_what_only_other_plans_need_is_imported_with_them(what: str) -> None:
    brought = {f"headrace.{name}" for name in BROUGHT[what]}
    assert brought <= modules_after(PLAN + what)
    assert brought.isdisjoint(modules_after(SERIAL))


def test_a_serial_plan_imports_the_stages_of_its_operations_alone() -> None:
    loaded = modules_after(SERIAL) - modules_after("import headrace")
    stages = {
        name.rpartition(".")[2].partition("_")[0] for name in loaded if name.startswith("headrace.physical.stages.")
    }
    assert stages == {"sources", "shuffling", "elementwise", "grouping", "sequencing"}
    # What looks for a held lock begins when a run has lasted, and a file that is mapped comes with a source of files.
    beyond = loaded - modules_after("import numpy.random, optree")
    assert beyond.isdisjoint({"ctypes", "mmap", "inspect", "traceback", "concurrent.futures", "json", "logging"})
