from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.reading import everything_of

from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.fixed_length.reader import FixedLengthReader
from headrace.io.reader import RecordPosition

COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}

layouts = st.fixed_dictionaries(
    {
        "record_bytes": st.integers(1, 4),
        "header_bytes": st.integers(0, 3),
        "footer_bytes": st.integers(0, 3),
        "hop_bytes": st.integers(0, 6),
    }
)


def records_of(content: bytes, record_bytes: int, header_bytes: int, footer_bytes: int, hop_bytes: int) -> list[Any]:
    """The promise of ``fixed_length``, said plainly."""
    hop = hop_bytes or record_bytes
    end = len(content) - footer_bytes
    if end < header_bytes:
        return [DataLossError]
    told: list[Any] = []
    at = header_bytes
    while at + record_bytes <= end:
        told.append(content[at : at + record_bytes])
        at += hop
    return [*told, DataLossError] if at < end and hop >= record_bytes else told


def values(told: list[tuple[Any, ...]]) -> list[Any]:
    return [step[1] if isinstance(step[1], type) else step[2][0][1] for step in told]


@given(
    content=st.binary(max_size=40),
    layout=layouts,
    buffer_size=st.integers(1, 9),
    compression=st.sampled_from(list(COMPRESS)),
    sizes=st.lists(st.integers(1, 3), max_size=9),
)
def test_every_record_is_delivered_once_whatever_the_buffer(
    tmp_path_factory: pytest.TempPathFactory,
    content: bytes,
    layout: dict[str, Any],
    buffer_size: int,
    compression: str,
    sizes: list[int],
) -> None:
    path = tmp_path_factory.getbasetemp() / "fixed.bin"
    path.write_bytes(COMPRESS[compression](content))
    reader = FixedLengthReader(str(path), **layout, compression_type=compression, buffer_size=buffer_size)
    told = everything_of(reader, sizes)
    assert values(told) == records_of(content, **layout)


@given(content=st.binary(max_size=40), layout=layouts)
def test_reading_goes_on_from_every_record(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, layout: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "places.bin"
    path.write_bytes(content)

    def read_from(position: RecordPosition | None) -> list[tuple[Any, ...]]:
        return everything_of(FixedLengthReader(str(path), **layout, position=position), [1] * 200)

    whole = read_from(None)
    for index, (position, *_) in enumerate(whole):
        assert read_from(RecordPosition.from_json(position.to_json())) == whole[index:]


@pytest.mark.parametrize(
    ("content", "layout", "expected"),
    [
        # As tf.compat.v1.FixedLengthRecordReader delivers them.
        (b"HHaabbccF", {"header_bytes": 2, "footer_bytes": 1}, [b"aa", b"bb", b"cc"]),
        (b"HHaaXbbXccF", {"header_bytes": 2, "footer_bytes": 1, "hop_bytes": 3}, [b"aa", b"bb", b"cc"]),
        (b"HHaabbccF", {"header_bytes": 2, "footer_bytes": 1, "hop_bytes": 3}, [b"aa", b"bc"]),
        (b"abcd", {"hop_bytes": 1}, [b"ab", b"bc", b"cd"]),
    ],
)
def test_records_are_cut_as_tensorflow_cuts_them(
    tmp_path: Path, content: bytes, layout: dict[str, Any], expected: list[bytes]
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(content)
    assert values(everything_of(FixedLengthReader(str(path), 2, **layout))) == expected


def test_a_record_that_was_cut_off_is_told_behind_the_good_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"HHaabbcF")
    told = everything_of(FixedLengthReader(str(path), 2, header_bytes=2, footer_bytes=1))
    assert values(told) == [b"aa", b"bb", DataLossError]
    assert told[2][2].startswith(f"{path}:3: the file ends 1 bytes into a record of 2; it was cut short")


def test_a_file_too_short_for_its_header_and_footer_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"H")
    told = everything_of(FixedLengthReader(str(path), 2, header_bytes=2, footer_bytes=1))
    assert told == [
        (RecordPosition(), DataLossError, f"{path}:1: the file has 1 bytes, but header and footer alone have 3"),
    ]


@pytest.mark.parametrize(
    "argument",
    [{"record_bytes": 0}, {"hop_bytes": -1}, {"header_bytes": -1}, {"footer_bytes": -1}, {"compression_type": "RAR"}],
)
def test_arguments_that_do_not_fit_are_refused_at_once(argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        FixedLengthReader(**{"path": "a.bin", "record_bytes": 2, **argument})
