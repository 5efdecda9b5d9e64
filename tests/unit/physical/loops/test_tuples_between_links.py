"""Tuples that one link of a chain gives and the next one takes part by part: what is of another form is what it is alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.iterator import DatasetIterator
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.run_policy import RunPolicy
from headrace.testing.restoring import delivered, same

# What a function returns of a row mostly, and at times; an array is the same one each time, filled anew.
LIKE = "like"
OTHERS = ["list", "short", "long", "empty", "none", "leaf", "text", "real", "array", "list within", "deep", "error"]


def returned(kind: str, n: int, buffer: Any) -> Any:
    """What a function returns of a row, of that kind."""
    buffer[:] = n
    match kind:
        case "error":
            raise ValueError(f"{n} is wrong")
        case "list":
            return [n, str(n)]
        case "none":
            return None
        case "leaf":
            return n
        case "text":
            return "ab"
    return {
        LIKE: (n, str(n)),
        "short": (n,),
        "long": (n, str(n), n),
        "empty": (),
        "real": (float(n), str(n)),
        "array": (n, buffer),
        "list within": (n, [n, n]),
        "deep": (n, (n, str(n))),
    }[kind]


@given(st.dictionaries(st.integers(3, 39), st.sampled_from(OTHERS), max_size=12), st.booleans(), st.booleans())
def test_the_next_link_gets_what_it_would_get_alone(others: dict[int, str], is_filtered: bool, is_last: bool) -> None:
    def make(n: int) -> Any:
        return returned(others.get(n, LIKE), n, buffer)

    buffer = np.zeros(2)
    dataset = hr.Dataset.range(40).map(make)
    if is_filtered:
        dataset = dataset.filter(lambda *parts: len(parts) != 3)
    if not is_last:
        dataset = dataset.map(lambda *parts: ("given", *parts))
    found = [
        list(delivered(DatasetIterator(dataset.__headrace_plan__(), policy=RunPolicy(loops=loops)), 1_000))
        for loops in (LoopPolicy(probed=0), LoopPolicy(probed=1))
    ]
    expected = list(delivered(iter(dataset.with_options(hr.Options(executor="inline", optimize=False))), 1_000))
    assert len(expected) == 40 - is_filtered * sum(kind == "long" for kind in others.values())
    for one in found:
        assert list(map(_shown, one)) == list(map(_shown, expected))
        assert all(same(made, wanted) for made, wanted in zip(one, expected, strict=True) if not _failed(wanted))


def _failed(element: Any) -> bool:
    return isinstance(element, BaseException)


def _shown(element: Any) -> Any:
    return str(element) if _failed(element) else type(element)
