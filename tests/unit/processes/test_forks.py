"""A copy of the process that fork made keeps the arrays that it has, whatever the process does with its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

if not hasattr(os, "fork"):
    pytest.skip("there is no fork here", allow_module_level=True)


def run(program: str, *words: str) -> str:
    """Runs a program in an interpreter of its own, and returns what it prints: nothing else has threads there."""
    command = [sys.executable, "-c", textwrap.dedent(program), *words]
    return subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout


@pytest.mark.parametrize("executor", ["process", "subprocess", "thread"])
def test_a_copy_reads_the_batch_that_it_has(executor: str) -> None:
    program = """
        import os, sys, warnings
        import numpy as np
        import headrace as hr

        warnings.simplefilter("ignore")
        executor = sys.argv[1]
        numbers = hr.Dataset.range(4000)
        if executor == "process":
            ds = numbers.map(lambda x: np.full(50_000, x), num_parallel_calls=2, executor="process")
        else:
            ds = numbers.map(lambda x: np.full(50_000, x)).batch(2).with_options(hr.Options(executor=executor))
        with iter(ds) as batches:
            held = next(batches)
            first = held.copy()
            may_look, begin = os.pipe()
            copy = os.fork()
            if not copy:
                os.read(may_look, 1)
                os._exit(not np.array_equal(held, first))
            del held
            for _ in range(200):
                next(batches)
            os.write(begin, b"1")
            print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
    """
    assert run(program, executor) == "0\n"


def test_a_place_that_a_copy_has_comes_back_when_the_copy_and_its_copies_are_gone() -> None:
    program = """
        import os, time
        from headrace.processes.leases import Leases
        from headrace.processes.slab import Slab

        def sent(slab, leases):
            place = slab.placed(memoryview(bytes(1000)))
            leases.add(slab.fresh())
            return place, leases.bytes_at(place, 1000)

        slab, leases = Slab(), Leases()
        place, array = sent(slab, leases)
        may_end, end = os.pipe()
        ended, ends = os.pipe()
        if not os.fork():
            os.close(end)
            if not os.fork():
                os.read(may_end, 1)
                os._exit(0)
            os._exit(0)
        os.close(ends)
        os.wait()  # the copy; its own copy lives
        other, array_after = sent(slab, leases)
        del array, array_after
        assert leases.gone() == [other], "a place that came into use later is nobody else's"
        assert leases.gone() == []
        os.close(end)
        while not (gone := leases.gone()):
            time.sleep(0)  # until the system has ended it
        assert gone == [place]
        before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
        for _ in range(20):
            if not os.fork():
                os._exit(0)
            os.wait()
        after = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
        assert after <= before + 1, "of copies that are gone nothing is kept"
    """
    run(program)
