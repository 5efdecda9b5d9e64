"""Rows of databases."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.arguments import check_flag
from headrace.dataset.dataset import Dataset
from headrace.io.sql.query import Query
from headrace.io.sql.rows import RowForm
from headrace.io.sql.statement import Statement
from headrace.plan.querying import Database, QueryRows, SqliteFile

__all__ = ["SqlDataset"]


class SqlDataset(Dataset):
    """The rows of a query to a database, by any driver of Python's DB-API (PEP 249).

    Each iterator connects, executes the query and fetches rows as they are wanted, all in a thread of its own, and closes
    cursor and connection however it ends. Nothing is committed.

    A resumed run goes on after the last row's ``order_key``. Without one it executes the query again and passes over as
    many rows as were read, with one warning in the log: that is right as long as the query gives the same rows in the same
    order.

    Args:
        query: SQL that returns rows.
        connect: a function without arguments that returns a connection, such as ``lambda: psycopg.connect(address)``; or
            the path of an SQLite file, which is then opened for reading only.
        parameters: values of the query's parameters, as its driver wants them: a tuple, or a dict by name.
        as_dict: True makes dicts by the names of columns; the default are tuples.
        order_key: the name of a column that the query returns, of numbers or text without NULL, in which no value comes
            twice. The rows then come in its order, and reading goes on at any of them without those before it.
        output_types: the type of each column, in order: a NumPy dtype or its name, ``str``, ``bytes`` or ``object``. Then
            ``element_spec`` is known, batches are arrays of these types, and what does not fit is an error of its row. A
            dict by name takes these columns only, as dicts. None leaves values as the driver gives them.
        record_defaults: what stands for NULL, in order (None for no default) or by name. Without one NULL is None, or an
            error of its row where types are stated.
        arraysize: how many rows are fetched at once.
        cursor: a function that makes a cursor of a connection, for drivers that otherwise fetch all rows at once:
            ``lambda connection: connection.cursor("rows")`` leaves them on a PostgreSQL server.
        paramstyle: how the driver writes parameters, if its module does not say; only an ``order_key`` needs it.
        name: what the operation is called in messages and statistics.

    Raises:
        TypeError: ``connect`` or ``cursor`` cannot be called.
        InvalidArgumentError: arguments that do not fit; or, while iterating, in place of a row whose values are not of the
            stated types, or whose key is NULL or that of the row before (which ends the dataset).
        DataError: while iterating, what the driver raised, with the query and the row; it ends the dataset.
        DataLossError: while iterating, a resumed query without a key gives fewer rows than were read.
        NotFoundError: while iterating, an SQLite file that is not there.

    Example:
        >>> import headrace as hr
        >>> import pathlib, sqlite3, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "animals.sqlite"
        >>> connection = sqlite3.connect(path)
        >>> _ = connection.execute("CREATE TABLE animals (id INTEGER PRIMARY KEY, name TEXT, legs INTEGER)")
        >>> _ = connection.executemany("INSERT INTO animals VALUES (?, ?, ?)", [(1, "cat", 4), (2, "hen", 2)])
        >>> connection.commit()
        >>> connection.close()
        >>> list(hr.SqlDataset("SELECT * FROM animals WHERE legs > ?", path, (1,), order_key="id"))
        [(1, 'cat', 4), (2, 'hen', 2)]
    """

    __slots__ = ()

    def __init__(
        self,
        query: str,
        connect: Callable[[], Any] | str | os.PathLike[str],
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        as_dict: bool = False,
        order_key: str | None = None,
        output_types: Sequence[Any] | Mapping[str, Any] | None = None,
        record_defaults: Sequence[Any] | Mapping[str, Any] | None = None,
        arraysize: int = 1_000,
        cursor: Callable[[Any], Any] | None = None,
        paramstyle: str | None = None,
        name: str | None = None,
    ) -> None:
        statement = Statement(query=query, parameters=parameters, order_key=order_key, paramstyle=paramstyle)
        as_dict = check_flag(as_dict, field="as_dict", stage="SqlDataset")
        form = RowForm(as_dict=as_dict, output_types=output_types, record_defaults=record_defaults)
        read = Query(statement=statement, connect=_database(connect), form=form, arraysize=arraysize, cursor=cursor)
        super().__init__(QueryRows(query=read, name=name))


def _database(connect: Any) -> Callable[[], Any]:
    if isinstance(connect, (str, os.PathLike)):
        return SqliteFile(connect)
    if not callable(connect):
        raise TypeError(f"connect must be a function that connects, or a path, not {type(connect).__name__}")
    return Database(connect)
