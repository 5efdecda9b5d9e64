from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tarfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.reading import everything_of
from tests.unit.io.tar.tar_files import archive_of, elements_in, member, with_header

from headrace.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from headrace.io.reader import RecordPosition
from headrace.io.tar.reader import TarReader

SIZE = slice(124, 136)
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]

names = st.sampled_from(
    ["1.jpg", "1.cls", "1.seg.png", "2.JPG", "2.cls", "a/1.jpg", "a/b.c/1.jpg", "README", ".hidden", "./3.txt", "é.txt"]
)
deep = names.map(lambda name: f"{'folder/' * 14}{name}")
long = names.map(lambda name: f"{'x' * 300}/{name}")
members = st.one_of(
    st.tuples(st.one_of(names, deep, long), st.binary(max_size=1_100)).map(lambda parts: member(*parts)),
    st.just(member("folder.d", kind=tarfile.DIRTYPE)),
)


def without_twins(listed: list[Any]) -> list[Any]:
    """The members, less those whose extension their key has already: such a key is an error, tested by itself."""
    kept: list[Any] = []
    key, extensions = None, set[str]()
    for one in listed:
        for element in elements_in([one], ""):
            extensions = extensions if element["__key__"] == key else set()
            key, extension = element["__key__"], list(element)[-1]
            if extension not in extensions:
                kept.append(one)
            extensions.add(extension)
    return kept


def read(path: Path, **options: Any) -> list[Any]:
    """Elements, and errors as (kind, text)."""
    return [
        step[2][0][1] if step[0] is None or isinstance(step[2], list) else (step[1], step[2])
        for step in everything_of(TarReader(str(path), **options))
    ]


@given(
    listed=st.lists(members, max_size=12),
    format_=st.sampled_from(FORMATS),
    buffer_size=st.sampled_from([100, 700, 1 << 21]),
)
def test_consecutive_files_of_one_key_are_one_element(
    tmp_path_factory: pytest.TempPathFactory, listed: list[Any], format_: int, buffer_size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.tar"
    if format_ == tarfile.USTAR_FORMAT:
        listed = [one for one in listed if len(one[0].name) < 250]
    listed = without_twins(listed)
    path.write_bytes(archive_of(listed, format_))
    assert read(path, buffer_size=buffer_size) == elements_in(listed, str(path))


@given(listed=st.lists(members, max_size=8), compressed=st.booleans())
def test_reading_goes_on_from_every_element(
    tmp_path_factory: pytest.TempPathFactory, listed: list[Any], compressed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "places.tar"
    listed = [*listed, member("twins.a"), member("twins.a"), member("last.a", b"x")]
    content = archive_of(listed)
    path.write_bytes(gzip.compress(content) if compressed else content)

    def read_from(position: RecordPosition | None) -> list[Any]:
        return everything_of(TarReader(str(path), "GZIP" if compressed else None, position=position), [1] * 99)

    whole = read_from(None)
    for index, (position, *_) in enumerate(whole):
        assert read_from(RecordPosition.from_json(position.to_json())) == whole[index:]


@pytest.mark.parametrize("format_", ["ustar", "gnu", "posix", "v7"])
def test_what_gnu_tar_writes_is_read(tmp_path: Path, format_: str) -> None:
    if shutil.which("tar") is None:
        pytest.skip("needs the program tar")
    folder = tmp_path / "data" / "sub"
    folder.mkdir(parents=True)
    for key in ("0001", "0002"):
        (folder / f"{key}.cls").write_bytes(key.encode())
        (folder / f"{key}.jpg").write_bytes(bytes(700))
    path = tmp_path / "a.tar"
    subprocess.run(["tar", f"--format={format_}", "--sort=name", "-cf", path, "-C", tmp_path, "data"], check=True)
    assert [(one["__key__"], one["cls"], len(one["jpg"])) for one in read(path)] == [
        ("data/sub/0001", b"0001", 700),
        ("data/sub/0002", b"0002", 700),
    ]


# ------------------------------------------------------------------- what is wrong with one element


@pytest.mark.parametrize(
    ("kind", "said"),
    [(tarfile.SYMTYPE, "a symbolic link"), (tarfile.LNKTYPE, "a hard link"), (tarfile.FIFOTYPE, "pipe")],
)
def test_an_element_with_a_link_is_one_bad_record(tmp_path: Path, kind: bytes, said: str) -> None:
    path = tmp_path / "a.tar"
    listed = [member("1.a", b"1"), member("2.a", b"2"), member("2.b", b"", kind, "1.a"), member("3.a", b"3")]
    path.write_bytes(archive_of(listed))
    first, (error, text), last = read(path)
    assert (first["a"], error, last["a"]) == (b"1", InvalidArgumentError, b"3")
    assert text.startswith(f"{path}:2: 2.b is {'a named pipe' if said == 'pipe' else said}")
    assert "--dereference" in text


@pytest.mark.parametrize("format_", ["gnu", "posix"])
def test_a_sparse_file_is_one_bad_record(tmp_path: Path, format_: str) -> None:
    if shutil.which("tar") is None:
        pytest.skip("needs the program tar")
    for number in range(3):
        with (tmp_path / f"{number}.bin").open("wb") as file:
            # Many holes, so that the map of them does not fit into one header.
            for hole in range(60 if number == 1 else 0):
                file.seek(hole * 65536)
                file.write(b"data")
            file.write(b"end")
    path = tmp_path / "a.tar"
    listed = [f"{number}.bin" for number in range(3)]
    subprocess.run(["tar", f"--format={format_}", "--sparse", "-cf", path, "-C", tmp_path, *listed], check=True)
    first, second, last = read(path)
    assert (first["bin"], last["bin"]) == (b"end", b"end")
    if isinstance(second, dict):
        pytest.skip("this file system has no holes")
    assert second[0] is InvalidArgumentError
    assert "1.bin is a sparse file" in second[1]


def test_two_files_of_one_extension_are_told_with_file_and_key(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member("k.jpg", b"1"), member("k.JPG", b"2"), member("l.jpg", b"3")]))
    (error, text), last = read(path)
    assert error is InvalidArgumentError
    assert text == f"{path}:1: key 'k' has two files 'jpg': k.JPG is the second"
    assert last["__key__"] == "l"


