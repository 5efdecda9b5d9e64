from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import DataLossError
from headrace.io.parquet_footer import check_column_types


def content(table: pa.Table, **how: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=2, **how)
    return sink.getvalue()


def check(data: bytes) -> None:
    check_column_types("a.parquet", pa.BufferReader(data))


FLAT = content(pa.table({"x": [1, 2, 3], "s": ["a", "b", "c"], "f": [0.5, 1.5, 2.5], "b": [True, False, True]}))


def test_a_whole_file_is_what_it_says() -> None:
    check(FLAT)
    check(content(pa.table({"x": pa.array([], pa.int64())})))
    nested = {"d": [{"a": [1, 2], "m": {"k": "v"}}] * 5, "n": pa.nulls(5), **{f"c{n}": range(5) for n in range(20)}}
    check(content(pa.table(nested), write_page_index=True, store_decimal_as_integer=True, compression="zstd"))


def test_a_chunk_of_another_type_than_its_column_is_told() -> None:
    type_in_chunk = FLAT.rindex(b"\x15\x04\x19")  # the int64 of the last row group's first column, before its encodings
    with pytest.raises(DataLossError, match=r"row group 1 has columns of the types \[\d, 6, 5, 0\], .* \[2, 6, 5, 0\]"):
        check(FLAT[: type_in_chunk + 1] + b"\x02" + FLAT[type_in_chunk + 2 :])


@pytest.mark.parametrize("data", [b"", b"PAR1", FLAT[:-1], b"\xff\xff\xff\x7fPAR1", bytes(9) + b"\x09\0\0\0PAR1"])
def test_what_is_no_footer_is_told(data: bytes) -> None:
    with pytest.raises(DataLossError, match=r"a\.parquet"):
        check(data)


@given(
    st.binary(max_size=60) | st.sampled_from([b"\x1c" * 5_000, b"\x19\xfc\xff\xff\xff\xff\x0f", b"\x16" + b"\xff" * 20])
)
def test_whatever_a_footer_is_it_is_read_in_as_many_steps_as_it_has_bytes(footer: bytes) -> None:
    with pytest.raises(DataLossError):
        check(footer + len(footer).to_bytes(4, "little") + b"PAR1")


@given(st.integers(0, 1 << 20), st.integers(0, 255))
def test_with_any_byte_changed_it_is_right_or_told(place: int, value: int) -> None:
    length = int.from_bytes(FLAT[-8:-4], "little")
    changed = bytearray(FLAT)
    changed[len(FLAT) - 8 - length + place % length] = value
    try:
        check(bytes(changed))
    except DataLossError as error:
        assert "a.parquet: its footer is corrupt" in str(error)  # noqa: PT017 - most changes are no error
