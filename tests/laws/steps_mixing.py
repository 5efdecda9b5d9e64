"""Random steps that mix datasets, for the tests of the laws."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import Named, fail_on, text, total

import headrace as hr

_SEEDS = st.one_of(st.none(), st.integers(0, 5))
_WEIGHTS = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), min_size=3, max_size=3)


def class_of(classes: int, *, wrong: bool) -> Any:
    """Returns a function that names one of so many classes, or now and then one that is not there."""

    def number_of(*element: Any) -> int | np.int64:
        number = total(element) % (classes + wrong)
        return number if total(element) % 7 else np.int64(number)

    return number_of


def _varying(weights: list[list[float]]) -> hr.Dataset:
    return hr.Dataset.from_tensor_slices(np.array(weights)).repeat()


def _choices(numbers: list[int]) -> hr.Dataset:
    return hr.Dataset.from_tensor_slices(np.array(numbers, dtype=np.int64))


def mixing() -> st.SearchStrategy[Named]:
    """Everything that chooses which dataset, or which copy of an element, comes next."""
    return st.one_of(
        st.tuples(_WEIGHTS, _SEEDS, st.booleans(), st.booleans(), st.sampled_from([0, 1, 2, False])).map(
            lambda a: (
                text("sample_from_datasets(self, self, range)", *a),
                lambda ds: hr.Dataset.sample_from_datasets(
                    [ds, ds.skip(1).map(fail_on(1, 9)), hr.Dataset.range(4)],
                    a[0],
                    a[1],
                    stop_on_empty_dataset=a[2],
                    rerandomize_each_iteration=a[3],
                    repeat=[a[4], False, 2],
                ),
            )
        ),
        st.tuples(st.lists(_WEIGHTS.map(lambda w: w[:2]), min_size=1, max_size=3), _SEEDS).map(
            lambda a: (
                text("sample_from_datasets(weights)", *a),
                lambda ds: hr.Dataset.sample_from_datasets([ds, ds.take(3)], _varying([*a[0], [0.2, 0.1]]), a[1]),
            )
        ),
        st.tuples(st.lists(st.integers(-1, 2), max_size=12), st.booleans()).map(
            lambda a: (
                text("choose_from_datasets", *a),
                lambda ds: hr.Dataset.choose_from_datasets(
                    [ds, hr.Dataset.range(5).map(lambda x: x)], _choices(a[0]), stop_on_empty_dataset=a[1]
                ),
            )
        ),
        st.just(
            (
                "choose_from_datasets(by itself)",
                lambda ds: hr.Dataset.choose_from_datasets(
                    [ds, ds], ds.map(lambda *x: total(x) % 2), stop_on_empty_dataset=False
                ),
            )
        ),
        st.tuples(st.booleans(), st.sampled_from([None, [5, 4, 1], [1, 0, 0]]), _SEEDS).map(
            lambda a: (
                text("rejection_resample", *a),
                lambda ds: ds.rejection_resample(class_of(3, wrong=a[0]), [0.4, 0.4, 0.2], a[1], a[2]),
            )
        ),
        st.sampled_from([40, 70]).map(
            lambda n: (
                text("rejection_resample of many", n),
                lambda ds: ds.repeat(9).take(n).rejection_resample(class_of(2, wrong=False), [0.8, 0.2], None, 1),
            )
        ),
    )
