"""The tables of an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace.dataset import Dataset
from headrace.errors import DataLossError

__all__ = ["rows_of_tables"]


def rows_of_tables(path: str) -> tuple[Dataset, dict[str, Any]]:
    """Returns the rows of every table, each after its table's name; and for each table its columns and how many rows it has."""
    try:
        with closing(_opened(path)) as connection:
            tables = _tables(connection)
            facts = {name: _described(connection, name) for name in tables}
    except sqlite3.Error as error:
        raise DataLossError(f"{path} cannot be read as an SQLite file: {error}") from error

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        with closing(_opened(path)) as connection:
            for table in tables:
                cursor = connection.execute(f"SELECT * FROM {_quoted(table)}")  # noqa: S608 - a name of the file's own, quoted
                names = [column[0] for column in cursor.description]
                for row in cursor:
                    yield table, dict(zip(names, row, strict=True))

    return Dataset.from_generator(rows), facts


def _opened(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    return [name for (name,) in found]


def _described(connection: sqlite3.Connection, table: str) -> str:
    columns = connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
    ((count,),) = connection.execute(f"SELECT COUNT(*) FROM {_quoted(table)}")  # noqa: S608 - as above
    return f"{count:,} rows of " + ", ".join(f"{name} {kind.lower()}".strip() for name, kind in columns)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
