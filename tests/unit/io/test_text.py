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

from headrace.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError
from headrace.io.reader import RecordPosition
from headrace.io.text.reader import LineReader

COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}

texts = st.lists(st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"a", b"word", "é".encode(), b"\0", b"\xff", b"\xc3"]))
contents = texts.map(b"".join)


def lines_of(content: bytes) -> list[bytes]:
    """The promise of ``text``, said plainly."""
    lines = content.replace(b"\r\n", b"\n").split(b"\n")
    return lines if lines[-1] else lines[:-1]


def values(told: list[tuple[Any, ...]]) -> list[Any]:
    return [step[2][0][1] if step[1] is not InvalidArgumentError else None for step in told]


def decoded(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


@given(content=contents, buffer_size=st.integers(1, 9), sizes=st.lists(st.integers(1, 3), max_size=9))
def test_every_line_is_delivered_once_whatever_the_buffer(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, buffer_size: int, sizes: list[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes(content)
    told = everything_of(LineReader(str(path), buffer_size=buffer_size), sizes)
    assert values(told) == [decoded(line) for line in lines_of(content)]
    lines = [step[1] if step[1] is not InvalidArgumentError else None for step in told]
    assert all(line in {None, number} for number, line in enumerate(lines, 1))


@given(content=contents, compression=st.sampled_from([None, "", "GZIP", "ZLIB"]))
def test_reading_goes_on_from_every_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, compression: str | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "places.txt"
    path.write_bytes(COMPRESS[compression or ""](content))

    def read_from(position: RecordPosition | None) -> list[tuple[Any, ...]]:
        return everything_of(LineReader(str(path), compression, position=position), [1] * 200)

    whole = read_from(None)
    for index, (position, *_) in enumerate(whole):
        assert read_from(RecordPosition.from_json(position.to_json())) == whole[index:]


def test_a_line_that_is_not_utf8_is_told_with_its_place_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nb\xe9d\nagain\n")
    told = everything_of(LineReader(str(path)))
    assert told[1] == (
        RecordPosition(offset=5, line=2, record=1),
        InvalidArgumentError,
        f"{path}:2: not UTF-8 (invalid continuation byte: byte 0xe9); convert the file, or read it as bytes",
    )
    assert told[2][1] == 3


def test_a_line_beyond_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("short\n" + "x" * 100 + "\nend")
    for buffer_size in (1, 7, 64, 1000):
        told = everything_of(LineReader(str(path), buffer_size=buffer_size, max_record_bytes=50), [1] * 5)
        assert [step[1] for step in told] == [1, ResourceExhaustedError, 3]
        assert told[2][0] == RecordPosition(offset=107, line=3, record=2)


@pytest.mark.parametrize(
    "argument", [{"buffer_size": 0}, {"max_record_bytes": 0}, {"compression_type": "RAR"}, {"path": ""}]
)
def test_arguments_that_do_not_fit_are_refused_at_once(argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        LineReader(**{"path": "a.txt", **argument})


def test_at_least_one_record_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="max_records is at least 1, and not 0"):
        LineReader(str(tmp_path / "a.txt")).read(0)


def test_a_file_that_shrank_is_not_taken_for_one_that_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\n2\n3\n")
    position = RecordPosition(offset=4, line=3, record=2)
    path.write_text("1\n")
    reader = LineReader(str(path), position=position)
    with pytest.raises(DataLossError, match="has 2 bytes, and reading is to go on at byte 4: the file has changed"):
        reader.read(1)
    assert reader.read(1) is None


def test_a_file_is_opened_by_the_first_read_and_closed_by_the_last(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    reader = LineReader(str(path), buffer_size=2)
    path.write_text("1\n2\n3\n")
    assert reader.read(1) is not None
    reader.close()
    reader.close()
    assert reader.read(1) is None
    assert reader.position == RecordPosition(offset=2, line=2, record=1)
    path.unlink()
    missing = LineReader(str(path))
    with pytest.raises(NotFoundError):
        missing.read(1)
    assert missing.position == RecordPosition(ended=True)


def test_a_line_may_come_from_any_file_system() -> None:
    import fsspec

    with fsspec.open("memory://headrace/lines.txt", "wb") as file:
        file.write(b"one\ntwo\n")
    told = everything_of(LineReader("memory://headrace/lines.txt", position=RecordPosition(4, 2, 1)))
    assert values(told) == ["two"]
    with pytest.raises(NotFoundError, match="no such file: memory://headrace/none"):
        LineReader("memory://headrace/none").read(1)
