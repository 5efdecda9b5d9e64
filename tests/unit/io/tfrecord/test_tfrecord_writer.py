from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.io.reading import everything_of
from tests.unit.io.tfrecord.tfrecord_files import file_of, use_slow_crc32c

import headrace as hr
from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.io.tfrecord.reader import FrameReader

UNPACK: dict[str | None, Any] = {None: bytes, "GZIP": gzip.decompress, "ZLIB": zlib.decompress}


@pytest.fixture(autouse=True)
def _slow_crc32c(monkeypatch: pytest.MonkeyPatch) -> None:
    use_slow_crc32c(monkeypatch)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payloads=st.lists(st.binary(max_size=20), max_size=5), compression=st.sampled_from(list(UNPACK)))
def test_what_is_written_is_what_the_format_says(
    tmp_path: Path, payloads: list[bytes], compression: str | None
) -> None:
    path = tmp_path / "a.tfrecord"
    with hr.io.TFRecordWriter(path, compression) as writer:
        for payload in payloads:
            writer.write(payload)
    assert UNPACK[compression](path.read_bytes()) == file_of(payloads)
    told = everything_of(FrameReader(str(path), compression))
    assert [step[2][0][1] for step in told] == payloads


def test_what_holds_bytes_is_written_as_bytes(tmp_path: Path) -> None:
    with hr.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write(bytearray(b"one"))
        writer.write(memoryview(b"two")[::2])
    assert (tmp_path / "a").read_bytes() == file_of([b"one", b"to"])


@pytest.mark.parametrize("record", ["text", 7, None, ["list"]], ids=str)
def test_what_is_not_bytes_is_refused(tmp_path: Path, record: Any) -> None:
    with hr.io.TFRecordWriter(tmp_path / "a") as writer, pytest.raises(TypeError, match="a record is bytes, and not"):
        writer.write(record)


def test_a_closed_writer_takes_nothing_more(tmp_path: Path) -> None:
    writer = hr.io.TFRecordWriter(tmp_path / "a", "GZIP")
    writer.write(b"one")
    writer.close()
    writer.close()
    with pytest.raises(FailedPreconditionError, match="the writer is closed"):
        writer.write(b"two")
    assert gzip.decompress((tmp_path / "a").read_bytes()) == file_of([b"one"])


@pytest.mark.parametrize("compression", [None, "ZLIB"])
def test_an_exception_leaves_nothing_behind(tmp_path: Path, compression: str | None) -> None:
    with pytest.raises(ZeroDivisionError), hr.io.TFRecordWriter(tmp_path / "a", compression) as writer:
        writer.write(b"one")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_the_same_records_are_the_same_file(tmp_path: Path) -> None:
    for name in "ab":
        with hr.io.TFRecordWriter(tmp_path / name, "GZIP") as writer:
            writer.write(b"one")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_unknown_compression_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="compression_type is None, '', 'GZIP' or 'ZLIB', and not 'RAR'"):
        hr.io.TFRecordWriter(tmp_path / "a", "RAR")
    assert list(tmp_path.iterdir()) == []
