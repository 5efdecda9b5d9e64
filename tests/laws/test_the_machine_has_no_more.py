"""A machine that gives no more of something: on every executor each element comes right and in its place, or a clear error does, nothing hangs,
and when there is enough again all goes on.

Each is a program of its own, because limits are of a whole process, and what it starts has them too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 90.0
EXECUTORS: Final = ("inline", "thread", "process", "subprocess")
ELSEWHERE: Final = ("process", "subprocess")

PROGRAM: Final = """
import os, resource, sys, threading
import numpy as np
import headrace as hr
from headrace.errors import DataLossError, HeadraceError, NotFoundError, ResourceExhaustedError

executor, folder = sys.argv[1:3]
RIGHT = list(range(40))

def large(x):
    return np.full(200_000, x)

def first(x):
    return int(x[0])

def on(ds):
    return ds.with_options(hr.Options(executor=executor))

def read(ds, most=10**9):
    got = []
    with iter(on(ds)) as it:
        try:
            for x in it:
                got.append(x)
                if len(got) == most:
                    break
        except HeadraceError as error:
            return got, error
    return got, None

plan = hr.Dataset.range(40).map(large, num_parallel_calls=2).prefetch(2)

def numbers_of(ds=plan):
    got, error = read(ds)
    return [first(x) for x in got], error

def check(got, error, kind=ResourceExhaustedError, words=""):
    assert got == RIGHT[: len(got)], got
    assert (got == RIGHT) == (error is None), (got, error)
    if error is not None:
        assert isinstance(error, kind), repr(error)
        assert words in str(error), str(error)
"""

DESCRIPTORS: Final = """
from headrace.processes import spare
spare._STAYS_S = 1.0  # or who is to have no descriptor would wait for minutes until those that are idle have ended
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
path = f"{folder}/a.txt"
with open(path, "w") as file:
    file.write("a\\nb\\n")
check(*numbers_of())
read(hr.TextLineDataset(path).map(str))
told = 0
for left in (0, 2, 5, 6, 7, 9):
    for thread in threading.enumerate():  # processes that are idle would be taken without a descriptor
        if thread.name.startswith("headrace-"):
            thread.join(60)
    resource.setrlimit(resource.RLIMIT_NOFILE, (96, hard))
    held = []
    try:
        while True:
            held.append(os.dup(0))
    except OSError:
        pass
    for _ in range(left):
        os.close(held.pop())
    try:
        got, error = numbers_of()
        from_file = read(hr.TextLineDataset(path).map(str))
    except ResourceExhaustedError as refused:  # at iter
        got, error = [], refused
        from_file = [], refused
    for one in held:
        os.close(one)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    check(got, error)
    if from_file[1] is None:
        assert from_file[0] == ["a", "b"]
    else:
        assert isinstance(from_file[1], ResourceExhaustedError), repr(from_file[1])
    told += error is not None
assert numbers_of() == (RIGHT, None)
print(told)
"""

MEMORY: Final = """
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
try:
    got, error = numbers_of()
except ResourceExhaustedError as refused:
    got, error = [], refused
check(got, error, words="shared memory")
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
for thread in threading.enumerate():  # processes that are there have the limit
    if thread.name.startswith("headrace-"):
        thread.join(60)
assert numbers_of() == (RIGHT, None)
print(int(error is not None))
"""

DISK: Final = """
free = os.statvfs(folder).f_bavail
cached = hr.Dataset.range(40).map(large).cache(folder + "/kept")
check(*numbers_of(cached), words=folder)
left = [name for _, _, names in os.walk(folder) for name in names if not name.endswith(".lock")]
assert not left, left
assert numbers_of(plan) == (RIGHT, None)
"""

GONE: Final = """
paths = [f"{folder}/{number}.txt" for number in range(4)]
lines = [f"{number} {line}" for number in range(4) for line in range(3)]
for number, path in enumerate(paths):
    with open(path, "w") as file:
        file.writelines(line + "\\n" for line in lines[3 * number : 3 * number + 3])
ds = hr.Dataset.from_tensor_slices(paths).flat_map(hr.TextLineDataset).map(lambda line: line, num_parallel_calls=2)
got, error = read(ds)
assert [str(one) for one in got] == lines and error is None
os.remove(paths[2])
got, error = read(ds)
assert [str(one) for one in got] == lines[:6]
assert isinstance(error, NotFoundError), repr(error)
assert paths[2] in str(error)
"""

SHRUNK: Final = """
path = f"{folder}/a.tfrecord"
with hr.io.TFRecordWriter(path) as writer:
    for number in range(40_000):
        writer.write(b"%05d" % number * 200)
ds = hr.TFRecordDataset(path).map(lambda record: int(bytes(record)[:5]), num_parallel_calls=2)
got = []
with iter(on(ds)) as it:
    got.append(next(it))
    os.truncate(path, os.path.getsize(path) // 2 + 7)
    error = None
    try:
        got += it
    except HeadraceError as failed:
        error = failed
assert [int(one) for one in got] == list(range(len(got)))
assert isinstance(error, DataLossError), (len(got), error)
assert path in str(error), str(error)
"""


def ran(body: str, executor: str, folder: Path, *before: str) -> str:
    """What a program said that ended as it should."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [*before, sys.executable, "-c", PROGRAM + textwrap.dedent(body), executor, str(folder)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_small_disk(place: Path, megabytes: int) -> list[str]:
    """What runs a program for which another file system, that small, is mounted at a place."""
    mount = f'mount -t tmpfs -o size={megabytes}m tmpfs "{place}" && exec "$0" "$@"'
    wrapped = ["unshare", "--mount", "sh", "-c", mount]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*wrapped, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("needs to mount a file system: root on Linux, and unshare")
    return wrapped


needs_limits = pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")


@needs_limits
@pytest.mark.parametrize("executor", EXECUTORS)
def test_no_descriptors(executor: str, tmp_path: Path) -> None:
    told = int(ran(DESCRIPTORS, executor, tmp_path))
    assert (told > 0) == (executor in ELSEWHERE)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memory to which the limit of files applies")
@pytest.mark.parametrize("executor", EXECUTORS)
def test_no_shared_memory(executor: str, tmp_path: Path) -> None:
    assert int(ran(MEMORY, executor, tmp_path)) == (executor in ELSEWHERE)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_shm_folder_of_one_megabyte_bounds_nothing(executor: str, tmp_path: Path) -> None:
    ran("check(*numbers_of())", executor, tmp_path, *with_small_disk(Path("/dev/shm"), 1))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_disk_that_becomes_full(executor: str, tmp_path: Path) -> None:
    ran(DISK, executor, tmp_path, *with_small_disk(tmp_path, 2))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_file_that_is_gone(executor: str, tmp_path: Path) -> None:
    ran(GONE, executor, tmp_path)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_file_that_shrinks_while_it_is_read(executor: str, tmp_path: Path) -> None:
    ran(SHRUNK, executor, tmp_path)
