"""Many elements as rows and as columns: how they become arrays and come back."""

from __future__ import annotations

import collections
import dataclasses
import enum
from typing import Any

import attr
import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases.structures import Pair, Sample

from headrace.elements.ownership import read_only, read_only_rows
from headrace.elements.rows_and_columns import columns_of, normalize_rows, rows_of, rows_of_leaves, scalars_as_elements
from headrace.elements.structure import flatten, normalize, paths_of, stack, unflatten
from headrace.errors import InvalidArgumentError
from headrace.testing.restoring import same

LEAVES: list[st.SearchStrategy[Any]] = [
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.text(),
    st.binary(),
    st.integers(-128, 127).map(np.int8),
    st.floats(width=32).map(np.float32),
    st.integers(0, 2**40).map(lambda n: np.datetime64(n, "s")),
    st.lists(st.integers(0, 9), min_size=3, max_size=3).map(np.array),
    st.lists(st.text(), min_size=2, max_size=2).map(lambda texts: np.array(texts, dtype=object)),
    st.integers().map(lambda n: collections.Counter({n: 1})),
]


def elements(depth: int = 3) -> st.SearchStrategy[st.SearchStrategy[Any]]:
    """Strategies for elements of one structure, with one kind of value in each leaf."""
    leaf = st.sampled_from(LEAVES)
    if not depth:
        return leaf
    inner = elements(depth - 1)
    return st.one_of(
        leaf,
        st.lists(inner, max_size=3).map(lambda parts: st.tuples(*parts)),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(st.fixed_dictionaries),
        st.tuples(inner, inner).map(lambda parts: st.builds(Pair, *parts)),
        st.tuples(inner, inner).map(lambda parts: st.builds(Sample, *parts)),
        st.just(st.none()),
    )


ROWS = (
    elements().flatmap(lambda one: st.lists(one, min_size=1, max_size=6)).map(lambda rows: [normalize(r) for r in rows])
)


def sum_of_lists(lists: list[list[Any]]) -> list[Any]:
    return [item for items in lists for item in items]


@given(ROWS)
def test_rows_that_become_columns_come_back_as_they_were(rows: list[Any]) -> None:
    treedef, columns = columns_of(rows)
    assert all(len(column) == len(rows) for column in columns)
    if columns:
        assert all(map(same, rows_of(treedef, columns), rows))


