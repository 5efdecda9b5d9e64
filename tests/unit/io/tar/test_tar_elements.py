from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.tar.tar_files import archive_of, elements_in, member

import headrace as hr
from headrace.errors import DataLossError, HeadraceError
from headrace.io.indexing.formats import INDEXED_FORMATS
from headrace.io.indexing.records import IndexedRecords
from headrace.io.tar.elements import scan_elements
from headrace.io.tar.reader import TarReader

TAR = INDEXED_FORMATS["tar"]


def told(error: HeadraceError) -> tuple[Any, ...]:
    return type(error), error.reason, error.origin


def in_order(path: str) -> list[Any]:
    reader, came = TarReader(path), list[Any]()
    while True:
        try:
            chunk = reader.read(3)
        except HeadraceError as error:
            came.append(told(error))
            continue
        if chunk is None:
            return came
        came += chunk.columns[0].tolist()


def by_number(path: str) -> list[Any]:
    records, came = IndexedRecords([path], TAR), list[Any]()
    for number in range(len(records)):
        try:
            came.append(records[number])
        except HeadraceError as error:
            came.append(told(error))
    return came


names = st.sampled_from(["1.a", "1.b", "2.a", "2.b", "x" * 200 + "/3.a", "README", "folder.d", "link.a"])


def made(name: str, nbytes: int) -> tuple[Any, bytes]:
    if name == "folder.d":
        return member(name, kind=tarfile.DIRTYPE)
    if name == "link.a":
        return member(name, kind=tarfile.SYMTYPE, linkname="1.a")
    return member(name, b"x" * nbytes)


@given(
    listed=st.lists(st.builds(made, names, st.sampled_from([0, 3, 600, 300_000])), max_size=7),
    format_=st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]),
    cut=st.one_of(st.none(), st.integers(0, 1_000_000)),
)
def test_elements_by_number_are_those_in_order(
    tmp_path_factory: pytest.TempPathFactory, listed: list[Any], format_: int, cut: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "both.tar"
    path.with_suffix(".tar.index").unlink(missing_ok=True)
    path.write_bytes(archive_of(listed, format_)[:cut])
    assert by_number(str(path)) == in_order(str(path))


def test_a_scan_finds_elements_without_what_lies_between(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(
        archive_of([member("README", b"r" * 9_000), member("1.a", b"x"), member("1.b"), member("d/"), member("2.a")])
    )
    # The text takes a header and 18 blocks.
    assert list(scan_elements(str(path))) == [(9_728, 1_536), (11_776, 512)]


def test_an_index_is_built_when_it_is_asked_for(tmp_path: Path) -> None:
    path, listed = tmp_path / "a.tar", [member(f"{number}.{letter}") for number in range(5) for letter in "ab"]
    path.write_bytes(archive_of(listed))
    assert hr.io.build_index(path, format="tar") == [5]
    assert (tmp_path / "a.tar.index").exists()
    records = IndexedRecords([str(path)], TAR)
    assert records.__getitems__([4, 0]) == [elements_in(listed, str(path))[number] for number in (4, 0)]
    path.write_bytes(archive_of(listed[:4]))
    with pytest.raises(DataLossError, match="changed since its records were counted"):
        records[0]
    assert len(IndexedRecords([str(path)], TAR)) == 2
