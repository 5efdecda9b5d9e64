"""Sources of rows in a database, some of them bad."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.laws.elements import folder

import headrace as hr

# The absolute value of the smallest integer is none: SQLite raises when it comes to that row.
_FAILS_AT_FIVE = "SELECT id, CASE id WHEN 5 THEN abs(-9223372036854775808) ELSE id END AS x FROM numbers ORDER BY id"

SOURCES: dict[str, Callable[[int], hr.Dataset]] = {
    "sql": lambda n: rows("SELECT id, x, name FROM numbers ORDER BY id", n),
    "sql by key": lambda n: rows("SELECT * FROM numbers -- all", n, order_key="id", arraysize=3),
    "sql by text": lambda n: rows("SELECT name, id FROM numbers WHERE id > ?", n, (2,), order_key="name"),
    "sql as dicts": lambda n: rows(
        "SELECT * FROM numbers", n, order_key="id", as_dict=True, record_defaults={"x": -1.0}
    ),
    "typed sql": lambda n: rows(
        "SELECT id, x FROM numbers ORDER BY id", n, output_types=("int16", "float32"), record_defaults=(None, 0.5)
    ),
    "bad sql": lambda n: rows(
        "SELECT id, x FROM numbers ORDER BY id", n, output_types=("int64", "float64"), arraysize=4
    ),
    "bad sql as dicts": lambda n: rows(
        "SELECT * FROM numbers", n, order_key="id", output_types={"x": float, "name": str}
    ),
    "failing sql": lambda n: rows(_FAILS_AT_FIVE, n),
    "failing sql by key": lambda n: rows(_FAILS_AT_FIVE, n, order_key="id", arraysize=2),
    "sql with twins": lambda n: rows("SELECT id / 5 + (id < 5) * id AS id FROM numbers", n, order_key="id"),
    "sql without a table": lambda n: rows("SELECT * FROM nothing", n),
    "sql of files": lambda n: hr.Dataset.range(2).flat_map(
        lambda part: rows("SELECT id FROM numbers WHERE id % 2 = ?", n, (part,), order_key="id")
    ),
    "interleaved sql": lambda n: hr.Dataset.range(3).interleave(
        lambda part: rows("SELECT id FROM numbers WHERE id % 3 = ?", n, (part,), order_key="id"), num_parallel_calls=2
    ),
}


def rows(query: str, length: int, parameters: tuple[Any, ...] = (), **options: Any) -> hr.Dataset:
    return hr.SqlDataset(query, partial(connected, length), parameters, **options)


def connected(length: int) -> sqlite3.Connection:
    """To a database with so many rows: a number, a float that may be missing, a text."""
    path = folder() / f"{length}.sqlite"
    if not path.exists():
        written = path.with_suffix(f".{threading.get_ident()}")  # several threads connect at once
        with contextlib.closing(sqlite3.connect(written)) as connection, connection:
            connection.execute("CREATE TABLE numbers (id INTEGER PRIMARY KEY, x REAL, name TEXT)")
            listed = [(n, None if n % 4 == 1 else n / 2, f"name {n:02}") for n in range(length)]
            connection.executemany("INSERT INTO numbers VALUES (?, ?, ?)", listed)
        written.replace(path)
    return sqlite3.connect(path)
