"""An iterator with NumPy's numbers gives what each element is with NumPy's numbers, however its elements lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.elements.as_numpy import as_numpy

COUNTS = st.sampled_from([0, 1, 2, 15, 16, 17, 40])
COLUMNS: dict[str, Callable[[int], Any]] = {
    "int64": np.arange,
    "int32": lambda count: np.arange(count, dtype=np.int32),
    "of the other byte order": lambda count: np.arange(count, dtype=np.dtype(np.int64).newbyteorder("S")),
    "float64": lambda count: np.arange(count) / 7,
    "float32": lambda count: np.arange(count, dtype=np.float32),
    "complex128": lambda count: np.arange(count) * 1j,
    "bool": lambda count: np.arange(count) % 3 == 0,
    "datetime64": lambda count: np.arange(count).astype("M8[s]"),
    "texts": lambda count: np.array([f"é{number}\0" for number in range(count)], object),
    "bytes": lambda count: np.array([b"%d" % number for number in range(count)], object),
    "rows": lambda count: np.arange(2 * count).reshape(count, 2),
    "records": lambda count: np.zeros(count, [("a", np.int8), ("b", np.float32)]),
}
NAMES = st.sampled_from(sorted(COLUMNS))
STRUCTURES = st.recursive(
    NAMES,
    lambda parts: st.one_of(
        st.tuples(parts),
        st.tuples(parts, parts),
        st.dictionaries(st.sampled_from("cab"), parts, min_size=1, max_size=3),
    ),
    max_leaves=5,
)
STEPS: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "nothing": lambda dataset: dataset,
    "shuffle": lambda dataset: dataset.shuffle(8, seed=1, reshuffle_each_iteration=False),
    "whole shuffle": lambda dataset: dataset.shuffle(100, seed=1, reshuffle_each_iteration=False),
    "take": lambda dataset: dataset.take(33),
    "filter": lambda dataset: dataset.enumerate().filter(lambda index, _: index % 2 == 0),
    "map": lambda dataset: dataset.map(lambda *parts: (parts, 1, 2.5)),
    "zip": lambda dataset: hr.Dataset.zip((hr.Dataset.range(30), dataset)),
    "batch": lambda dataset: dataset.batch(3),
    "cache": lambda dataset: dataset.cache(),
    "repeat": lambda dataset: dataset.repeat(2),
}


def made(structure: Any, count: int) -> Any:
    if isinstance(structure, tuple):
        return tuple(made(part, count) for part in structure)
    if isinstance(structure, dict):
        return {key: made(part, count) for key, part in structure.items()}
    return COLUMNS[structure](count)


def described(value: Any) -> Any:
    if isinstance(value, tuple):
        return [described(part) for part in value]
    if isinstance(value, dict):
        return [(key, described(part)) for key, part in value.items()]
    return type(value), getattr(value, "dtype", None), repr(value)


@pytest.mark.parametrize("step", sorted(STEPS))
@given(structure=STRUCTURES, count=COUNTS, skipped=st.integers(0, 20))
def test_its_elements_are_those_of_the_dataset(step: str, structure: Any, count: int, skipped: int) -> None:
    dataset = STEPS[step](hr.Dataset.from_tensor_slices(made(structure, count)))
    expected = [described(as_numpy(element)) for element in dataset]
    numbers = dataset.as_numpy_iterator()
    begun = [described(element) for element in islice(numbers, skipped)]
    state = numbers.state_dict()
    assert begun + [described(element) for element in numbers] == expected
    again = dataset.as_numpy_iterator()
    again.load_state_dict(state)
    assert [described(element) for element in again] == expected[len(begun) :]


def test_what_a_record_holds_is_read_only_here_as_well() -> None:
    records = hr.Dataset.from_tensor_slices(np.zeros(40, [("a", np.int8)]))
    for element, same in zip(records.as_numpy_iterator(), records, strict=True):
        assert element.flags.writeable == same.flags.writeable
