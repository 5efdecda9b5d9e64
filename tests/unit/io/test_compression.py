from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.compression import checked_compression_type, open_stream

COMPRESS: dict[str, Callable[[bytes], bytes]] = {"GZIP": gzip.compress, "ZLIB": zlib.compress}


def read_all(path: Path, kind: str, offset: int = 0, size: int = 1000) -> bytes:
    stream = open_stream(str(path), kind, offset)
    try:
        return b"".join(iter(lambda: stream.read(size), b""))
    finally:
        stream.close()


@given(
    parts=st.lists(st.binary(max_size=300), min_size=1, max_size=3),
    kind=st.sampled_from(["GZIP", "ZLIB"]),
    size=st.integers(1, 200),
)
def test_streams_one_after_the_other_are_one_from_any_offset(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], kind: str, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "parts"
    path.write_bytes(b"".join(map(COMPRESS[kind], parts)))
    content = b"".join(parts)
    assert read_all(path, kind, size=size) == content
    for offset in {0, len(content) // 2, len(content)}:
        assert read_all(path, kind, offset) == content[offset:]


def test_what_expands_a_thousandfold_is_not_held_at_once(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(20_000_000)))
    stream = open_stream(str(path), "GZIP")
    sizes = [len(portion) for portion in iter(lambda: stream.read(1 << 30), b"")]
    stream.close()
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= 1 << 17


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
@pytest.mark.parametrize("cut", [1, 4, 8, 30])
def test_a_stream_that_was_cut_short_is_no_complete_one(tmp_path: Path, kind: str, cut: int) -> None:
    path = tmp_path / "cut"
    content = bytes(range(256)) * 3
    path.write_bytes(COMPRESS[kind](content)[:-cut])
    stream = open_stream(str(path), kind)
    read = b""
    with pytest.raises(DataLossError, match=rf"cut ends in the middle of its {kind} stream; it was cut short"):
        while portion := stream.read(100):
            read += portion
    stream.close()
    assert content.startswith(read)


@pytest.mark.parametrize(
    ("kind", "content"), [("GZIP", b"plain"), ("ZLIB", gzip.compress(b"x", mtime=0)), ("GZIP", zlib.compress(b"x"))]
)
def test_a_wrong_compression_type_is_told(tmp_path: Path, kind: str, content: bytes) -> None:
    path = tmp_path / "wrong"
    path.write_bytes(content)
    with pytest.raises(DataLossError, match=f"is no {kind} stream, or a corrupt one .*; check compression_type"):
        read_all(path, kind)


def test_garbage_behind_a_stream_is_told_and_padding_is_not(tmp_path: Path) -> None:
    path = tmp_path / "padded.gz"
    path.write_bytes(gzip.compress(b"content") + bytes(300_000))
    assert read_all(path, "GZIP") == b"content"
    path.write_bytes(gzip.compress(b"content") + b"garbage")
    with pytest.raises(DataLossError, match="corrupt"):
        read_all(path, "GZIP")


def test_a_wrong_checksum_is_told(tmp_path: Path) -> None:
    path = tmp_path / "flipped.gz"
    compressed = bytearray(gzip.compress(b"content"))
    compressed[-8] ^= 1
    path.write_bytes(compressed)
    with pytest.raises(DataLossError, match="incorrect data check"):
        read_all(path, "GZIP")


def test_an_empty_file_is_an_empty_stream(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert [read_all(path, kind) for kind in ("", "GZIP", "ZLIB")] == [b"", b"", b""]


def test_going_on_behind_the_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "short"
    for kind, content in (("", b"12"), ("GZIP", gzip.compress(b"12"))):
        path.write_bytes(content)
        with pytest.raises(DataLossError, match="short has 2 bytes, and reading is to go on at byte 3"):
            open_stream(str(path), kind, 3)


def test_only_the_names_of_tf_data_are_known() -> None:
    assert [checked_compression_type(name) for name in (None, "", "GZIP", "ZLIB")] == ["", "", "GZIP", "ZLIB"]
    with pytest.raises(InvalidArgumentError, match="None, '', 'GZIP' or 'ZLIB', and not 'gzip'"):
        checked_compression_type("gzip")
