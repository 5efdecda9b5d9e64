from __future__ import annotations

import contextlib
import datetime as dt
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import DataLossError, HeadraceError
from headrace.io.columnar.parquet_footer import Bounds, bounds_of
from headrace.io.columnar.parquet_pruning import may_fit
from headrace.io.columnar.wanted import checked_filters

NOON = dt.datetime(2020, 2, 28, 12, 0, 0, 5, tzinfo=dt.UTC).replace(tzinfo=None)
TABLE = pa.table(
    {
        "x": [1, 2, 3],
        "d": [{"s": "no", "x": 9}] * 3,
        "s": ["a", "é", "c"],
        "l": [[1], [2], [3]],
        "f": pa.array([0.1, 1.5, float("nan")], pa.float32()),
        "t": pa.array([NOON] * 3, pa.timestamp("us")),
        "z": pa.array([NOON] * 3, pa.timestamp("ns", "Asia/Tokyo")),
        "day": [NOON.date()] * 3,
        "b": [True, False, True],
    }
)


def content(table: pa.Table, **how: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=2, **how)
    return sink.getvalue()


FLAT = content(TABLE)


def bounds(data: bytes, names: Any = "xsftzd") -> list[dict[str, Bounds]]:
    return bounds_of("a.parquet", pa.BufferReader(data), {*names, "day"})


def test_bounds_are_those_of_each_row_group() -> None:
    first, last = bounds(FLAT, "xs")
    assert first["x"] == Bounds(2, (1).to_bytes(8, "little"), (2).to_bytes(8, "little"))
    assert last["x"] == Bounds(2, (3).to_bytes(8, "little"), (3).to_bytes(8, "little"))
    assert (first["s"].lowest, first["s"].highest) == (b"a", "é".encode())
    assert set(first) == {"x", "s", "day"}
    assert first["day"].unit is None
    assert bounds(FLAT, "tzdl")[0].keys() == {"t", "z", "day"}, "a struct's fields and a list's items are no columns"


def test_a_file_without_rows_or_statistics_has_no_bounds() -> None:
    assert bounds(content(TABLE.slice(0, 0))) in ([], [{}])
    assert bounds(content(TABLE, write_statistics=False)) == [{}, {}]


COLUMNS: dict[str, list[Any]] = {
    "x": [0, 1, 2, 2.5, 3, 4, 1e30, np.int64(2)],
    "s": ["", "a", "b", "é", "z"],
    "f": [0, 0.1, float(np.float32(0.1)), 1.5, 2, 1e300],
    "t": [NOON, NOON.replace(microsecond=6), NOON.replace(year=1969)],
    "z": [NOON.replace(tzinfo=dt.UTC), NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))],
    "day": [NOON.date(), dt.date(1960, 1, 1), dt.date(2030, 1, 1)],
    "b": [True, False],
}
conditions = st.sampled_from(sorted(COLUMNS)).flatmap(
    lambda name: st.one_of(
        st.tuples(
            st.just(name),
            st.sampled_from(["=", "==", "!=", "<", ">", "<=", ">="]),
            st.sampled_from(COLUMNS[name]),
        ),
        st.tuples(
            st.just(name), st.sampled_from(["in", "not in"]), st.lists(st.sampled_from(COLUMNS[name]), max_size=2)
        ),
    )
)


@given(st.lists(st.lists(conditions, min_size=1, max_size=3), min_size=1, max_size=2), st.sampled_from(["1.0", "2.6"]))
def test_no_row_group_is_excluded_that_has_a_row_that_passes(filters: Any, version: Any) -> None:
    checked = checked_filters(filters)
    assert checked is not None
    found = bounds(content(TABLE, version=version))
    for number, group in enumerate(found):
        rows = TABLE.slice(2 * number, 2)
        try:
            passing = rows.filter(pq.filters_to_expression(filters)).num_rows
        except (pa.ArrowException, OverflowError):
            return  # no filter that can be made
        assert may_fit(checked, TABLE.schema, group) or not passing


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("x", ">", 2), [False, True]),
        (("x", "=", 3), [False, True]),
        (("x", "!=", 3), [True, False]),
        (("x", "<=", 1.5), [True, False]),
        (("x", "in", [7, 8]), [False, False]),
        (("x", "not in", [1, 2, 3]), [True, True]),
        (("s", ">=", "d"), [True, False]),
        (("day", "<", dt.date(2020, 2, 28)), [False, False]),
        (("t", ">", NOON), [False, False]),
        (("z", "<=", NOON.replace(tzinfo=dt.UTC)), [True, True]),
        (("z", "<", NOON.replace(tzinfo=dt.UTC)), [False, False]),
        (("b", "=", True), [True, True]),
    ],
)
def test_what_cannot_pass_is_excluded(condition: Any, expected: list[bool]) -> None:
    filters = checked_filters([condition])
    assert filters is not None
    assert [may_fit(filters, TABLE.schema, group) for group in bounds(FLAT)] == expected


@pytest.mark.parametrize("data", [b"", b"PAR1", FLAT[:-1], b"\xff\xff\xff\x7fPAR1", bytes(9) + b"\x09\0\0\0PAR1"])
def test_what_is_no_footer_is_told(data: bytes) -> None:
    with pytest.raises(DataLossError, match=r"a\.parquet"):
        assert bounds(data) == []
        raise DataLossError("a.parquet: a struct without fields is a footer without row groups")


DEEP = [b"\x1c" * 5_000, b"\x19\xfc\xff\xff\xff\xff\x0f", b"\x16" + b"\xff" * 20]


@given(st.binary(max_size=60) | st.sampled_from(DEEP))
def test_whatever_a_footer_is_it_is_read_in_as_many_steps_as_it_has_bytes(footer: bytes) -> None:
    with contextlib.suppress(HeadraceError):
        bounds(footer + len(footer).to_bytes(4, "little") + b"PAR1")


@given(st.integers(0, 1 << 20), st.integers(0, 255))
def test_with_any_byte_changed_a_footer_is_read_or_told(place: int, value: int) -> None:
    length = int.from_bytes(FLAT[-8:-4], "little")
    changed = bytearray(FLAT)
    changed[len(FLAT) - 8 - length + place % length] = value
    filters = checked_filters([("x", "=", 1), ("s", "<", "b"), ("t", "<", NOON), ("f", "in", [1.0])])
    assert filters is not None
    with contextlib.suppress(HeadraceError):
        for group in bounds(bytes(changed)):
            may_fit(filters, TABLE.schema, group)
