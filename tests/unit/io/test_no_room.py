"""Where nothing can be written, or not all of it, an error of ours names the stage and the place, and nothing is left."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import FailedPreconditionError

WAYS: dict[str, Callable[[hr.Dataset, Path], Any]] = {
    "cache": lambda ds, folder: list(ds.cache(folder, key="k")),
    "save": lambda ds, folder: ds.save(str(folder)),
    "save of shards": lambda ds, folder: ds.save(str(folder), shard_func=lambda x: 0),
    "snapshot": lambda ds, folder: list(ds.snapshot(folder)),
    "snapshot in GZIP": lambda ds, folder: list(ds.snapshot(folder, compression="GZIP")),
}


def a_file(folder: Path) -> Path:
    folder.write_text("a file")
    return folder


def below_a_file(folder: Path) -> Path:
    folder.write_text("a file")
    return folder / "below"


def in_no_folder_that_can_be_made(folder: Path) -> Path:
    return Path("/proc/headrace")


@pytest.mark.parametrize("place", [a_file, below_a_file, in_no_folder_that_can_be_made])
@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_folder_that_cannot_be_made_is_named_with_the_stage(
    way: str, executor: str, place: Callable[[Path], Path], tmp_path: Path
) -> None:
    folder = place(tmp_path / "folder")
    ds = hr.Dataset.range(3).with_options(hr.Options(executor=executor))
    with pytest.raises(FailedPreconditionError, match="cannot be written") as caught:
        WAYS[way](ds, folder)
    assert caught.value.stage == way.split(maxsplit=1)[0]
    assert str(folder) in str(caught.value)


def test_a_lock_that_is_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "k.lock").mkdir()
    with pytest.raises(FailedPreconditionError, match=r"k.elements cannot be written") as caught:
        list(hr.Dataset.range(3).cache(tmp_path, key="k"))
    assert caught.value.stage == "cache"


FULL = """
    import hashlib, itertools, resource, shutil, sys
    from pathlib import Path
    import headrace as hr
    from tests.unit.io.test_no_room import WAYS

    folder = Path(sys.argv[2])
    way = WAYS[sys.argv[1]]
    way(hr.Dataset.range(1), folder / "warm")  # what is imported now is compiled to files of no limit
    for limit, executor in itertools.product((10, 200, 5_000), ("thread", "inline")):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
        place = folder / f"{limit} {executor}"
        ds = hr.Dataset.range(400).map(lambda x: hashlib.sha256(bytes([x % 256])).hexdigest())
        try:
            way(ds.with_options(hr.Options(executor=executor)), place)
        except hr.errors.ResourceExhaustedError as error:
            left = [path.name for path in place.rglob("*") if path.is_file() and path.suffix != ".lock"]
            print(error.stage, left, str(place) in str(error))
"""


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_full_disk_is_told_and_nothing_is_left(way: str, tmp_path: Path) -> None:
    pytest.importorskip("resource")
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", textwrap.dedent(FULL), way, str(tmp_path / "full")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=root)
    assert done.stderr == ""
    stage = way.split(maxsplit=1)[0]
    assert done.stdout.splitlines() == [f"{stage} [] True"] * 6
