from __future__ import annotations

import contextlib
import logging
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import DataError, DataLossError, InvalidArgumentError, NotFoundError
from headrace.io.sql.reader import RowPosition
from headrace.testing import check_every_restore_point

EXECUTORS = pytest.mark.parametrize("executor", ["thread", "inline"])
LIMIT_S = 60.0
# Counts without end, so that only an interruption ends it.
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def database(folder: Path, count: int, name: str = "numbers.sqlite") -> Path:
    path = folder / name
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE numbers (id INTEGER PRIMARY KEY, x REAL, name TEXT, data BLOB)")
        listed = [(n, None if n % 4 == 3 else n / 2, f"name {n}", bytes([n % 256])) for n in range(count)]
        connection.executemany("INSERT INTO numbers VALUES (?, ?, ?, ?)", listed)
    return path


def rows(dataset: hr.Dataset, executor: str = "thread") -> list[Any]:
    return list(dataset.with_options(hr.Options(executor=executor)))


class Watched:
    """Connects, and knows what of it is open; every fetch may be made to fail."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.open = 0
        self.made = 0
        self.fail_after: int | None = None
        self.describes_late = False

    def __call__(self) -> WatchedConnection:
        self.open += 1
        self.made += 1
        return WatchedConnection(self)


class WatchedConnection:
    """A connection that no thread but its own may touch, as SQLite sees to by itself."""

    def __init__(self, watch: Watched) -> None:
        self.watch = watch
        self.driver_connection = sqlite3.connect(watch.path)
        self.close_cursor: Callable[[], None] = lambda: None

    def cursor(self) -> WatchedCursor:
        self.watch.open += 1
        return WatchedCursor(self.watch, self.driver_connection.cursor())

    def close(self) -> None:
        self.driver_connection.close()
        self.watch.open -= 1


class WatchedCursor:
    def __init__(self, watch: Watched, cursor: sqlite3.Cursor) -> None:
        self.watch, self.cursor, self.left = watch, cursor, watch.fail_after
        self.execute = cursor.execute
        self.fetched = False

    @property
    def description(self) -> Any:
        return None if self.watch.describes_late and not self.fetched else self.cursor.description

    def fetchmany(self, size: int) -> list[Any]:
        self.fetched = True
        if self.left is not None and size > self.left:
            raise ConnectionResetError("the server went away")
        self.left = None if self.left is None else self.left - size
        return self.cursor.fetchmany(size)

    def close(self) -> None:
        self.cursor.close()
        self.watch.open -= 1


# ------------------------------------------------------------------------------------------- rows


@EXECUTORS
@pytest.mark.parametrize("count", [0, 1, 4, 5, 9])
def test_rows_come_in_the_order_of_the_query(tmp_path: Path, executor: str, count: int) -> None:
    path = database(tmp_path, count)
    for connect in (path, str(path), lambda: sqlite3.connect(path)):
        dataset = hr.SqlDataset("SELECT id, name FROM numbers ORDER BY id DESC", connect, arraysize=4)
        assert rows(dataset, executor) == [(n, f"name {n}") for n in reversed(range(count))]
        assert rows(dataset.repeat(2), executor) == rows(dataset, executor) * 2


@EXECUTORS
def test_rows_may_be_dicts_of_stated_types(tmp_path: Path, executor: str) -> None:
    path = database(tmp_path, 5)
    query = "SELECT * FROM numbers WHERE id >= :first"
    as_dicts = hr.SqlDataset(query, path, {"first": 2}, as_dict=True, record_defaults={"x": -1.0})
    assert rows(as_dicts, executor)[1] == {"id": 3, "x": -1.0, "name": "name 3", "data": b"\3"}
    typed = hr.SqlDataset(
        query, path, {"first": 2}, output_types={"x": "float32", "id": "int16"}, record_defaults={"x": -1}
    )
    assert typed.element_spec == {"x": hr.TensorSpec((), "float32"), "id": hr.TensorSpec((), "int16")}
    (batch,) = rows(typed.batch(9), executor)
    assert (batch["x"].dtype, batch["x"].tolist(), batch["id"].dtype) == (np.float32, [1.0, -1.0, 2.0], np.int16)


def test_a_tensorflow_program_reads_the_same(tmp_path: Path) -> None:
    # tf.data.experimental.SqlDataset("sqlite", path, query, (tf.string, tf.int32)); NULL is 0 there, of its own accord
    path = database(tmp_path, 4)
    ported = hr.SqlDataset(
        "SELECT name, x FROM numbers", str(path), output_types=(str, np.float64), record_defaults=("", 0.0)
    )
    assert list(ported) == [("name 0", 0.0), ("name 1", 0.5), ("name 2", 1.0), ("name 3", 0.0)]


def test_a_null_without_a_default_is_an_error_of_its_row(tmp_path: Path) -> None:
    path = database(tmp_path, 6)
    assert list(hr.SqlDataset("SELECT x FROM numbers", path))[3] == (None,)
    told = []
    with iter(hr.SqlDataset("SELECT x FROM numbers", path, output_types=("float64",), name="xs")) as iterator:
        for _ in range(6):
            try:
                told.append(next(iterator))
            except InvalidArgumentError as error:
                told.append(str(error))
    text = "SqlDataset 'xs', element 3: column 'x' is NULL, and has no default; give one in record_defaults"
    assert told == [(0.0,), (0.5,), (1.0,), text, (2.0,), (2.5,)]


def test_rows_that_a_driver_gives_as_objects_are_read_by_their_values(tmp_path: Path) -> None:
    path = database(tmp_path, 2)

    def connect(factory: Any) -> Callable[[], Any]:
        def connected() -> sqlite3.Connection:
            connection = sqlite3.connect(path)
            connection.row_factory = factory
            return connection

        return connected

    for factory in (sqlite3.Row, lambda cursor, row: dict(zip("in", row, strict=True)), lambda _, row: list(row)):
        assert list(hr.SqlDataset("SELECT id, name FROM numbers", connect(factory))) == [(0, "name 0"), (1, "name 1")]


@EXECUTORS
def test_columns_may_be_known_with_the_first_row_only(tmp_path: Path, executor: str) -> None:
    connect = Watched(database(tmp_path, 5))
    connect.describes_late = True
    for options in ({}, {"order_key": "id"}):
        dataset = hr.SqlDataset("SELECT id FROM numbers", connect, as_dict=True, arraysize=2, **options)  # type: ignore[arg-type]  # their types differ
        assert rows(dataset, executor) == [{"id": n} for n in range(5)]
        check_every_restore_point(dataset, executors=(executor,))
    assert rows(hr.SqlDataset("SELECT id FROM numbers WHERE id > 9", connect), executor) == []
    with pytest.raises(InvalidArgumentError, match="gives no rows"):
        rows(hr.SqlDataset("DELETE FROM numbers", connect), executor)


def test_parts_of_a_table_are_read_beside_each_other(tmp_path: Path) -> None:
    path = database(tmp_path, 40)
    parts = hr.Dataset.range(4).interleave(
        lambda part: hr.SqlDataset("SELECT id FROM numbers WHERE id % 4 = ?", path, (part,), order_key="id"),
        cycle_length=4,
        num_parallel_calls=4,
    )
    assert list(parts) == [(n,) for n in range(40)]
    check_every_restore_point(parts, max_elements=9)


def test_nothing_is_committed(tmp_path: Path) -> None:
    path = database(tmp_path, 1)
    query = "INSERT INTO numbers (id, name) VALUES (7, 'seven') RETURNING id"
    assert list(hr.SqlDataset(query, lambda: sqlite3.connect(path))) == [(7,)]
    assert list(hr.SqlDataset("SELECT id FROM numbers", path)) == [(0,)]
    with pytest.raises(DataError, match="readonly"):
        list(hr.SqlDataset(query, path))


# ----------------------------------------------------------------------------------------- resuming


@EXECUTORS
@pytest.mark.parametrize(
    "options", [{}, {"order_key": "id"}, {"order_key": "NAME"}, {"order_key": '"id"', "as_dict": True}]
)
def test_any_row_is_resumed(tmp_path: Path, executor: str, options: dict[str, Any]) -> None:
    path = database(tmp_path, 7)
    for arraysize in (1, 3, 100):
        query = hr.SqlDataset("SELECT id, name FROM numbers", path, arraysize=arraysize, **options)
        check_every_restore_point(query, executors=(executor,))


def test_a_key_goes_on_without_what_came_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = database(tmp_path, 1_000)
    executed: list[Any] = []

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path)
        connection.set_trace_callback(executed.append)
        return connection

    for options, wanted in (({"order_key": "id"}, "WHERE id >= 599 ORDER BY id"), ({}, "SELECT id FROM numbers")):
        dataset = hr.SqlDataset("SELECT id FROM numbers", connect, **options)  # type: ignore[arg-type]  # their types differ
        with iter(dataset) as iterator:
            for _ in range(600):
                next(iterator)
            state = iterator.state_dict()
        with caplog.at_level(logging.WARNING, logger="headrace"), iter(dataset) as iterator:
            iterator.load_state_dict(state)
            assert next(iterator) == (600,)
        assert executed[-1].endswith(wanted)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert (
        "its first 600 rows are passed over; with an order_key it would go on there: SELECT id FROM numbers" in warning
    )


def test_rows_that_are_gone_since_do_not_matter_to_a_key_and_are_noticed_without(tmp_path: Path) -> None:
    path = database(tmp_path, 9)

    def execute(statement: str) -> None:
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)

    def state_after_six(dataset: hr.Dataset) -> dict[str, Any]:
        with iter(dataset) as iterator:
            for _ in range(6):
                next(iterator)
            return iterator.state_dict()

    by_key = hr.SqlDataset("SELECT id FROM numbers", path, order_key="id")
    by_number = hr.SqlDataset("SELECT id FROM numbers", path)
    states = state_after_six(by_key), state_after_six(by_number)
    execute("DELETE FROM numbers WHERE id BETWEEN 1 AND 5")
    with iter(by_key) as iterator:
        iterator.load_state_dict(states[0])
        assert list(iterator) == [(6,), (7,), (8,)]
    with iter(by_number) as iterator:
        iterator.load_state_dict(states[1])
        with pytest.raises(DataLossError, match="the query gave 4 rows, and reading is to go on after row 6"):
            next(iterator)
        assert list(iterator) == []


KEYS: dict[str, tuple[str, str, str]] = {
    "not unique": ("SELECT id / 3 AS id FROM numbers", "id", "order_key id is 0 in two rows"),
    "null": ("SELECT nullif(id, 2) AS id FROM numbers", "id", "order_key id is NULL"),
    "of another type": ("SELECT data FROM numbers", "data", "order_key data is of type bytes"),
    "not there": ("SELECT name FROM numbers", "id", "no such column: id"),
}


@EXECUTORS
@pytest.mark.parametrize("case", sorted(KEYS))
def test_a_key_that_tells_no_rows_apart_is_an_error(tmp_path: Path, executor: str, case: str) -> None:
    query, key, said = KEYS[case]
    dataset = hr.SqlDataset(query, database(tmp_path, 4), order_key=key)
    with pytest.raises((InvalidArgumentError, DataError), match=said):
        rows(dataset, executor)


# ------------------------------------------------------------------------------------------- errors


@EXECUTORS
def test_the_error_of_a_driver_names_query_and_row(tmp_path: Path, executor: str) -> None:
    path = database(tmp_path, 9)
    query = "SELECT CASE id WHEN 5 THEN abs(-9223372036854775808) ELSE id END FROM numbers"
    for arraysize in (1, 2, 4, 1_000):
        dataset = hr.SqlDataset(query, path, arraysize=arraysize).with_options(hr.Options(executor=executor))
        with iter(dataset) as iterator:
            # SQLite's driver steps ahead: the row before the bad one is lost with it.
            assert [next(iterator)[0] for _ in range(4)] == [0, 1, 2, 3]
            with pytest.raises(DataError) as caught:
                next(iterator)
            assert list(iterator) == []
        text = "SqlDataset, element 4: OperationalError: integer overflow, after row 4 of the query SELECT CASE"
        assert str(caught.value).startswith(text)
        assert caught.value.__cause__ is not None


@EXECUTORS
@pytest.mark.parametrize(("options", "count"), [({}, 6), ({"order_key": "id"}, 9)])
def test_a_connection_that_breaks_is_told_behind_the_last_row_that_came(
    tmp_path: Path, executor: str, options: dict[str, Any], count: int
) -> None:
    connect = Watched(database(tmp_path, 9))
    connect.fail_after = 6  # rows of a cursor
    dataset = hr.SqlDataset("SELECT id FROM numbers", connect, arraysize=4, **options)
    came: list[Any] = []
    with pytest.raises(DataError, match=f"ConnectionResetError: the server went away, after row {count} of the query"):
        came.extend(dataset.with_options(hr.Options(executor=executor)))
    # Asked once more, from behind row 4: without a key the rows before count as well.
    assert came == [(n,) for n in range(count)]
    assert (connect.open, connect.made) == (0, 2)


def test_what_cannot_be_connected_to_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"SqlDataset, element 0: no such file: .*absent\.sqlite"):
        list(hr.SqlDataset("SELECT 1", tmp_path / "absent.sqlite"))
    path = tmp_path / "text.sqlite"
    path.write_text("this is no database, however much of it is read")
    with pytest.raises(DataError, match="file is not a database, after row 0 of the query SELECT 1"):
        list(hr.SqlDataset("SELECT 1 FROM t", path))

    def connect() -> None:
        raise TimeoutError("nobody answers")

    with pytest.raises(DataError, match="TimeoutError: nobody answers"):
        list(hr.SqlDataset("SELECT 1", connect))


def test_what_gives_no_rows_is_told(tmp_path: Path) -> None:
    path = database(tmp_path, 1)
    with pytest.raises(InvalidArgumentError, match="gives no rows, is it a SELECT"):
        list(hr.SqlDataset("DELETE FROM numbers", lambda: sqlite3.connect(path)))


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"connect": 3}, TypeError),
        ({"cursor": 3}, TypeError),
        ({"arraysize": 1.5}, TypeError),
        ({"arraysize": 0}, InvalidArgumentError),
        ({"query": ""}, InvalidArgumentError),
        ({"connect": ""}, InvalidArgumentError),
        ({"output_types": ("no type",)}, (TypeError, InvalidArgumentError)),
    ],
)
def test_arguments_that_do_not_fit_are_refused_at_once(arguments: dict[str, Any], kind: Any) -> None:
    with pytest.raises(kind):
        hr.SqlDataset(**{"query": "SELECT 1", "connect": "a.sqlite", **arguments})


# ------------------------------------------------------------------------------------- it always ends


@EXECUTORS
def test_everything_is_closed_however_a_run_ends(tmp_path: Path, executor: str) -> None:
    connect = Watched(database(tmp_path, 50))
    dataset = hr.SqlDataset("SELECT id FROM numbers", connect, arraysize=7).with_options(hr.Options(executor=executor))
    list(dataset)
    assert connect.open == 0
    with iter(dataset.prefetch(2)) as iterator:
        next(iterator)
    assert connect.open == 0
    for _ in dataset:
        break
    assert connect.open == 0
    with pytest.raises(ZeroDivisionError), iter(dataset) as iterator:
        next(iterator)
        _ = 1 // 0
    assert connect.open == 0
    with pytest.raises(DataError):
        list(hr.SqlDataset("SELECT nothing", connect).with_options(hr.Options(executor=executor)))
    assert (connect.open, connect.made) == (0, 5)


def test_a_query_that_does_not_end_is_interrupted(tmp_path: Path) -> None:
    path = database(tmp_path, 1)
    begun = threading.Event()

    def note() -> int:
        begun.set()
        return 0  # go on

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path)
        connection.set_progress_handler(note, 1_000)
        return connection

    dataset = hr.SqlDataset(ENDLESS, connect).cache().prefetch(1)
    for _ in range(2):  # what was interrupted is no end, which a cache would keep
        begun.clear()
        iterator = iter(dataset)
        waiting = threading.Thread(target=next, args=(iterator, None))
        waiting.start()
        assert begun.wait(LIMIT_S)
        iterator.close()
        waiting.join(LIMIT_S)
        assert not waiting.is_alive()


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("behind", ["", ".cache(folder, key='k')", ".ignore_errors()", ".shuffle(10)", ".prefetch(2)"])
def test_at_the_interpreters_exit_a_query_is_neither_an_error_nor_the_end(
    behind: str, executor: str, tmp_path: Path
) -> None:
    program = f"""
    import sqlite3, threading
    import headrace as hr
    begun, folder = threading.Event(), {str(tmp_path / "kept")!r}
    def connect():
        connection = sqlite3.connect(":memory:")
        connection.set_progress_handler(lambda: begun.set() or 0, 1000)
        return connection
    ds = hr.SqlDataset({ENDLESS!r}, connect){behind}.with_options(hr.Options(executor={executor!r}))
    threading.Thread(target=lambda: list(ds), daemon=True).start()
    assert begun.wait({LIMIT_S})
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".elements"]


