from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.tar_files import archive_of, elements_in, member

from headrace.errors import DataLossError, InvalidArgumentError, NotFoundError
from headrace.io.tar_elements import TarElements


def shard(folder: Path, name: str, count: int, nbytes: int = 40) -> tuple[str, list[dict[str, Any]]]:
    path = folder / name
    listed = [member(f"{number}.{letter}", bytes([number]) * nbytes) for number in range(count) for letter in "ab"]
    path.write_bytes(archive_of([member("x" * 200 + "/", kind=tarfile.DIRTYPE), *listed]))
    return str(path), elements_in(listed, str(path))


@given(data=st.data(), counts=st.lists(st.integers(0, 4), max_size=4), nbytes=st.sampled_from([0, 40, 300_000]))
def test_elements_by_number_are_those_in_order(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, counts: list[int], nbytes: int
) -> None:
    shards = [shard(tmp_path_factory.getbasetemp(), f"{n}.tar", count, nbytes) for n, count in enumerate(counts)]
    whole = [element for _, elements in shards for element in elements]
    elements = TarElements([path for path, _ in shards])
    assert len(elements) == len(whole)
    assert elements.__getitems__(range(len(whole))) == whole
    assert elements.__getitems__([]) == []
    wanted = data.draw(st.lists(st.integers(0, max(0, len(whole) - 1)), max_size=6 if whole else 0))
    assert elements.__getitems__(wanted) == [whole[number] for number in wanted]


def test_a_number_that_there_is_not_is_an_index_error(tmp_path: Path) -> None:
    elements = TarElements([shard(tmp_path, "a.tar", 2)[0]])
    for number in (-1, 2):
        with pytest.raises(IndexError, match=f"element {number} of 2"):
            elements[number]


def test_the_error_of_an_element_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member("1.a"), member("2.a"), member("2.a"), member("3.a", b"x")]))
    elements = TarElements([str(path)])
    with pytest.raises(InvalidArgumentError, match=r"a\.tar:2: key '2' has two files"):
        elements[1]
    assert elements[2]["a"] == b"x"


def test_a_shard_that_is_absent_or_broken_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"absent\.tar"):
        TarElements([str(tmp_path / "absent.tar")])
    path = Path(shard(tmp_path, "a.tar", 2)[0])
    path.write_bytes(path.read_bytes()[:3_000])
    with pytest.raises(DataLossError, match=r"a\.tar:1: the archive ends at byte 3000"):
        TarElements([str(path)])


def test_a_shard_that_was_changed_since_is_noticed(tmp_path: Path) -> None:
    path, _ = shard(tmp_path, "a.tar", 2)
    elements = TarElements([path])
    print_before = elements.__headrace_fingerprint__()
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataLossError, match="was changed after its elements were counted"):
        elements[0]
    assert TarElements([path]).__headrace_fingerprint__() != print_before