@given(ROWS, st.data())
def test_a_row_is_the_same_whatever_run_it_came_in(rows: list[Any], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    treedef, columns = columns_of(rows)
    alone, single = columns_of(rows[at : at + 1])
    assert alone == treedef
    for column, one in zip(columns, single, strict=True):
        assert column.dtype == one.dtype
        assert column.shape[1:] == one.shape[1:]


@given(ROWS)
def test_flattening_and_normalizing_change_nothing_that_is_normal(rows: list[Any]) -> None:
    for row in rows:
        leaves, treedef = flatten(row)
        assert same(unflatten(treedef, leaves), row)
        assert same(normalize(row), row)
        assert len(paths_of(treedef)) == len(leaves)
    assert all(map(same, normalize_rows(rows, set(map(type, rows))), rows))
    assert all(map(same, read_only_rows(rows), rows))


@given(st.lists(st.one_of(ROWS, ROWS, st.just([{"b": 1, "a": np.zeros(2)}])), min_size=1, max_size=3).map(sum_of_lists))
def test_many_elements_are_handed_out_as_each_by_itself_would_be(rows: list[Any]) -> None:
    for row, seen, alone in zip(rows, read_only_rows(rows), map(read_only, rows), strict=True):
        assert same(seen, alone)
        assert list(seen) == list(row) if type(row) is dict else True  # in its own order
        assert not any(leaf.flags.writeable for leaf in flatten(seen)[0] if isinstance(leaf, np.ndarray))
        assert ids_of_what_can_be_changed(seen).isdisjoint(ids_of_what_can_be_changed(row))


def ids_of_what_can_be_changed(element: Any) -> set[int]:
    """Which dicts, objects and arrays an element has."""
    if isinstance(element, (tuple, list)):
        return {held for part in element for held in ids_of_what_can_be_changed(part)}
    if isinstance(element, dict):
        return {id(element)} | ids_of_what_can_be_changed(tuple(element.values()))
    return {id(element)} if isinstance(element, (np.ndarray, Sample)) else set()


def test_rows_of_unlike_lengths_are_normalized_to_the_last_item() -> None:
    rows = normalize_rows([(1,), (1, [2, 3])], {tuple})
    assert isinstance(rows[1][1], np.ndarray)


def test_dicts_in_any_order_are_one_structure() -> None:
    treedef, columns = columns_of([{"a": 1, "b": 2}, {"b": 3, "a": 4}])
    assert rows_of(treedef, columns) == [{"a": 1, "b": 2}, {"a": 4, "b": 3}]


MISMATCHED: dict[str, tuple[list[Any], str]] = {
    "shapes": ([np.zeros(2), np.zeros(3)], r"shapes differ: \[2\] and \[3\]; make them equal, which padded_batch does"),
    "dtypes": ([np.zeros(2), np.zeros(2, int)], "dtypes differ: float64 and int64"),
    "Python numbers": ([1, 1.5], "dtypes differ: int64 and float64"),
    "a number and text": ([1, "1"], "dtypes differ"),
    "units of time": ([np.datetime64(1, "D"), np.datetime64(1, "s")], "dtypes differ"),
    "structures": ([(1, 2), (1, 2, 3)], "differ in structure"),
    "keys": ([{"a": 1}, {"b": 1}], "differ in structure"),
    "a component": ([{"a": 1, "b": [1]}, {"a": 2, "b": [1, 2]}], r"component \['b'\]: shapes differ"),
    "too large": ([2**70], "does not fit int64"),
}


class Name(enum.StrEnum):
    A = "a"


def nested_in_tuples(leaf: Any, depth: int) -> Any:
    return leaf if not depth else (nested_in_tuples(leaf, depth - 1), leaf)


@pytest.mark.parametrize(
    "row",
    [
        {"b": 1, "a": (2, {"d'": 3, "c\n": 4})},
        {Name.A: 1, "b": 2},
        {2: 1, 1: 2},
        {True: 1, 0: 2},
        {"a": Pair(1, {"c": 2}), "b": ()},
        {"x": None, "y": ({}, 1)},
        ((), None),
        {str(number): number for number in range(600)},
        nested_in_tuples(1, 300),
    ],
    ids=["dicts", "enum keys", "int keys", "bool keys", "a named tuple", "None", "no leaf", "600 leaves", "300 levels"],
)
def test_rows_are_built_anew_with_the_very_keys_in_their_order(row: Any) -> None:
    rows = [row, row, row]
    treedef, columns = columns_of(rows)
    if columns:
        built = rows_of(treedef, columns)
        assert list(map(repr, built)) == list(map(repr, rows))
    else:
        assert rows_of_leaves(treedef, [], 3) == rows


def test_dicts_of_another_run_have_the_order_in_which_theirs_were_written() -> None:
    for row in ({"a": 1, "b": 2}, {"b": 1, "a": 2}, {"x": {"a": 1, "b": 2}}, {"x": {"b": 1, "a": 2}}):
        assert list(map(repr, rows_of(*columns_of([row, row])))) == [repr(row), repr(row)]


@pytest.mark.parametrize("case", sorted(MISMATCHED))
def test_rows_that_do_not_fit_together_say_where_and_how(case: str) -> None:
    rows, message = MISMATCHED[case]
    with pytest.raises(InvalidArgumentError, match=message):
        columns_of([normalize(row) for row in rows])


def test_stacking_makes_what_no_dtype_holds_objects() -> None:
    assert stack(["a", "b\0"]).tolist() == ["a", "b\0"]
    assert stack(["a", b"b", None, {1}]).dtype == object
    assert stack([np.float32(1), np.float32(2)]).dtype == np.float32
    assert stack([1, np.int64(2)]).tolist() == [1, 2]


def test_scalars_are_carried_as_elements_of_arrays_are() -> None:
    element = scalars_as_elements((np.int64(1), np.array(2.5), np.float32(3), np.array([4]), "text"))
    assert [type(leaf) for leaf in element] == [int, float, np.float32, np.ndarray, str]


@attrs.frozen(kw_only=True)
class Private:
    """Everything that makes building one again hard."""

    _a: Any
    b: Any = attrs.field(alias="bee")
    made: Any = attrs.field(init=False, default=("made",))


@attr.s
class Older:
    x: Any = attr.ib()
    y: Any = attr.ib(default=None)


class Inheriting(Older):
    """Undecorated: its fields are those of the class above."""


@dataclasses.dataclass(frozen=True, slots=True)
class Computed:
    x: Any
    twice: Any = dataclasses.field(init=False, default="computed")


@given(st.lists(st.tuples(st.sampled_from(LEAVES), st.integers(1, 4)), min_size=2, max_size=2), st.data())
def test_attrs_classes_are_structure_like_dataclasses(kinds: list[Any], drawn: st.DataObject) -> None:
    def row() -> Any:
        one, other = (drawn.draw(kind) for kind, _ in kinds)
        return Private(a=one, bee={"x": Older(other, Computed(one)), "y": Inheriting(other)})

    rows = [normalize(row()) for _ in range(kinds[0][1])]
    treedef, columns = columns_of(rows)
    assert treedef.num_leaves == len(columns) == 6  # with the fields that no constructor takes
    assert all(map(same, rows_of(treedef, columns), rows))


def test_pythons_complex_numbers_are_an_array_of_them() -> None:
    for rows in ([1j, 2j], [(1j, 0), (2j, 1)], [1j, np.complex128(2j)]):
        column = columns_of(rows)[1][0]
        assert column.dtype == np.complex128
        assert column.tolist() == [1j, 2j]
    with pytest.raises(InvalidArgumentError, match="dtypes differ: complex128 and float64"):
        columns_of([1j, 2.0])
