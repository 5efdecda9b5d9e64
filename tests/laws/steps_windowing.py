"""Random steps that make datasets of runs and of groups of elements, for the tests of the laws."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.laws.elements import Failing, Named, fail_on, text, total
from tests.laws.small_plans import small_steps

import headrace as hr
from headrace.elements.structure import flatten

_SMALL = st.integers(1, 4)


def _contents(*window: Any) -> Any:
    """What a window's datasets give, where it has any."""
    leaves, _ = flatten(window[0] if len(window) == 1 else window)
    return tuple(tuple(leaf) for leaf in leaves)


def _first_component(*window: Any) -> hr.Dataset:
    leaves, _ = flatten(window[0] if len(window) == 1 else window)
    return leaves[0].shuffle(2).enumerate() if leaves else hr.Dataset.range(1)


def _key(keys: int, *, wrong: bool) -> Any:
    def key_of(*element: Any) -> Any:
        number = total(element)
        if wrong and number % 7 == 1:
            raise Failing("cannot tell the key")
        return "no key" if wrong and number % 7 == 2 else 2 - number % keys

    return key_of


def _reduced(kind: str) -> Any:
    def reduce(key: int, group: hr.Dataset) -> Any:
        if kind == "or fail" and key == 1:
            raise Failing("cannot reduce")
        if kind == "shuffled":
            return group.shuffle(3).enumerate()
        if kind == "other":
            return hr.Dataset.range(abs(key))
        return group.map(fail_on(1, 4)) if kind == "failing" else group.batch(2)

    return reduce


def _size(key: int) -> int:
    if key == -1:
        raise Failing("cannot tell the size")
    return key  # and 0 is refused


def grouping() -> st.SearchStrategy[Named]:
    """Everything that gathers elements by their keys."""
    kinds = st.sampled_from(["batch", "or fail", "shuffled", "other", "failing"])
    sizes = st.one_of(st.none(), st.integers(0, 4))
    small = st.tuples(st.integers(1, 4), small_steps(), st.integers(1, 4)).map(
        lambda a: (
            text("group_by_window", a[0], a[1][0], a[2]),
            lambda ds: ds.map(total).group_by_window(
                _key(a[0], wrong=False), lambda _, group: a[1][1](group), window_size=a[2]
            ),
        )
    )
    any_elements = st.tuples(st.integers(1, 4), st.booleans(), kinds, sizes).map(
        lambda a: (
            text("group_by_window", *a),
            lambda ds: ds.group_by_window(
                _key(a[0], wrong=a[1]), _reduced(a[2]), a[3], _size if a[3] is None else None
            ),
        )
    )
    return st.one_of(small, any_elements)


def windowing() -> st.SearchStrategy[Named]:
    """Everything that makes datasets of runs and of groups of elements."""
    windows = st.tuples(_SMALL, st.one_of(st.none(), _SMALL), st.integers(1, 3), st.booleans())
    return st.one_of(
        grouping(),
        windows.map(lambda a: (text("window.map", *a), lambda ds: ds.window(*a).map(_contents))),
        windows.map(lambda a: (text("window.flat_map", *a), lambda ds: ds.window(*a).flat_map(_first_component))),
        st.tuples(windows, small_steps()).map(
            lambda a: (
                text("window.flat_map", *a[0], a[1][0]),
                lambda ds: ds.map(total).window(*a[0]).flat_map(a[1][1]),
            )
        ),
    )
