"""Functions over arrays find the memory of the last element again, in whichever thread they are called."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import textwrap

import pytest

from headrace.freed_memory import keep_freed_memory

# Of an element of this program, where the system hands out all pages anew: eight arrays of two megabytes.
PAGES = 8 * 512
PROGRAM = """
    import resource
    import numpy as np
    import headrace as hr

    def loudness(number):
        waves = [np.full(250_000, number, np.float64) for _ in range(8)]
        return sum(wave[0] for wave in waves)

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    ds = hr.Dataset.range(120).map(loudness, num_parallel_calls=CALLS).batch(8)
    batches = iter(ds)
    for _ in range(5):
        next(batches)
    before = faults()
    for _ in batches:
        pass
    print((faults() - before) // 80)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators than glibc's do not learn")
@pytest.mark.parametrize("calls", [None, 2])
def test_arrays_that_a_function_makes_are_not_asked_of_the_system_at_each_element(calls: int | None) -> None:
    program = textwrap.dedent(PROGRAM).replace("CALLS", str(calls))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, env=environment, capture_output=True, text=True
    )
    assert int(run.stdout) < PAGES / 8


def test_freed_memory_is_spoken_of_once() -> None:
    for _ in range(3):
        keep_freed_memory()
    assert keep_freed_memory.cache_info().misses == 1
