"""None, tuples, dicts and lists in arrays of objects are structure once they are elements, wherever they come from.

So a batch is the same, or the same error, on every backend, with or without an identity map before it.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.testing.restoring import check_every_restore_point, delivered, same


@dataclasses.dataclass
class Fields:
    x: Any


def objects(values: list[Any]) -> np.ndarray:
    return np.fromiter(values, dtype=object, count=len(values))


ITEMS = st.one_of(
    st.none(),
    st.sampled_from(["a", "b", b"c", 1, 2.5]),
    st.sampled_from([(1, 2), ("a",), {"x": 1}, [1, 2], collections.Counter("a"), np.arange(2)]),
    st.builds(Fields, st.integers(0, 3)),
)
COLUMNS = st.one_of(
    st.lists(st.sampled_from(["a", None]), min_size=1, max_size=6), st.lists(ITEMS, min_size=1, max_size=6)
)

SOURCES: dict[str, Callable[[list[Any]], hr.Dataset]] = {
    "slices": lambda values: hr.Dataset.from_tensor_slices(objects(values)),
    "slices of a pair": lambda values: hr.Dataset.from_tensor_slices((objects(values), np.arange(len(values)))),
    "slices of a dict": lambda values: hr.Dataset.from_tensor_slices({"a": objects(values)}),
    "unbatch": lambda values: hr.Dataset.from_tensors(objects(values)).unbatch(),
    "unbatch of a pair": lambda values: hr.Dataset.from_tensors((objects(values), np.arange(len(values)))).unbatch(),
    "generator": lambda values: hr.Dataset.from_generator(lambda: iter(values)),
    "map": lambda values: hr.Dataset.range(len(values)).map(lambda n: values[n]),
    "a vectorized map": lambda values: hr.Dataset.range(len(values)).map(
        hr.vectorized(lambda numbers: objects([values[n] for n in numbers]))
    ),
    "a zip": lambda values: hr.Dataset.zip((hr.Dataset.from_tensor_slices(objects(values)), hr.Dataset.range(9))),
}
STEPS: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "nothing": lambda ds: ds,
    "identity": lambda ds: ds.map(unchanged),
    "batch": lambda ds: ds.batch(2),
    "batch of one": lambda ds: ds.batch(1),
    "identity and batch": lambda ds: ds.map(unchanged).batch(2),
    "parallel identity and batch": lambda ds: ds.map(unchanged, num_parallel_calls=2).batch(2),
    "shuffle and batch": lambda ds: ds.shuffle(3, seed=1).batch(3),
    "cache and batch": lambda ds: ds.cache().batch(2),
    "batch and unbatch": lambda ds: ds.batch(2).unbatch(),
    "padded batch": lambda ds: ds.padded_batch(2),
    "window": lambda ds: ds.batch(2).unbatch().batch(2),
    "prefetch and batch": lambda ds: ds.prefetch(2).batch(2),
}


def outcomes(build: Callable[[], hr.Dataset], executor: str) -> list[Any]:
    """What the first epoch gives, and errors without their place."""
    with iter(build().with_options(hr.Options(executor=executor))) as iterator:
        return [
            (type(one), str(one.reason)) if isinstance(one, hr.errors.HeadraceError) else one
            for one in delivered(iterator, 20)
        ]


def assert_same(one: list[Any], other: list[Any]) -> None:
    assert len(one) == len(other), (one, other)
    for a, b in zip(one, other, strict=True):
        is_error = isinstance(a, tuple) and a and isinstance(a[0], type)
        assert a == b if is_error else same(a, b), (one, other)


def unchanged(*element: Any) -> Any:
    return element if len(element) > 1 else element[0]


@given(COLUMNS, st.sampled_from(sorted(SOURCES)), st.sampled_from(sorted(STEPS)))
def test_backends_agree_on_columns_of_objects(values: list[Any], source: str, step: str) -> None:
    def build() -> hr.Dataset:
        return STEPS[step](SOURCES[source](values))

    assert_same(outcomes(build, "thread"), outcomes(build, "inline"))


@given(COLUMNS, st.sampled_from(["slices", "unbatch", "a vectorized map"]), st.sampled_from(sorted(STEPS)))
def test_an_identity_map_changes_nothing(values: list[Any], source: str, step: str) -> None:
    values = [value for value in values if not isinstance(value, tuple)] or [None]  # a map unpacks those

    def build() -> hr.Dataset:
        return STEPS[step](SOURCES[source](values))

    def mapped() -> hr.Dataset:
        return STEPS[step](SOURCES[source](values).map(unchanged))

    for executor in ("thread", "inline"):
        assert_same(outcomes(build, executor), outcomes(mapped, executor))


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_texts_and_none_make_no_batch_and_nones_make_none(executor: str) -> None:
    options = hr.Options(executor=executor)
    mixed = hr.Dataset.from_tensor_slices(objects(["a", None])).with_options(options)
    assert list(mixed) == ["a", None]
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"differ in structure: \* and None"):
        list(mixed.batch(2))
    assert list(hr.Dataset.from_tensor_slices(objects([None, None])).batch(2).with_options(options)) == [None]


@pytest.mark.parametrize("source", sorted(set(SOURCES) - {"generator"}))
def test_they_resume_at_every_element(source: str) -> None:
    check_every_restore_point(SOURCES[source](["a", None, (1, 2), None, "b"]), executors=("thread", "inline"))


def test_what_an_array_holds_within_an_element_stays_in_it() -> None:
    ds = hr.Dataset.from_tensors(objects(["a", None])).batch(1)
    for executor in ("thread", "inline"):
        (batch,) = ds.with_options(hr.Options(executor=executor))
        assert batch.tolist() == [["a", None]]
