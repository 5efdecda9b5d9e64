from __future__ import annotations

import base64
import gc
import gzip
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.compressing import COMPRESS, SUFFIXES

from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError, ResourceExhaustedError
from headrace.io.compression import checked_compression_type, compression_of, open_stream

KINDS = sorted(COMPRESS)
# What other programs write: each has checksums that pyarrow's own writer leaves out, the second a frame to be passed over.
FOREIGN = {
    "ZSTD": "KLUv/SQSkQAAbGluZSBvbmUKbGluZSB0d28KK4y37g==",
    "ZSTD after a skippable frame": "UCpNGAMAAABhYmMotS/9JBKRAABsaW5lIG9uZQpsaW5lIHR3bworjLfu",
    "LZ4": "BCJNGHxAEgAAAAAAAADOEgAAgGxpbmUgb25lCmxpbmUgdHdvCpcA1u8AAAAAlwDW7w==",
}


def read_all(path: Path, kind: str, offset: int = 0, size: int = 1000) -> bytes:
    stream = open_stream(str(path), kind, offset)
    try:
        return b"".join(iter(lambda: stream.read(size), b""))
    finally:
        stream.close()


def read_until_error(path: Path, kind: str, size: int = 100) -> tuple[bytes, HeadraceError | None]:
    stream = open_stream(str(path), kind)
    read = b""
    try:
        while portion := stream.read(size):
            read += portion
    except HeadraceError as error:
        return read, error
    finally:
        stream.close()
    return read, None


