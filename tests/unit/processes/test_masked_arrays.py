"""Masked arrays come as they were sent, and the one that is masked as itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.processes.by_value import pickled_by_value


@given(
    cells=st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=4),
    is_locked=st.booleans(),
    whole=st.booleans(),
)
def test_a_masked_array_has_its_mask_and_is_read_only_where_it_was(
    cells: list[tuple[int, bool]], is_locked: bool, whole: bool
) -> None:
    array = np.ma.array([value for value, _ in cells], mask=[masked for _, masked in cells], dtype=np.int64)
    sent = array if whole else array.sum()
    if is_locked and isinstance(sent, np.ndarray) and sent is not np.ma.masked:
        sent.flags.writeable = False
    came = pickle.loads(pickled_by_value([sent, sent]))
    for one in came:
        if sent is np.ma.masked:
            assert one is sent
        else:
            assert type(one) is type(sent)
            assert repr(one) == repr(sent)
            assert not isinstance(one, np.ndarray) or one.flags.writeable != is_locked


@pytest.mark.parametrize("executor", ["subprocess", "process"])
def test_the_mean_of_what_is_all_masked_comes_from_a_process(executor: str) -> None:
    dataset = hr.Dataset.range(2).map(
        lambda x: {"mean": np.ma.array([1, 2], mask=[x, True]).mean()}, num_parallel_calls=1
    )
    one, two = dataset.with_options(hr.Options(executor=executor))
    assert one["mean"] == 1
    assert two["mean"] is np.ma.masked
