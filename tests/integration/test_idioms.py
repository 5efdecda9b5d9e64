"""Each program of the benchmarks' idioms delivers what the plain loop delivers, as written and with what can be added to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from idioms.case import Case
from idioms.cases import CASES
from idioms.sameness import Sameness, WrongElementsError, as_many, in_any_order, in_order
from idioms.sides import OURS, VARIANTS, NotThereError
from idioms.worker import check

CASE_FILES = Path(__file__).parents[2] / "benchmarks" / "idioms" / "cases"
# What a dataset is, how it is run and where it is given to: these do nothing with an element.
WITHOUT_ELEMENTS = {
    "as_numpy_iterator", "cardinality", "element_spec", "explain", "get_single_element", "options", "profile", "to_jax", "to_tensorflow",
    "to_torch", "with_options",
}  # fmt: skip


def _needed(case: Case) -> None:
    """Skips what needs a package that is not there."""
    if case.needs is not None:
        pytest.importorskip(case.needs, reason=f"pip install {case.needs}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_delivers_what_the_plain_loop_delivers(case: Case, tmp_path: Path) -> None:
    _needed(case)
    check(OURS, case, case.data(case.small, tmp_path))


@pytest.mark.parametrize("side", VARIANTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_added_to_a_program_changes_nothing_that_it_delivers(case: Case, side: str, tmp_path: Path) -> None:
    _needed(case)
    try:
        check(side, case, case.data(case.small, tmp_path))
    except NotThereError:
        pytest.skip("nothing to add")


PAIRS = [(np.array([1, 2]), "a"), (np.array([3, 4]), "b")]


@pytest.mark.parametrize(
    ("same", "found"),
    [
        (in_order, PAIRS[::-1]),
        (in_order, PAIRS[:1]),
        (in_order, [PAIRS[0], (np.array([3, 5]), "b")]),
        (in_order, [PAIRS[0], (np.array([3, 4]), "c")]),
        (in_order, [PAIRS[0], (np.array([[3, 4]]), "b")]),
        (in_order, [PAIRS[0], {"x": np.array([3, 4]), "y": "b"}]),
        (in_any_order, [(np.array([1, 2]), np.array(["a", "b"])), (np.array([3]), np.array(["d"]))]),
        (in_any_order, [(np.array([1, 2, 3]), np.array(["a", "b", "c"]))]),
        (as_many, PAIRS * 20),
        (as_many, ["a", "b"]),
    ],
)
def test_a_side_that_delivers_something_else_is_found_out(same: Sameness, found: list[Any]) -> None:
    batched = [(np.array([1, 2]), np.array(["a", "b"])), (np.array([3]), np.array(["c"]))]
    expected: list[Any] = batched if same is in_any_order else PAIRS
    same(expected, expected)
    with pytest.raises(WrongElementsError):
        same(found, expected)


def test_a_shuffle_may_deliver_its_rows_in_another_order() -> None:
    in_any_order([{"x": np.array([3, 1])}, {"x": np.array([2])}], [{"x": np.array([1, 2])}, {"x": np.array([3])}])


def test_names_are_used_once() -> None:
    names = [case.name for case in CASES]
    assert sorted(set(names)) == sorted(names)


def test_every_operation_and_format_stands_in_a_program() -> None:
    written = "".join(path.read_text() for path in CASE_FILES.glob("*.py"))
    operations = {name for name in dir(hr.Dataset) if not name.startswith("_")} - WITHOUT_ELEMENTS
    formats = {name for name in hr.__all__ if name.endswith("Dataset")} - {"Dataset"}
    assert {name for name in operations | formats if not re.search(rf"\.{name}\b", written)} == set()
