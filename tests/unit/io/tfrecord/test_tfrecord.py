from __future__ import annotations

import gzip
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.io.reading import everything_of
from tests.unit.io.tfrecord.tfrecord_files import crc32c, file_of, frame_of, use_slow_crc32c

from headrace.errors import (
    DataLossError,
    InvalidArgumentError,
    MissingExtraError,
    NotFoundError,
    ResourceExhaustedError,
)
from headrace.io.reader import RecordPosition
from headrace.io.stream_reader import DEFAULT_BUFFER_BYTES
from headrace.io.tfrecord.reader import FRAME_BYTES, FrameReader

COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}
# What tf.io.TFRecordWriter writes for b"one", b"" and b"three".
BY_TENSORFLOW = bytes.fromhex(
    "0300000000000000b099490e6f6e6501405508000000000000000029039807d8ea82a20500000000000000eab2043e74687265656023fb45"
)

payload_lists = st.lists(st.binary(max_size=9), max_size=6)
# The generator calls a test many times with one monkeypatch, which sets the same thing again.
ONE_PATCH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _slow_crc32c(monkeypatch: pytest.MonkeyPatch) -> None:
    use_slow_crc32c(monkeypatch)


def values(told: list[tuple[Any, ...]]) -> list[Any]:
    return [step[1] if isinstance(step[1], type) else step[2][0][1] for step in told]


def written(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(content)
    return str(path)


def test_what_tensorflow_wrote_is_read(tmp_path: Path) -> None:
    assert file_of([b"one", b"", b"three"]) == BY_TENSORFLOW
    reader = FrameReader(written(tmp_path, BY_TENSORFLOW))
    assert values(everything_of(reader)) == [b"one", b"", b"three"]


def test_the_library_computes_what_the_definition_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "google_crc32c")
    library = pytest.importorskip("google_crc32c")
    assert library.value(b"123456789") == crc32c(b"123456789") == 0xE3069283


def test_a_missing_library_is_an_error_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[tfrecord\]'"):
        FrameReader("a.tfrecord")


@ONE_PATCH
@given(
    payloads=payload_lists,
    compression=st.sampled_from(list(COMPRESS)),
    buffer_size=st.integers(1, 40),
    sizes=st.lists(st.integers(1, 3), max_size=9),
)
def test_every_record_is_delivered_once_whatever_the_buffer(
    tmp_path: Path, payloads: list[bytes], compression: str, buffer_size: int, sizes: list[int]
) -> None:
    path = written(tmp_path, COMPRESS[compression](file_of(payloads)))
    told = everything_of(FrameReader(path, compression, buffer_size), sizes)
    assert values(told) == payloads
    assert [step[1] for step in told] == list(range(1, len(payloads) + 1))


