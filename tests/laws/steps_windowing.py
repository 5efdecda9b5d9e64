"""Random steps that make datasets of runs and of groups of elements, for the tests of the laws."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.laws.elements import Named, text

import headrace as hr
from headrace.structure import flatten

_SMALL = st.integers(1, 4)


def _contents(*window: Any) -> Any:
    """What a window's datasets give, where it has any."""
    leaves, _ = flatten(window[0] if len(window) == 1 else window)
    return tuple(tuple(leaf) for leaf in leaves)


def _first_component(*window: Any) -> hr.Dataset:
    leaves, _ = flatten(window[0] if len(window) == 1 else window)
    return leaves[0].shuffle(2).enumerate() if leaves else hr.Dataset.range(1)


def windowing() -> st.SearchStrategy[Named]:
    """Everything that makes datasets of runs and of groups of elements."""
    windows = st.tuples(_SMALL, st.one_of(st.none(), _SMALL), st.integers(1, 3), st.booleans())
    return st.one_of(
        windows.map(lambda a: (text("window.map", *a), lambda ds: ds.window(*a).map(_contents))),
        windows.map(lambda a: (text("window.flat_map", *a), lambda ds: ds.window(*a).flat_map(_first_component))),
    )
