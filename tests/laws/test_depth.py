"""The depth of a plan is bounded by memory: neither by Python's recursion limit nor by the stack of C."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws import deep_chains

import headrace as hr

FIRST = {
    "map": [4_000, 4_001, 4_002, 4_003, 4_004, 4_005],
    "parallel map": [1_000, 1_001, 1_002, 1_003, 1_004, 1_005],
    "concatenate before": [0] * 6,
    "take": [0, 1, 2, 3, 4],
}


@pytest.mark.parametrize("kind", deep_chains.STEPS)
def test_a_chain_of_thousands_of_operations_does_all_that_one_does(kind: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", deep_chains.__file__, kind],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(hr.__file__).parents[1])},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    delivered = json.loads(ran.stdout)
    assert (sorted(delivered) if kind == "shuffle" else delivered) == FIRST.get(kind, [0, 1, 2, 3, 4, 5])


Step = tuple[Callable[[hr.Dataset], hr.Dataset], Callable[[list[int]], list[int]]]

STEPS: list[Step] = [
    (lambda ds: ds.map(lambda x: x + 1), lambda xs: [x + 1 for x in xs]),
    (lambda ds: ds.map(lambda x: x ^ 1, num_parallel_calls=2), lambda xs: [x ^ 1 for x in xs]),
    (lambda ds: ds.take(7), lambda xs: xs[:7]),
    (lambda ds: ds.skip(1), lambda xs: xs[1:]),
    (lambda ds: ds.filter(lambda x: x % 5 != 0), lambda xs: [x for x in xs if x % 5]),
    (lambda ds: ds.concatenate(hr.Dataset.range(2)), lambda xs: [*xs, 0, 1]),
    (lambda ds: hr.Dataset.range(2).concatenate(ds), lambda xs: [0, 1, *xs]),
    (lambda ds: ds.batch(2).unbatch(), lambda xs: xs),
    (lambda ds: ds.shard(2, 1), lambda xs: xs[1::2]),
    (lambda ds: ds.enumerate().map(lambda i, x: i + x), lambda xs: [i + x for i, x in enumerate(xs)]),
    (lambda ds: hr.Dataset.zip(ds, ds).map(lambda a, b: a + b - b), lambda xs: xs),
    (lambda ds: ds.repeat(1), lambda xs: xs),
    (lambda ds: ds.shuffle(1), lambda xs: xs),
    (
        lambda ds: ds.take_while(lambda x: x < 300),
        lambda xs: xs[: next((i for i, x in enumerate(xs) if x >= 300), None)],
    ),
]
# A zip of a dataset with itself doubles the plan: a few of them are as many as a chain can have.
DOUBLES = 10


@given(
    st.lists(st.sampled_from([number for number in range(len(STEPS)) if number != DOUBLES]), max_size=300),
    st.integers(0, 300),
    st.sampled_from([hr.Options(), hr.Options(optimize=False), hr.Options(executor="inline")]),
    st.integers(0, 5),
)
def test_generated_chains_mean_what_their_operations_mean_one_after_the_other(
    steps: list[int], doubled_at: int, options: hr.Options, taken: int
) -> None:
    steps = [*steps[:doubled_at], DOUBLES, *steps[doubled_at:]]
    ds, meant = functools.reduce(_extended, steps, (hr.Dataset.range(4), list(range(4))))
    ds = ds.with_options(options)
    with iter(ds) as iterator:
        first: list[Any] = [element for _, element in zip(range(taken), iterator, strict=False)]
        state = json.loads(json.dumps(iterator.state_dict()))
    with iter(ds) as iterator:
        iterator.load_state_dict(state)
        assert [*first, *iterator] == meant


def _extended(chain: tuple[hr.Dataset, list[int]], step: int) -> tuple[hr.Dataset, list[int]]:
    ds, meant = chain
    operation, meaning = STEPS[step]
    return operation(ds), meaning(meant)


def test_plans_of_ordinary_depth_leave_the_recursion_limit_alone() -> None:
    code = (
        "import sys, headrace as hr\nds = hr.Dataset.range(3)\n"
        "for _ in range(30): ds = ds.map(lambda x: x)\n"
        "list(ds); ds.element_spec; print(sys.getrecursionlimit())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert int(ran.stdout) == 1000


def test_a_limit_that_the_user_set_is_kept_beside_what_a_plan_needs() -> None:
    code = (
        "import sys, headrace as hr\nsys.setrecursionlimit(5_000)\nds = hr.Dataset.range(3)\n"
        "for _ in range(2_000): ds = ds.take(3)\n"
        "raised = sys.getrecursionlimit()\nsys.setrecursionlimit(700)\nassert [x for x in iter(ds)] == [0, 1, 2]\n"
        "print(raised > 5_000 + 2_000, sys.getrecursionlimit() > 700 + 2_000)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["True", "True"]


@pytest.mark.parametrize("executor", ["subprocess", "process"])
def test_a_process_has_the_limit_of_the_program_and_no_room_for_plans_that_it_does_not_read(executor: str) -> None:
    code = (
        "import sys, headrace as hr\n"
        "def limit(x): return sys.getrecursionlimit()\n"
        "def limits(ds):\n"
        f"    return list(ds.map(limit, num_parallel_calls=1).with_options(hr.Options(executor={executor!r})))\n"
        "deep = hr.Dataset.range(1)\n"
        "for _ in range(2_000): deep = deep.take(3)\n"
        "assert limits(deep)\n"
        "print(sys.getrecursionlimit() > 2_000, *limits(hr.Dataset.range(1)))\n"
        "sys.setrecursionlimit(3_000)\n"
        "print(*limits(hr.Dataset.range(1)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout.split(), ran.stderr) == (["True", "1000", "3000"], "")


def test_the_words_for_where_an_element_came_from_do_not_grow_with_the_depth() -> None:
    ds = hr.Dataset.range(8)
    for _ in range(60):
        ds = ds.batch(3).unbatch()
    ds = ds.map(lambda x: 1 // (x - 3))
    for executor in ("thread", "inline"):
        with pytest.raises(hr.errors.DataError) as caught:
            list(ds.with_options(hr.Options(executor=executor)))
        assert 0 < len(caught.value.origin or "") < 1_000
