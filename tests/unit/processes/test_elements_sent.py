"""Elements on their way: what comes out is what went in, whether they went as rows or as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Rows
from headrace.processes.elements_sent import received_elements, sent_elements

ALIKE: list[Any] = [
    [np.arange(3) + x for x in range(4)],
    [(np.full(2, x, np.float32), {"a": np.full((2, 2), x)}) for x in range(3)],
]
NOT_ALIKE: list[Any] = [
    [np.arange(x) for x in range(4)],
    [(np.arange(2), x) for x in range(3)],
    [np.array(x) for x in range(3)],
    [np.array(["a", "b"], object)] * 2,
    [np.arange(2, dtype=">i4")] * 2,
    [],
    [()] * 2,
]


@pytest.mark.parametrize("rows", ALIKE, ids=str)
def test_arrays_that_will_be_stacked_go_as_one_for_each_leaf(rows: list[Any]) -> None:
    received = received_elements(sent_elements(Rows(rows), stacked=True))
    assert isinstance(received, Columns)
    assert repr(received.rows()) == repr(rows)


@pytest.mark.parametrize("rows", ALIKE, ids=str)
def test_arrays_that_a_user_will_see_go_one_by_one(rows: list[Any]) -> None:
    assert isinstance(received_elements(sent_elements(Rows(rows))), Rows)


@pytest.mark.parametrize("rows", NOT_ALIKE, ids=str)
def test_what_is_not_alike_goes_one_by_one(rows: list[Any]) -> None:
    received = received_elements(sent_elements(Rows(rows), stacked=True))
    assert isinstance(received, Rows)
    assert repr(received.rows()) == repr(rows)
