"""What a failure and an end in one row of a zip give: TensorFlow 2.21's rule, run there for all of these."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.testing import check_every_restore_point
from headrace.testing.restoring import delivered

data = hr.Dataset
BOTH = pytest.mark.parametrize("executor", ["thread", "inline"])


def branch(word: str) -> hr.Dataset:
    """An element for each letter: ``o`` is its number, ``f`` fails."""

    def checked(number: int, fails: np.bool_) -> int:
        if fails:
            raise ValueError("wrong")
        return number

    fails = np.array([letter == "f" for letter in word], dtype=bool)
    return data.from_tensor_slices((np.arange(len(word)), fails)).map(checked)


def events(dataset: hr.Dataset, executor: str) -> list[Any]:
    """Its elements, ``error`` in place of a failure."""
    with iter(dataset.with_options(hr.Options(executor=executor))) as iterator:
        return ["error" if isinstance(one, Exception) else one for one in delivered(iterator, 20)]


# As tf.data gave them; every zip of two, and of three, then ended.
SEEN: dict[tuple[str, ...], list[Any]] = {
    ("", "f"): [],
    ("f", ""): ["error"],
    ("f", "oof"): ["error"],
    ("o", "f"): ["error"],
    ("of", ""): [],
    ("of", "f"): ["error", "error"],
    ("of", "o"): [(0, 0), "error"],
    ("off", "o"): [(0, 0), "error"],
    ("oof", "o"): [(0, 0)],
    ("oof", "of"): [(0, 0), "error", "error"],
    ("ofo", "of"): [(0, 0), "error"],
    ("ofo", "ofo"): [(0, 0), "error", (2, 2)],
    ("ff", ""): ["error"],
    ("ffo", "o"): ["error", "error"],
    ("o", "off"): [(0, 0)],
    ("", "f", ""): [],
    ("", "fo", "fo"): [],
    ("f", "", "fo"): ["error"],
    ("f", "", ""): ["error"],
    ("o", "", "f"): [],
    ("o", "f", ""): ["error"],
    ("o", "ff", ""): ["error"],
    ("o", "o", "fo"): ["error"],
    ("fo", "fo", "fo"): ["error", (1, 1, 1)],
    ("fo", "fo", ""): ["error"],
    ("ff", "", "ff"): ["error"],
    ("fofo", "o", "oo"): ["error"],
}


@BOTH
@pytest.mark.parametrize("words", SEEN, ids="|".join)
def test_of_a_failure_and_an_end_in_one_row_the_first_decides(words: tuple[str, ...], executor: str) -> None:
    assert events(data.zip(tuple(map(branch, words))), executor) == SEEN[words]


@BOTH
def test_the_order_of_a_nested_structure_is_that_of_its_leaves(executor: str) -> None:
    assert events(data.zip(((branch("f"), branch("")), branch("o"))), executor) == ["error"]
    assert events(data.zip((branch("o"), (branch(""), branch("f")))), executor) == []
    assert events(data.zip({"b": branch("f"), "a": branch("")}), executor) == []  # a comes before b
    assert events(data.zip({"b": branch(""), "a": branch("f")}), executor) == ["error"]


@BOTH
def test_a_zip_that_ended_behind_a_failure_is_whole_again_in_the_next_turn(executor: str) -> None:
    ends = data.zip((branch("ffo"), branch("o")))
    assert events(ends.repeat(2), executor) == ["error"] * 4
    assert events(ends.concatenate(data.zip((branch("o"), branch("o")))), executor) == ["error", "error", (0, 0)]


@pytest.mark.parametrize("words", list(itertools.product(["", "off", "ffo", "o"], repeat=2)), ids="|".join)
def test_an_end_behind_a_failure_is_kept_in_a_state(words: tuple[str, ...]) -> None:
    for executor in ("thread", "inline"):
        zipped = data.zip(tuple(map(branch, words))).with_options(hr.Options(executor=executor))
        check_every_restore_point(zipped, executors=("thread", "inline"))


@BOTH
def test_a_state_taken_at_the_end_ends_though_another_input_could_fail(executor: str) -> None:
    zipped = data.zip((branch("oof"), branch("o"))).with_options(hr.Options(executor=executor))
    first = iter(zipped)
    assert list(first) == [(0, 0)]
    again = iter(zipped)
    again.load_state_dict(first.state_dict())
    assert list(again) == []
