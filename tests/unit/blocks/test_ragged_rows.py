"""Elements that are joined: they come back one by one as what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.blocks.ragged_rows import RaggedColumn, RaggedRows
from headrace.elements.structure import flatten
from headrace.errors import InvalidArgumentError
from headrace.testing.restoring import same


def rows_of(lengths: list[int]) -> list[dict[str, np.ndarray]]:
    return [{"y": np.arange(n, dtype=np.int16), "x": np.full(n % 3, n / 2)} for n in lengths]


def joined(rows: list[dict[str, np.ndarray]]) -> RaggedRows:
    columns = [RaggedColumn([row[key].tobytes() for row in rows], rows[0][key].dtype) for key in ("x", "y")]
    return RaggedRows(flatten(rows[0])[1], columns)


@pytest.mark.parametrize("lengths", [[3, 1, 4, 1, 5], [0, 0], [0], [7], [2, 0, 0, 9]], ids=str)
def test_elements_come_back_as_what_they_were(lengths: list[int]) -> None:
    rows = rows_of(lengths)
    ragged = joined(rows)
    assert len(ragged) == len(rows)
    found: Any = ragged.rows()
    assert all(map(same, found, rows))
    assert [list(row) for row in found] == [["y", "x"]] * len(rows)
    for row in found:
        row["y"][:] = -1
    assert all(map(same, ragged.rows(), rows))  # nobody else's
    assert ragged.nbytes == sum(array.nbytes for row in rows for array in row.values())
    assert not ragged.has_tuples


@pytest.mark.parametrize(
    "chosen", [range(5), range(1, 4), range(2, 2), range(0, 5, 2), range(4, -1, -3), np.array([3, 3, 0])], ids=str
)
def test_some_of_them_are_these(chosen: Any) -> None:
    rows = rows_of([3, 1, 4, 0, 5])
    part = joined(rows).subset(chosen)
    assert len(part) == len(chosen)
    if len(chosen):
        assert all(map(same, part.rows(), [rows[index] for index in chosen]))
        assert all(map(same, part.subset(range(1, len(chosen))).rows(), [rows[index] for index in chosen][1:]))


@pytest.mark.parametrize("most", [0, 1, 3, 9])
def test_each_is_cut_where_it_is_longer(most: int) -> None:
    rows = rows_of([3, 1, 4, 0, 5])
    found = [column.cut(most) for column in joined(rows).joined]
    for column, key in zip(found, ("x", "y"), strict=True):
        assert all(map(same, column.arrays(), [row[key][:most] for row in rows]))
        assert column.lengths.tolist() == [len(row[key][:most]) for row in rows]


def test_they_are_columns_where_they_are_equally_long() -> None:
    assert [column.tolist() for column in joined(rows_of([2, 2])).columns().arrays] == [[[1, 1]] * 2, [[0, 1]] * 2]
    with pytest.raises(InvalidArgumentError, match="shapes differ"):
        joined(rows_of([2, 3])).columns()
