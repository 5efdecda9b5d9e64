"""Every writer on a disk that is full at any of its bytes: an error of ours that names the file, and nothing is left."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import folder

import headrace as hr
from headrace.elements.structure import object_array
from headrace.errors import ResourceExhaustedError
from headrace.io.atomic_file import AtomicFile
from headrace.testing import faults

_FOLDERS = iter(range(1 << 30))
_KINDS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def tfrecords(path: Path) -> None:
    with hr.io.TFRecordWriter(path) as writer:
        for _ in range(300):
            writer.write(b"x" * 1000)


def tar(path: Path) -> None:
    with hr.io.TarWriter(path) as writer:
        for number in range(100):
            writer.write({"__key__": str(number), "bin": b"x" * 3000})


def parquet(path: Path) -> None:
    with hr.io.ParquetWriter(path) as writer:
        for number in range(300):
            writer.write({"x": np.array([number]), "y": object_array([os.urandom(1000)])})


def plain(path: Path) -> None:
    with AtomicFile(path) as file:
        for _ in range(300):
            file.write(b"x" * 1000)


WRITERS: dict[str, Callable[[Path], None]] = {"tfrecord": tfrecords, "tar": tar, "parquet": parquet, "plain": plain}


@pytest.mark.parametrize("name", ["tfrecord", "tar", "parquet", "plain"])
@given(st.integers(0, 400_000), st.sampled_from(_KINDS))
def test_a_disk_that_is_full_at_any_byte_is_told_and_nothing_is_left(name: str, room: int, kind: int) -> None:
    place = folder() / f"full {next(_FOLDERS)}"
    with faults.disk_full(place, after_bytes=room, error=kind):
        try:
            WRITERS[name](place / "a.bin")
        except ResourceExhaustedError as error:
            assert str(place / "a.bin") in str(error)  # noqa: PT017 - it may as well be written
            assert list(place.iterdir()) == []
        else:
            assert [path.name for path in place.iterdir()] == ["a.bin"]


FULL = """
    import resource, sys
    from pathlib import Path
    import headrace as hr
    from tests.unit.io.test_full_disks import WRITERS

    folder, write = Path(sys.argv[2]), WRITERS[sys.argv[1]]
    write(folder / "warm")  # what is imported now is compiled to files of no limit
    for limit in (0, 10, 5_000, 150_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
        place = folder / str(limit)
        place.mkdir()
        try:
            write(place / "a.bin")
        except hr.errors.ResourceExhaustedError as error:
            print(list(place.iterdir()), str(place / "a.bin") in str(error))
"""


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_where_no_file_may_be_so_large_nothing_is_left(name: str, tmp_path: Path) -> None:
    pytest.importorskip("resource")
    (tmp_path / "full").mkdir()
    command = [sys.executable, "-c", textwrap.dedent(FULL), name, str(tmp_path / "full")]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=root)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[] True"] * 4
