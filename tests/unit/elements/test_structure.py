"""Nested structures: what an element is made of."""

from __future__ import annotations

import collections
import dataclasses
import threading
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases.structures import Pair, Sample

import headrace as hr
from headrace.elements.structure import NAMESPACE, flatten, map_leaves, nbytes_of, normalize, paths_of, unflatten
from headrace.errors import InvalidArgumentError


def test_lists_are_arrays_wherever_they_stand() -> None:
    element = normalize({"a": [1, 2], "b": ([[1.5]], Sample(["x"], [b"y"])), "c": Pair([], None)})
    assert element["a"].dtype == np.int64
    assert element["b"][0].shape == (1, 1)
    assert element["b"][1].x.dtype == object
    assert element["b"][1].y.tolist() == [b"y"]
    assert element["c"].x.shape == (0,)
    with pytest.raises(InvalidArgumentError, match="differ in shape"):
        normalize([[1], [1, 2]])


_LEAVES = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=2),
    st.none(),
    st.just(np.arange(3)),
    st.just(np.float32(1)),
)
_KEYS = st.one_of(st.text(max_size=2), st.integers(0, 3))
_ELEMENTS = st.recursive(
    _LEAVES,
    lambda part: st.one_of(
        st.lists(part, max_size=4).map(tuple),
        st.dictionaries(_KEYS, part, max_size=4),
        st.dictionaries(st.text(max_size=2), part, max_size=4),
        st.dictionaries(st.text(max_size=1), part, max_size=3).map(collections.OrderedDict),
        st.builds(Pair, part, part),
    ),
    max_leaves=8,
)


@given(_ELEMENTS)
def test_an_element_is_taken_apart_as_optree_does_it_and_comes_back_as_it_was(element: Any) -> None:
    (leaves, treedef), (expected, known) = flatten(element), optree.tree_flatten(element, namespace=NAMESPACE)
    assert len(leaves) == len(expected)
    assert all(leaf is other for leaf, other in zip(leaves, expected, strict=True))
    assert (treedef, hash(treedef), treedef.paths()) == (known, hash(known), known.paths())
    assert repr(map_leaves(lambda leaf: leaf, element)) == repr(unflatten(known, expected)) == repr(element)


@pytest.mark.parametrize(
    "element", [1, "a", np.zeros(3), (1, np.zeros(3)), {"b": 1, "a": b""}, ({"x": 1.0, "y": (2, 3)}, 4)]
)
def test_what_is_plain_is_taken_apart_without_optree_which_lets_the_lock_go(
    element: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optree, "tree_flatten", None)
    leaves, treedef = flatten(element)
    assert repr(unflatten(treedef, leaves)) == repr(element)


def test_paths_read_as_they_would_be_written_behind_the_element() -> None:
    _, treedef = flatten({"a": (1, 2), "b": 3})
    assert paths_of(treedef) == ["['a'][0]", "['a'][1]", "['b']"]
    assert paths_of(flatten(3)[1]) == [""]


def test_workers_that_meet_a_dataclass_at_once_all_know_it() -> None:
    failures: list[BaseException] = []
    for _ in range(20):
        kind = dataclasses.make_dataclass("Fresh", ["x"])
        start = threading.Barrier(4)

        def use(kind: Any = kind, start: threading.Barrier = start) -> None:
            try:
                start.wait(30)
                assert flatten(normalize(kind([1])))[0][0].tolist() == [1]
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert failures == []


def test_bytes_are_counted_about_right() -> None:
    assert nbytes_of((np.zeros(10), "four", b"12", 1, np.float32(1), None)) == 80 + 4 + 2 + 8 + 4


def test_a_specification_is_a_leaf_whatever_structures_were_normalized() -> None:
    signature = normalize({"a": hr.TensorSpec((), int)})
    assert flatten(signature)[0] == [hr.TensorSpec((), int)]


@pytest.mark.parametrize(
    "ints", [[2**63, 1], [1, 2**64 - 1], [np.uint64(2**63 + 1), 1], [[2**63 + 1], [1]], [2**63 + 1, True]]
)
def test_a_list_of_ints_is_none_of_floats(ints: list[Any]) -> None:
    found = normalize(ints)
    assert found.dtype == np.uint64
    assert found.tolist() == np.array(ints, object).tolist()
    (sliced,) = hr.Dataset.from_tensor_slices(ints).batch(len(ints))
    assert np.array_equal(sliced, found)


def test_ints_that_no_dtype_holds_are_an_error() -> None:
    for ints in ([2**63, -1], [[2**63], [-1]]):
        with pytest.raises(InvalidArgumentError, match="fit no dtype"):
            normalize(ints)
        with pytest.raises(InvalidArgumentError, match="fit no dtype"):
            hr.Dataset.from_tensor_slices(ints)
    assert normalize([2.0**63, 1]).dtype == normalize([1e300, -1]).dtype == np.float64