@ONE_PATCH
@given(
    payloads=payload_lists,
    at=st.integers(0, 150),
    flipped=st.integers(0, 255),
    cut=st.integers(0, 150),
    limit=st.integers(1, 9),
    buffer_size=st.integers(1, 40),
)
def test_reading_goes_on_from_every_record_also_in_a_damaged_file(
    tmp_path: Path, payloads: list[bytes], at: int, flipped: int, cut: int, limit: int, buffer_size: int
) -> None:
    content = bytearray(file_of(payloads))
    if at < len(content):
        content[at] ^= flipped
    path = written(tmp_path, bytes(content[: max(cut, len(content) // 2)]))

    def read_from(position: RecordPosition | None, buffer_size: int) -> list[tuple[Any, ...]]:
        return everything_of(FrameReader(path, None, buffer_size, position, max_record_bytes=limit), [1] * 200)

    whole = read_from(None, 1000)
    for index, (position, *_) in enumerate(whole):
        assert read_from(RecordPosition.from_json(position.to_json()), buffer_size) == whole[index:]


def test_a_corrupt_record_is_one_bad_record(tmp_path: Path) -> None:
    content = bytearray(file_of([b"one", b"two", b"three"]))
    content[FRAME_BYTES + 3 + 12] ^= 1
    path = written(tmp_path, bytes(content))
    told = everything_of(FrameReader(path))
    assert values(told) == [b"one", DataLossError, b"three"]
    assert told[1][2] == f"{path}:2: the record is corrupt: its checksum is wrong"


def test_behind_a_corrupt_length_the_file_is_at_its_end(tmp_path: Path) -> None:
    content = bytearray(file_of([b"one", b"two", b"three"]))
    content[FRAME_BYTES + 3] ^= 1
    reader = FrameReader(written(tmp_path, bytes(content)))
    told = everything_of(reader)
    assert values(told) == [b"one", DataLossError]
    assert "the length of a record is corrupt" in told[1][2]
    assert reader.position == RecordPosition(offset=19, line=2, record=1, ended=True)


@pytest.mark.parametrize("missing", range(1, FRAME_BYTES + 5))
def test_a_file_that_was_cut_short_is_not_complete(tmp_path: Path, missing: int) -> None:
    whole = file_of([b"one", b"three"])
    path = written(tmp_path, whole[: len(whole) - missing])
    assert values(everything_of(FrameReader(path))) == [b"one", DataLossError]


@pytest.mark.parametrize("claimed", [2**28 + 1, 2**40, 2**64 - 1])
def test_a_hostile_length_is_refused_before_anything_is_allocated(tmp_path: Path, claimed: int) -> None:
    path = written(tmp_path, file_of([b"one"]) + frame_of(b"small", claimed_length=claimed))
    tracemalloc.start()
    told = everything_of(FrameReader(path))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert values(told) == [b"one", ResourceExhaustedError]
    assert f"the record has {claimed} bytes, and the limit is 268435456" in told[1][2]
    assert peak_bytes < 2 * DEFAULT_BUFFER_BYTES


def test_a_length_that_is_allowed_costs_only_what_is_there(tmp_path: Path) -> None:
    path = written(tmp_path, frame_of(b"small", claimed_length=2**28))
    tracemalloc.start()
    told = everything_of(FrameReader(path))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert values(told) == [DataLossError]
    assert peak_bytes < 2 * DEFAULT_BUFFER_BYTES


@pytest.mark.parametrize("buffer_size", [1, 20, 1000])
def test_a_record_beyond_the_limit_is_passed_over(tmp_path: Path, buffer_size: int) -> None:
    path = written(tmp_path, file_of([b"one", b"x" * 100, b"three"]))
    told = everything_of(FrameReader(path, buffer_size=buffer_size, max_record_bytes=50))
    assert values(told) == [b"one", ResourceExhaustedError, b"three"]
    assert told[2][0] == RecordPosition(offset=19 + 116, line=3, record=2)


def test_a_run_of_records_is_no_longer_than_the_buffer(tmp_path: Path) -> None:
    path = written(tmp_path, file_of([b"x" * 84] * 50))
    chunk = (reader := FrameReader(path, buffer_size=1000)).read(50)
    reader.close()
    assert chunk is not None
    assert len(chunk) == 10


def test_a_stream_that_breaks_off_is_told_once_behind_its_good_records(tmp_path: Path) -> None:
    compressed = zlib.compress(file_of([b"one", b"two"]))
    path = written(tmp_path, compressed[:-4])
    assert values(everything_of(FrameReader(path, "ZLIB"))) == [b"one", b"two", DataLossError]


def test_a_file_is_opened_by_the_first_read_and_closed_by_close(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    reader = FrameReader(str(path))
    path.write_bytes(file_of([b"one", b"two"]))
    assert reader.read(1) is not None
    reader.close()
    reader.close()
    assert reader.read(1) is None
    missing = FrameReader(str(tmp_path / "none"))
    with pytest.raises(NotFoundError, match="no such file"):
        missing.read(1)
    assert missing.position == RecordPosition(ended=True)
    assert missing.read(1) is None


@pytest.mark.parametrize("argument", [{"buffer_size": 0}, {"max_record_bytes": 0}, {"compression_type": "RAR"}])
def test_arguments_that_do_not_fit_are_refused_at_once(argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        FrameReader(**{"path": "a.tfrecord", **argument})
    with pytest.raises(InvalidArgumentError, match="max_records is at least 1, and not 0"):
        FrameReader("a.tfrecord").read(0)


def test_the_layout_is_what_the_format_says() -> None:
    frame = frame_of(b"abc")
    assert struct.unpack_from("<Q", frame)[0] == 3
    assert frame[12:15] == b"abc"
    assert len(frame) == 3 + FRAME_BYTES
