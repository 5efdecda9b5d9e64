from __future__ import annotations

import re
import sqlite3
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from headrace.errors import InvalidArgumentError
from headrace.io.sql.statement import Statement, paramstyle_of


def executed(style: str, query: str, parameters: Any, since: Any = 7) -> tuple[str, Any]:
    text, values = Statement(query=query, parameters=parameters, order_key="id", paramstyle=style).executed(None, since)
    return re.sub(r"\s+", " ", text), values


def test_a_query_without_a_key_is_executed_as_it_was_written() -> None:
    statement = Statement(query="SELECT 1;  ", parameters=(1,))
    assert statement.executed(None, None) == ("SELECT 1;  ", (1,))


def test_a_query_with_a_key_is_ordered_and_begins_where_it_is_told() -> None:
    inner = "SELECT * FROM ( SELECT * FROM t WHERE x = ? ) headrace_rows"
    query = "SELECT * FROM t WHERE x = ? ; "
    assert executed("qmark", query, (1,), None) == (f"{inner} ORDER BY id", (1,))
    assert executed("qmark", query, (1,)) == (f"{inner} WHERE id >= ? ORDER BY id", (1, 7))


@pytest.mark.parametrize(
    ("style", "parameters", "mark", "values"),
    [
        ("qmark", (1,), "?", (1, 7)),
        ("numeric", (1, 2), ":3", (1, 2, 7)),
        ("named", (1,), ":headrace_since", (1, 7)),
        ("format", (1,), "%s", (1, 7)),
        ("pyformat", [1], "%s", (1, 7)),
        ("pyformat", {"a": 1}, "%(headrace_since)s", {"a": 1, "headrace_since": 7}),
        ("named", {"a": 1}, ":headrace_since", {"a": 1, "headrace_since": 7}),
        ("qmark", {"a": 1}, ":headrace_since", {"a": 1, "headrace_since": 7}),
    ],
)
def test_the_key_is_a_parameter_as_the_driver_writes_them(style: str, parameters: Any, mark: str, values: Any) -> None:
    text, found = executed(style, "SELECT 1", parameters)
    assert f"WHERE id >= {mark} ORDER BY" in text
    assert found == values


def test_a_percent_sign_is_itself_whether_or_not_there_is_a_key() -> None:
    query = "SELECT * FROM t WHERE name LIKE 'a%'"
    assert "LIKE 'a%'" in executed("pyformat", query, (), None)[0]
    assert "LIKE 'a%%'" in executed("pyformat", query, ())[0]
    assert "LIKE 'a%'" in executed("qmark", query, ())[0]
    assert "LIKE 'a%%'" in executed("pyformat", query.replace("%", "%%"), (1,))[0]


def test_a_comment_at_the_end_of_a_query_hides_nothing() -> None:
    text, _ = Statement(query="SELECT 1 AS id -- one", order_key="id").executed(None, None)
    assert list(sqlite3.connect(":memory:").execute(text)) == [(1,)]


def test_a_driver_says_how_it_writes_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = sqlite3.connect(":memory:")
    assert paramstyle_of(connection) == "qmark"
    assert paramstyle_of(SimpleNamespace(driver_connection=connection)) == "qmark"
    connection.close()
    module = ModuleType("a_driver")
    monkeypatch.setitem(sys.modules, "a_driver", module)
    kind = type("Connection", (), {"__module__": "a_driver.inside"})
    with pytest.raises(InvalidArgumentError, match=r"a_driver\.inside\.Connection does not say .* pass paramstyle="):
        paramstyle_of(kind())
    module.paramstyle = "named"  # type: ignore[attr-defined]  # that is what makes it a driver
    assert paramstyle_of(kind()) == "named"


@pytest.mark.parametrize("key", ["id", "_a1", '"an id"', "`id`", "größe"])
def test_a_key_is_a_name(key: str) -> None:
    assert Statement(query="SELECT 1", order_key=key).key_name == key.strip('"`')


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": " \n"},
        {"query": b"SELECT 1"},
        {"order_key": "id; DROP TABLE t"},
        {"order_key": "1"},
        {"order_key": ""},
        {"order_key": '"'},
        {"paramstyle": "question mark"},
        {"parameters": "abc"},
        {"parameters": 1},
    ],
)
def test_what_is_no_statement_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        Statement(**{"query": "SELECT 1", **arguments})


def test_a_long_query_is_shown_in_a_line() -> None:
    assert Statement(query="SELECT\n  1").shown == "SELECT 1"
    assert len(Statement(query="SELECT " + "1, " * 200).shown) == 200