def test_an_element_beyond_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member("1.a", b"1"), member("2.a", bytes(600_000)), member("3.a", b"3")]))
    for buffer_size in (512, 1 << 21):
        first, (error, text), last = read(path, max_element_bytes=2_000, buffer_size=buffer_size)
        assert (first["a"], error, last["a"]) == (b"1", ResourceExhaustedError, b"3")
        assert "key '2' has 600576 bytes or more, and the limit is 2000" in text


# ----------------------------------------------------------------------- what is wrong with a file


def test_an_archive_that_was_cut_short_is_told_at_its_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    content = archive_of([member("1.a", bytes(700)), member("2.a", bytes(700)), member("2.b", b"")])
    # Where it was cut, and which elements are whole: behind 1.a the header of 2.a says that key 1 has no further file.
    for cut, whole in [(1, 0), (511, 0), (600, 0), (1536, 0), (2047, 0), (2048, 1), (2500, 1), (3072, 1), (3584, 1)]:
        path.write_bytes(content[:cut])
        *elements, (error, text) = read(path)
        assert [one["__key__"] for one in elements] == ["1"] * whole, cut
        assert error is DataLossError
        assert text.startswith(f"{path}:{whole + 1}: the archive ends at byte {cut}, where"), text
        assert "cut short" in text
    path.write_bytes(content[:4096])  # one block of zeros
    assert len(read(path)) == 2


def test_an_empty_file_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(b"")
    text = "the archive ends at byte 0, where more should follow; it was cut short, or written without its end"
    assert read(path) == [(DataLossError, f"{path}:1: {text} (two blocks of zeros)")]
    path.write_bytes(archive_of([]))
    assert read(path) == []


def test_a_header_with_a_wrong_checksum_ends_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    content = bytearray(archive_of([member(f"{number}.a", b"x") for number in range(4)]))
    content[2048] ^= 1
    path.write_bytes(content)
    first, (error, text) = read(path)
    assert first["__key__"] == "0"
    assert error is DataLossError
    assert text.startswith(f"{path}:2: the archive is corrupt at byte 2048, and nothing after it can be read")


@pytest.mark.parametrize("size", [b"77777777777\0", b"\x80" + b"\xff" * 11, b"\x80" + bytes(4) + b"\x7f" * 7])
def test_a_hostile_size_is_not_allocated(tmp_path: Path, size: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(with_header(archive_of([member("1.a", b"x")]), 0, SIZE, size))
    tracemalloc.start()
    (told,) = read(path, buffer_size=4096, max_element_bytes=1 << 80)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told[0] is DataLossError
    assert "cut short" in told[1]
    assert peak < 1 << 20
    (told,) = read(path)
    assert told[0] in {ResourceExhaustedError, DataLossError}


@pytest.mark.parametrize(("size", "said"), [(b"\xff" * 12, "below zero"), (b"12x\0        ", "states the number")])
def test_a_size_that_is_none_is_corrupt(tmp_path: Path, size: bytes, said: str) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(with_header(archive_of([member("1.a", b"x")]), 0, SIZE, size))
    ((error, text),) = read(path)
    assert error is DataLossError
    assert said in text


@pytest.mark.parametrize("name", ["long.name", "extended.header"])
def test_a_name_of_hostile_length_is_corrupt(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.tar"
    format_ = tarfile.GNU_FORMAT if name == "long.name" else tarfile.PAX_FORMAT
    content = archive_of([member("x" * 300 + ".a", b"x")], format_)
    path.write_bytes(with_header(content, 0, SIZE, b"00400000000\0"))
    ((error, text),) = read(path)
    assert error is DataLossError
    assert "a name or extended header claims 67108864 bytes" in text


@pytest.mark.parametrize(
    "records",
    [b"8 path=a\n", b"x path=a\n", b"8 path\n", b"0 path=a\n", b"99999999999999999999 path=a\n", b"11 size=-1x\n"],
)
def test_a_malformed_extended_header_is_corrupt(tmp_path: Path, records: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member("h", records, b"x"), member("1.a", b"x")], tarfile.USTAR_FORMAT))
    ((error, _),) = [told for told in read(path) if isinstance(told, tuple)] or [(None, None)]
    assert error is DataLossError


