"""Law 3 over a query's ``order_key`` whose texts the database takes for equal where Python does not: nothing twice, nothing lost."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import folder

import headrace as hr
from headrace.errors import DataLossError

_numbers = itertools.count()
_EXECUTORS = ("inline", "thread")
# Letters that differ in size, and spaces at the end, which RTRIM does not see.
KEYS = [f"{letter}{end}" for letter in "aAbBcC" for end in ("", " ", "x")]


def database(keys: list[str], collation: str) -> Path:
    path = folder() / f"collated {next(_numbers)}.db"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE t (id TEXT COLLATE {collation}, v INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(key, number) for number, key in enumerate(keys)])
    connection.commit()
    connection.close()
    return path


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def query(path: Path, executor: str, arraysize: int = 1000) -> hr.Dataset:
    dataset = hr.SqlDataset("SELECT * FROM t", str(path), order_key="id", arraysize=arraysize)
    return dataset.with_options(hr.Options(executor=executor))


def state_behind(dataset: hr.Dataset, count: int) -> Any:
    with iter(dataset) as iterator:
        for _ in range(count):
            next(iterator)
        return iterator.state_dict()


def resumed(dataset: hr.Dataset, state: Any) -> list[Any]:
    with iter(dataset) as iterator:
        iterator.load_state_dict(state)
        return list(iterator)


@given(
    st.lists(st.sampled_from(KEYS), unique=True, min_size=1, max_size=8),
    st.sampled_from(["BINARY", "NOCASE", "RTRIM"]),
    st.sampled_from(_EXECUTORS),
    st.sampled_from([1, 3, 1000]),
    st.data(),
)
def test_the_rest_follows_whatever_keys_the_database_takes_for_equal(
    keys: list[str], collation: str, executor: str, arraysize: int, data: st.DataObject
) -> None:
    dataset = query(database(keys, collation), executor, arraysize)
    whole = list(dataset)
    delivered = data.draw(st.integers(1, len(keys)))
    assert resumed(dataset, state_behind(dataset, delivered)) == whole[delivered:]


@pytest.mark.parametrize("executor", _EXECUTORS)
def test_among_equal_keys_a_row_that_is_gone_is_told(executor: str) -> None:
    path = database(["b", "A", "a", "B"], "NOCASE")
    dataset = query(path, executor)
    assert [key for key, _ in dataset] == ["A", "a", "b", "B"]
    state = state_behind(dataset, 3)
    change(path, "DELETE FROM t WHERE v = 1")
    with pytest.raises(DataLossError, match="row 3 had the key 'b', which the database takes for equal to others"):
        resumed(dataset, state)


@pytest.mark.parametrize("executor", _EXECUTORS)
def test_behind_a_key_that_is_gone_the_rest_follows(executor: str) -> None:
    path = database(["b", "a", "c"], "NOCASE")
    dataset = query(path, executor)
    state = state_behind(dataset, 2)
    change(path, "DELETE FROM t WHERE id IN ('a', 'b')")
    assert resumed(dataset, state) == [("c", 2)]


@pytest.mark.parametrize("executor", _EXECUTORS)
@pytest.mark.parametrize("arraysize", [1, 2, 1000])
@pytest.mark.parametrize("delivered", range(5))
def test_the_rest_follows_in_the_midst_of_equal_keys(delivered: int, arraysize: int, executor: str) -> None:
    dataset = query(database(["b", "A", "a", "B"], "NOCASE"), executor, arraysize)
    wanted = ["A", "a", "b", "B"]
    assert [key for key, _ in resumed(dataset, state_behind(dataset, delivered))] == wanted[delivered:]