def test_a_database_has_a_fingerprint_where_it_is_a_file(tmp_path: Path) -> None:
    path = database(tmp_path, 3)

    def fingerprint(query: str = "SELECT 1", **options: Any) -> str:
        return hr.fingerprint(hr.SqlDataset(query, path, **options))

    before = fingerprint()
    assert fingerprint(arraysize=7) == before
    assert fingerprint("SELECT 2") != before
    assert fingerprint(parameters=(1,)) != before
    database(tmp_path, 3, "other.sqlite").replace(path)
    assert fingerprint() != before
    with pytest.raises(InvalidArgumentError, match="a database does not say when its rows were changed: pass key="):
        hr.fingerprint(hr.SqlDataset("SELECT 1", lambda: sqlite3.connect(path)))


def test_a_state_belongs_to_its_query(tmp_path: Path) -> None:
    path = database(tmp_path, 5)
    with iter(hr.SqlDataset("SELECT id FROM numbers WHERE x > ?", path, (0,), order_key="id")) as iterator:
        next(iterator)
        state = iterator.state_dict()
    for query, parameters, key in [
        ("SELECT id FROM numbers WHERE x >= ?", (0,), "id"),
        ("SELECT id FROM numbers WHERE x > ?", (1,), "id"),
        ("SELECT id FROM numbers WHERE x > ?", (0,), None),
    ]:
        with (
            iter(hr.SqlDataset(query, path, parameters, order_key=key)) as iterator,
            pytest.raises(InvalidArgumentError, match="the state belongs to another plan"),
        ):
            iterator.load_state_dict(state)


def test_a_damaged_state_is_refused() -> None:
    for state in ({}, {"row": -1, "key": None, "ended": False}, {"row": "1", "key": None, "ended": False}):
        with pytest.raises(InvalidArgumentError, match="a position in a query has row, key and ended"):
            RowPosition.from_json(state)
    assert RowPosition.from_json(RowPosition(3, "k").to_json()) == RowPosition(3, "k")
