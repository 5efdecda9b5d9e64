"""Queries to a real PostgreSQL server, which the tests start."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from tests.integration.postgresql_server import HOW_TO_INSTALL, server

import headrace as hr
from headrace.errors import DataError
from headrace.testing import check_every_restore_point

psycopg = pytest.importorskip("psycopg", reason=HOW_TO_INSTALL)

LIMIT_S = 60.0
Connect = Callable[[], Any]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as running:
        with psycopg.connect(running) as connection:
            connection.execute(
                "CREATE TABLE t (id bigint PRIMARY KEY, name text, price numeric, seen timestamp, data bytea, parts int[], x real)"
            )
            connection.execute(
                "INSERT INTO t SELECT n, 'n%' || n, n / 4.0, '2026-01-01'::timestamp + n * interval '1 day', "
                "decode(lpad(to_hex(n), 2, '0'), 'hex'), ARRAY[n, n + 1], nullif(n, 3) FROM generate_series(0, 199) AS n"
            )
        yield running


@pytest.fixture
def connect(address: str) -> Connect:
    return lambda: psycopg.connect(address)


def open_connections(address: str) -> int:
    """0 once nobody else is connected: the server may take a moment to notice that a client is gone."""
    query = (
        "SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS fresh, pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    with psycopg.connect(address, autocommit=True) as connection:
        # So many questions take seconds, on any machine.
        counts = (int(connection.execute(query).fetchone()[0]) for _ in range(20_000))
        return next((count for count in counts if count == 0), 1)


def test_values_are_those_of_the_driver(connect: Connect) -> None:
    ds = hr.SqlDataset("SELECT * FROM t ORDER BY id", connect)
    row = list(ds.take(4))[3]
    assert row[:5] == (3, "n%3", Decimal("0.75"), dt.datetime(2026, 1, 4), b"\3")  # noqa: DTZ001 - the column has no zone
    assert row[5].tolist() == [3, 4]
    assert row[6] is None


def test_stated_types_make_arrays(connect: Connect) -> None:
    types = {"id": "int32", "price": "float32", "name": str, "data": bytes, "seen": "datetime64[s]", "x": "float64"}
    ds = hr.SqlDataset("SELECT * FROM t", connect, order_key="id", output_types=types, record_defaults={"x": -1.0})
    batch = next(iter(ds.batch(64)))
    assert {name: batch[name].dtype for name in ("id", "price", "x")} == {
        "id": np.int32,
        "price": np.float32,
        "x": np.float64,
    }
    assert batch["price"][3] == 0.75
    assert batch["x"][:5].tolist() == [0, 1, 2, -1, 4]
    assert batch["seen"][1] == np.datetime64("2026-01-02")
    assert batch["data"][7] == b"\7"


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("SELECT id, name FROM t WHERE name LIKE 'n%'", ()),
        ("SELECT id, name FROM t WHERE name LIKE 'n%%' AND id >= %s", (2,)),
        ("SELECT id, name FROM t WHERE id >= %(least)s -- and no more", {"least": 2}),
    ],
)
def test_any_row_is_resumed_by_key(connect: Connect, query: str, parameters: Any) -> None:
    for key in ("id", "name"):
        ds = hr.SqlDataset(query, connect, parameters, order_key=key, arraysize=5)
        check_every_restore_point(ds, max_elements=12)


def test_rows_left_on_the_server_are_the_same(connect: Connect) -> None:
    query = "SELECT id FROM t ORDER BY id"
    at_once = hr.SqlDataset(query, connect)
    named = hr.SqlDataset(query, connect, cursor=lambda connection: connection.cursor("rows"), arraysize=16)
    assert list(named) == list(at_once)
    check_every_restore_point(named, max_elements=8)


def test_parts_are_read_beside_each_other(connect: Connect, address: str) -> None:
    parts = hr.Dataset.range(4).interleave(
        lambda part: hr.SqlDataset("SELECT id FROM t WHERE id %% 4 = %s", connect, (part,), order_key="id"),
        cycle_length=4,
        num_parallel_calls=4,
    )
    assert list(parts.shuffle(50, seed=1).batch(200)) != []
    assert [number for (number,) in parts] == list(range(200))
    assert open_connections(address) == 0


def test_an_error_of_the_server_names_query_and_row(connect: Connect, address: str) -> None:
    with pytest.raises(
        DataError, match=r"element 0: UndefinedTable: .*nothing.*, after row 0 of the query SELECT \* FROM nothing"
    ):
        list(hr.SqlDataset("SELECT * FROM nothing", connect))
    # Row by row on the server, the error stands at its row, however many are fetched at once.
    for arraysize in (1, 3, 100):
        named = hr.SqlDataset(
            "SELECT 1 / (5 - id) FROM t WHERE id < 9 ORDER BY id",
            connect,
            cursor=lambda connection: connection.cursor("rows"),
            arraysize=arraysize,
        )
        came: list[Any] = []
        with pytest.raises(DataError, match="DivisionByZero: division by zero, after row 5"):
            came.extend(named)
        assert came == [(0,), (0,), (0,), (0,), (1,)]
    assert open_connections(address) == 0


def test_a_server_that_goes_away_is_told(connect: Connect, address: str) -> None:
    pids: list[int] = []

    def connect_once() -> Any:
        if pids:
            raise ConnectionRefusedError("the server is gone")
        connection = connect()
        pids.append(connection.info.backend_pid)
        return connection

    ds = hr.SqlDataset("SELECT id FROM t", connect_once, cursor=lambda one: one.cursor("rows"), arraysize=10)
    with iter(ds) as iterator:
        assert next(iterator) == (0,)
        with psycopg.connect(address) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 10000)", pids)
        came: list[Any] = [(0,)]
        with pytest.raises(DataError, match="the server is gone, after row"):
            came.extend(iterator)
    assert came == [(number,) for number in range(len(came))]


def test_a_query_that_does_not_end_is_cancelled_and_its_connection_closed(connect: Connect, address: str) -> None:
    ds = hr.SqlDataset(
        "SELECT count(*) FROM generate_series(1, 1000000000) AS a, generate_series(1, 1000000000) AS b", connect
    )
    iterator = iter(ds.prefetch(1))
    waiting = threading.Thread(target=lambda: next(iterator, None))
    waiting.start()
    running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%generate_series%' AND pid <> pg_backend_pid()"
    with psycopg.connect(address, autocommit=True) as connection:
        while connection.execute(running).fetchone() == (0,):  # the test's own guard ends it, should it never begin
            pass
    iterator.close()
    waiting.join(LIMIT_S)
    assert not waiting.is_alive()
    assert open_connections(address) == 0


def test_everything_is_closed_when_a_run_is_left(connect: Connect, address: str) -> None:
    for _ in hr.SqlDataset("SELECT id FROM t", connect).prefetch(2):
        break
    assert open_connections(address) == 0