@given(
    listed=st.lists(members, min_size=1, max_size=5),
    format_=st.sampled_from(FORMATS[1:]),
    edits=st.lists(st.tuples(st.integers(0, 9_999), st.integers(0, 255)), min_size=1, max_size=6),
    cut=st.integers(0, 20_000),
)
def test_no_damage_makes_a_reader_fail_in_other_ways(
    tmp_path_factory: pytest.TempPathFactory, listed: list[Any], format_: int, edits: list[tuple[int, int]], cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.tar"
    content = bytearray(archive_of(listed, format_)[: cut + 1])
    for at, byte in edits:
        content[at % len(content)] = byte
    for _ in range(2):
        path.write_bytes(content)
        told = read(path, buffer_size=600)
        assert sum(len(value) for one in told if isinstance(one, dict) for value in one.values()) < len(content) + 9_000
        # Once more with a checksum that fits, so that what stands behind it is believed.
        content = bytearray(
            with_header(bytes(content), 0, SIZE, bytes(content[SIZE])) if len(content) >= 512 else content
        )


def test_a_compressed_archive_is_read_to_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    data = np.random.default_rng(0).bytes(400_000)  # more than is decompressed at once
    content = gzip.compress(archive_of([member("1.a", data)]) + bytes(400_000))
    path.write_bytes(content)
    assert [one["a"] for one in read(path, compression_type="GZIP")] == [data]
    path.write_bytes(content[:-6] + b"\0\0\0\0" + content[-2:])
    whole, (error, text) = read(path, compression_type="GZIP")
    assert (whole["a"], error) == (data, DataLossError)
    assert "corrupt" in text


def test_a_file_that_is_not_there_or_is_a_folder_is_told_once(tmp_path: Path) -> None:
    assert read(tmp_path / "absent.tar") == [(NotFoundError, f"no such file: {tmp_path / 'absent.tar'}")]
    ((error, _),) = read(tmp_path)
    assert error is FailedPreconditionError


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.touch(mode=0)
    assert read(path) == [
        (FailedPreconditionError, f"no permission to read {path}; look at its owner and mode"),
    ]


def test_a_file_that_changed_since_is_not_taken_for_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member(f"{number}.a", bytes(600)) for number in range(9)]))
    reader = TarReader(str(path))
    reader.read(3)
    position = reader.position
    reader.close()
    path.write_bytes(archive_of([member("1.a", b"\1" * 9_000)]))
    ((error, text),) = read(path, position=position)
    assert error is DataLossError
    assert "written while it was read" in text
    path.write_bytes(b"")
    ((error, text),) = read(path, position=position)
    assert "the file has changed" in text


def test_an_archive_may_come_from_any_file_system() -> None:
    import fsspec

    with fsspec.open("memory://headrace/a.tar", "wb") as file:
        file.write(archive_of([member("1.a", b"x")]))
    (element,) = everything_of(TarReader("memory://headrace/a.tar"))
    assert element[2][0][1] == {"__key__": "1", "__url__": "memory://headrace/a.tar", "a": b"x"}


def test_names_that_are_not_utf8_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    for format_ in FORMATS:
        path.write_bytes(archive_of([member("\udcff.a", b"x")], format_))
        (element,) = read(path)
        assert element["__key__"] == "\udcff"


@pytest.mark.parametrize(
    "argument", [{"buffer_size": 0}, {"max_element_bytes": 0}, {"compression_type": "?"}, {"path": ""}]
)
def test_arguments_that_do_not_fit_are_refused_at_once(argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        TarReader(**{"path": "a.tar", **argument})


def test_a_closed_reader_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member("1.a"), member("2.a")]))
    reader = TarReader(str(path))
    assert reader.read(1) is not None
    reader.close()
    reader.close()
    assert reader.read(1) is None
    with pytest.raises(InvalidArgumentError, match="max_records"):
        reader.read(0)