@given(
    parts=st.lists(st.binary(max_size=300), min_size=1, max_size=3),
    kind=st.sampled_from(KINDS),
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_longer_than_any_buffer_is_read_as_it_is(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "long"
    content = b"".join(b"%d squared is %d\n" % (number, number * number) for number in range(40_000))
    path.write_bytes(COMPRESS[kind](content) + COMPRESS[kind](content))
    assert read_all(path, kind, offset=len(content) - 9, size=1 << 20) == content[-9:] + content


@pytest.mark.parametrize("kind", KINDS)
def test_what_expands_a_thousandfold_is_not_held_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "zeros"
    path.write_bytes(COMPRESS[kind](bytes(20_000_000)))
    stream = open_stream(str(path), kind)
    sizes = [len(portion) for portion in iter(lambda: stream.read(1 << 30), b"")]
    stream.close()
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= 1 << 17


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [1, 3, 8, 25])
def test_a_stream_that_was_cut_short_is_no_complete_one(tmp_path: Path, kind: str, cut: int) -> None:
    path = tmp_path / "cut"
    content = bytes(range(256)) * 3
    path.write_bytes(COMPRESS[kind](content)[:-cut])
    read, error = read_until_error(path, kind)
    assert isinstance(error, DataLossError)
    assert str(error) == f"{path} ends in the middle of its {kind} stream; it was cut short"
    assert content.startswith(read)


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_before_a_fault_is_read_first_in_whatever_portions(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "damaged"
    content = b"".join(b"%d squared is %d\n" % (number, number * number) for number in range(40_000))
    path.write_bytes(COMPRESS[kind](content) + b"neither padding nor a stream")
    results = [read_until_error(path, kind, size) for size in (1 << 30, 5000, 777)]
    assert len({read for read, _ in results}) == 1
    read, error = results[0]
    assert isinstance(error, DataLossError)
    assert f"is no {kind} stream, or a corrupt one" in str(error)
    assert content.startswith(read)
    assert len(read) > len(content) - (1 << 12), "more is lost than a decoder's step"


@given(kind=st.sampled_from(KINDS), data=st.data())
def test_no_damage_makes_a_stream_crash_hang_or_grow(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    damaged = bytearray(COMPRESS[kind](b"a line and another line\n" * 30))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    read, error = read_until_error(path, kind)
    assert len(read) < 1 << 24
    assert error is None or isinstance(error, DataLossError | ResourceExhaustedError)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_costs_no_memory_that_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "cut"
    path.write_bytes(COMPRESS[kind](b"some text")[:-5])
    read_until_error(path, kind)
    tracemalloc.start()
    for _ in range(64):
        assert read_until_error(path, kind)[1] is not None
    gc.collect()
    left = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert left < 64 << 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_compression_type_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "wrong"
    other = KINDS[KINDS.index(kind) - 1]
    for content in (b"plain text and no stream of anything", COMPRESS[other](b"x")):
        path.write_bytes(content)
        with pytest.raises(DataLossError, match=f"is no {kind} stream, or a corrupt one .*; check compression_type"):
            read_all(path, kind)


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "XZ"])
def test_padding_behind_a_stream_is_no_garbage(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "padded"
    path.write_bytes(COMPRESS[kind](b"content") + bytes(300_000))
    assert read_all(path, kind) == b"content"
    path.write_bytes(COMPRESS[kind](b"content") + bytes(8) + COMPRESS[kind](b"more"))
    assert read_all(path, kind) == b"contentmore"


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_what_other_programs_write_is_read_with_its_checksums(tmp_path: Path, name: str) -> None:
    path = tmp_path / "foreign"
    kind = name.partition(" ")[0]
    compressed = bytearray(base64.b64decode(FOREIGN[name]))
    path.write_bytes(compressed)
    assert read_all(path, kind) == b"line one\nline two\n"
    compressed[-1] ^= 1
    path.write_bytes(compressed)
    assert isinstance(read_until_error(path, kind)[1], DataLossError)


def test_a_wrong_checksum_is_told(tmp_path: Path) -> None:
    path = tmp_path / "flipped.gz"
    compressed = bytearray(gzip.compress(b"content"))
    compressed[-8] ^= 1
    path.write_bytes(compressed)
    with pytest.raises(DataLossError, match="incorrect data check"):
        read_all(path, "GZIP")


def xz_with_a_window_of_gigabytes() -> bytes:
    """A stream whose block claims a dictionary of 3.5 GiB: byte 16, and the header's checksum behind it."""
    stream = bytearray(COMPRESS["XZ"](b"content"))
    size = (stream[12] + 1) * 4
    stream[16] = 39
    stream[12 + size - 4 : 12 + size] = zlib.crc32(stream[12 : 12 + size - 4]).to_bytes(4, "little")
    return bytes(stream)


@pytest.mark.parametrize(
    ("kind", "content"),
    [("XZ", xz_with_a_window_of_gigabytes()), ("ZSTD", base64.b64decode("KLUv/QCgRQAAEHh4AQA/ASw="))],
)
def test_a_stream_that_asks_for_gigabytes_is_refused(tmp_path: Path, kind: str, content: bytes) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(content)
    with pytest.raises(ResourceExhaustedError, match="asks for more memory to be decompressed than is allowed"):
        read_all(path, kind)


def test_an_empty_file_is_an_empty_stream(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert {kind: read_all(path, kind) for kind in ("", *KINDS)} == dict.fromkeys(("", *KINDS), b"")


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_going_on_behind_the_end_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "short"
    path.write_bytes(COMPRESS[kind](b"12") if kind else b"12")
    with pytest.raises(DataLossError, match="short has 2 bytes, and reading is to go on at byte 3"):
        open_stream(str(path), kind, 3)


def test_a_file_that_becomes_shorter_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "shrinking"
    path.write_bytes(b"0123456789")
    stream = open_stream(str(path), "", 2)
    assert stream.read(3) == b"234"
    with path.open("r+b") as file:
        file.truncate(4)
    message = "had 10 bytes when it was opened, and ends at byte 5: it became shorter while it was read"
    with pytest.raises(DataLossError, match=message):
        stream.read(3)
    stream.close()


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"0123")
    stream = open_stream(str(path))
    assert stream.read(9) == b"0123"
    path.write_bytes(b"012345")
    assert [stream.read(9), stream.read(9)] == [b"45", b""]
    stream.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_suffix_says_how_a_file_is_compressed_where_one_asks_for_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.txt{SUFFIXES[kind]}"
    path.write_bytes(COMPRESS[kind](b"content"))
    assert read_all(path, "INFER") == b"content"
    assert read_all(path, "") == path.read_bytes()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.GZ", "GZIP"),
        ("a.zlib", "ZLIB"),
        ("memory://folder.gz/a.txt", ""),
        ("https://host/a.xz?version=2.gz#part.bz2", "XZ"),
        ("http://host.gz", ""),
        ("odd?name.gz", "GZIP"),
        (".gz", ""),
        ("a", ""),
    ],
)
def test_only_the_last_suffix_of_the_path_counts(path: str, kind: str) -> None:
    assert compression_of(path) == kind


def test_names_are_tf_datas_and_those_of_the_field_in_either_case() -> None:
    names: list[Any] = [None, "", "GZIP", "zlib", "bz2", "Xz", "ZSTD", "lz4", "infer"]
    known = ["", "", "GZIP", "ZLIB", "BZ2", "XZ", "ZSTD", "LZ4", "INFER"]
    assert [checked_compression_type(name) for name in names] == known
    for unknown in ("RAR", "gz", 5, False):
        with pytest.raises(InvalidArgumentError, match=r"compression_type is None or one of '', 'GZIP', .* and not"):
            checked_compression_type(unknown)  # type: ignore[arg-type]  # what a ported program may say
