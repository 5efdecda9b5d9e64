"""What a process may use of its machine, read from trees that are made for the test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace import machine
from headrace.machine import Share, share_of_machine

GIB = 1 << 30
HOST_CORES, HOST_BYTES = 64, 512 * GIB

V2 = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
MEMORY = "33 32 0:30 {root} /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory"
CPU = "34 32 0:31 {root} /sys/fs/cgroup/cpu,cpuacct rw shared:10 master:3 - cgroup cgroup rw,cpu,cpuacct"
V2_BESIDE = "35 32 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
OTHERS = [
    "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw",
    "25 22 0:5 / /proc rw - proc proc rw",
    "32 22 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755",
    "36 32 0:33 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd",
]

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Makes the files of a system below a folder."""

    def make(groups: str, mounts: list[str], **files: str) -> Path:
        proc = tmp_path / "proc" / "self"
        proc.mkdir(parents=True)
        (proc / "cgroup").write_text(groups)
        (proc / "mountinfo").write_text("\n".join([*OTHERS, *mounts, ""]))
        for path, text in files.items():
            file = tmp_path / "sys" / "fs" / "cgroup" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n")
        return tmp_path

    return make


def bound(own: int, launcher: int | None = None) -> Callable[[int], set[int]]:
    """An affinity mask of so many cores, and the mask of who started this process."""

    def affinity(process: int) -> set[int]:
        if process and launcher is None:
            raise ProcessLookupError(process)
        return set(range(launcher if process and launcher is not None else own))

    return affinity


def share(root: Path, *, own: int = HOST_CORES, launcher: int | None = None, world: str | None = None) -> Share:
    return share_of_machine(
        str(root),
        environ={} if world is None else {"LOCAL_WORLD_SIZE": world},
        counted=lambda: HOST_CORES,
        affinity=bound(own, launcher),
        memory_bytes=HOST_BYTES,
    )


# ---------------------------------------------------------------- control groups


def test_without_control_groups_it_is_the_whole_machine(tmp_path: Path) -> None:
    assert share(tmp_path) == Share(HOST_CORES, HOST_BYTES)


def test_a_container_that_sees_itself_at_the_root_has_its_limits(tree: Tree) -> None:
    root = tree("0::/\n", [V2.format(root="/")], **{"memory.max": f"{2 * GIB}", "cpu.max": "50000 100000"})
    assert share(root) == Share(1, 2 * GIB)


def test_the_host_finds_the_group_of_the_process_and_the_limits_of_those_above(tree: Tree) -> None:
    root = tree(
        "0::/user.slice/job.scope/worker\n",
        [V2.format(root="/")],
        **{
            "user.slice/memory.max": f"{4 * GIB}",
            "user.slice/cpu.max": "max 100000",
            "user.slice/job.scope/memory.max": "max",
            "user.slice/job.scope/cpu.max": "300000 100000",
            "user.slice/job.scope/worker/memory.max": f"{9 * GIB}",
            "user.slice/job.scope/worker/cpu.max": "800000 100000",
            "another/memory.max": "1000",
        },
    )
    assert share(root) == Share(3, 4 * GIB)


def test_a_process_that_is_slowed_down_from_some_size_on_stays_below_it(tree: Tree) -> None:
    root = tree("0::/\n", [V2.format(root="/")], **{"memory.max": f"{8 * GIB}", "memory.high": f"{6 * GIB}"})
    assert share(root).memory_bytes == 6 * GIB


def test_version_1_has_a_tree_for_each_controller(tree: Tree) -> None:
    root = tree(
        "9:name=systemd:/x\n5:memory:/job\n4:cpu,cpuacct:/batch/job\n0::/elsewhere\n",
        [MEMORY.format(root="/"), CPU.format(root="/"), V2_BESIDE],
        **{
            "memory/memory.limit_in_bytes": "9223372036854771712",
            "memory/job/memory.limit_in_bytes": f"{3 * GIB}",
            "cpu,cpuacct/batch/cpu.cfs_quota_us": "250000",
            "cpu,cpuacct/batch/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/batch/job/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/batch/job/cpu.cfs_period_us": "100000",
            "systemd/x/memory.limit_in_bytes": "1000",
        },
    )
    assert share(root) == Share(3, 3 * GIB)  # two cores and a half are three


def test_of_a_container_of_version_1_only_its_own_folder_is_mounted(tree: Tree) -> None:
    root = tree(
        "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n",
        [MEMORY.format(root="/docker/abc"), CPU.format(root="/docker/abc")],
        **{
            "memory/memory.limit_in_bytes": f"{2 * GIB}",
            "cpu,cpuacct/cpu.cfs_quota_us": "400000",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
        },
    )
    assert share(root) == Share(4, 2 * GIB)


def test_below_a_mounted_folder_lies_the_rest_of_the_path(tree: Tree) -> None:
    root = tree(
        "0::/kubepods/pod1/box/inner\n",
        [V2.format(root="/kubepods/pod1")],
        **{"memory.max": f"{8 * GIB}", "box/memory.max": f"{5 * GIB}", "box/inner/memory.max": "max"},
    )
    assert share(root).memory_bytes == 5 * GIB


@pytest.mark.parametrize("mounted", ["/../..", "/.."])
def test_a_group_outside_of_the_namespace_is_found_where_it_is_mounted(tree: Tree, mounted: str) -> None:
    root = tree(f"0::{mounted}/box\n", [V2.format(root=mounted)], **{"box/memory.max": f"{5 * GIB}"})
    assert share(root).memory_bytes == 5 * GIB


@pytest.mark.parametrize("path", ["/../..", "/../other", "/not/mounted"])
def test_a_group_that_cannot_be_seen_has_the_limits_of_what_can_be_seen(tree: Tree, path: str) -> None:
    mounted = "/" if ".." in path else "/box"
    root = tree(f"0::{path}\n", [V2.format(root=mounted)], **{"memory.max": f"{5 * GIB}"})
    assert share(root).memory_bytes == 5 * GIB


def test_a_mount_at_a_path_with_blanks_is_found(tree: Tree) -> None:
    line = V2.format(root="/a\\040b").replace("/sys/fs/cgroup", "/sys/fs/cgroup/my\\040own")
    root = tree("0::/a b/c\n", [line], **{"my own/c/memory.max": f"{5 * GIB}"})
    assert share(root).memory_bytes == 5 * GIB


NO_NUMBERS = ["", "max", "-1", "0", "max max", "x y z", "9" * 40, "9" * 5000, "1e9", "١٢", "50000 0", "\x00"]


@given(
    st.sampled_from(NO_NUMBERS),
    st.sampled_from([*NO_NUMBERS, "50000"]),
    st.sampled_from(["", "\n", "0:", "0::", "a:b", "0::/..\n::::\n", "5:memory,cpu:/a:b\n"]),
)
def test_what_is_no_limit_bounds_nothing(memory: str, cpu: str, groups: str) -> None:
    texts = {"memory.max": memory, "memory.high": memory, "memory.limit_in_bytes": memory, "cpu.max": cpu}
    texts |= {"cpu.cfs_quota_us": cpu, "cpu.cfs_period_us": "100000x", "cgroup": groups}
    mounts = ["", "- cgroup", "1 2 3 - cgroup2 x", *OTHERS, V2.format(root="/"), MEMORY.format(root="")]
    texts["mountinfo"] = "\n".join(mounts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "_read", lambda path: texts.get(path.rpartition("/")[2], ""))
        assert share(Path("/")) == Share(HOST_CORES, HOST_BYTES)


# --------------------------------------------------------------- masks and ranks


def test_cores_that_the_process_may_not_run_on_do_not_count(tmp_path: Path) -> None:
    assert share(tmp_path, own=6).cores == 6


def test_where_there_are_no_masks_python_counts(tmp_path: Path) -> None:
    made = share_of_machine(
        str(tmp_path), environ={"LOCAL_WORLD_SIZE": "2"}, counted=lambda: 10, affinity=None, memory_bytes=8 * GIB
    )
    assert made == Share(5, 4 * GIB)
    none = share_of_machine(str(tmp_path), environ={}, counted=lambda: None, affinity=None, memory_bytes=GIB)
    assert none.cores == 1


def test_ranks_share_cores_and_memory(tmp_path: Path) -> None:
    assert share(tmp_path, world="8") == Share(8, HOST_BYTES // 8)
    assert share(tmp_path, world="5").cores == 12  # together no more than there are
    assert share(tmp_path, world="100").cores == 1
    assert share(tmp_path, world=" 1 ") == share(tmp_path, world="") == share(tmp_path)


def test_ranks_share_a_containers_quota(tree: Tree) -> None:
    root = tree("0::/\n", [V2.format(root="/")], **{"memory.max": f"{16 * GIB}", "cpu.max": "800000 100000"})
    assert share(root, world="4") == Share(2, 4 * GIB)
    assert share(root, own=1, world="4").cores == 1


def test_a_rank_that_its_launcher_bound_to_its_part_has_all_of_it(tmp_path: Path) -> None:
    assert share(tmp_path, own=8, launcher=64, world="8").cores == 8
    assert share(tmp_path, own=32, launcher=64, world="8").cores == 8  # half of the machine, for four ranks of eight
    assert share(tmp_path, own=16, launcher=16, world="8").cores == 2  # all ranks within one mask


@pytest.mark.parametrize("said", ["two", "0", "-1", "1.5", "²", "9" * 5000])
def test_a_number_of_ranks_that_is_none_is_warned_of_once(tmp_path: Path, said: str) -> None:
    machine._warn_of.cache_clear()
    with pytest.warns(RuntimeWarning, match="LOCAL_WORLD_SIZE is .* no number of processes of at least 1"):
        assert share(tmp_path, world=said) == Share(HOST_CORES, HOST_BYTES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert share(tmp_path, world=said) == Share(HOST_CORES, HOST_BYTES)


# ------------------------------------------------------------------ what runs on it


def told(program: str, **environ: str) -> list[str]:
    """What a program in another process prints."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, **environ},
    )
    return ran.stdout.split()


STATS = """
import headrace as hr
with iter(hr.Dataset.range(9).map(abs, num_parallel_calls=hr.AUTOTUNE).prefetch(1)) as it:
    next(it)
    print(it.stats().workers, it.stats().ram_budget_bytes)
"""


def test_a_rank_among_many_has_one_worker_and_its_part_of_the_budget() -> None:
    workers, budget = told(STATS, LOCAL_WORLD_SIZE="1000")
    _, whole = told(STATS, LOCAL_WORLD_SIZE="1")
    assert (workers, int(budget)) == ("1", int(whole) * 4 // 1000 // 4)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity masks")
def test_a_process_bound_to_one_core_has_one_worker() -> None:
    bind = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    assert told(bind + STATS)[0] == "1"


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are POSIX's")
def test_a_limit_of_addresses_bounds_the_budget_and_is_not_divided() -> None:
    bind = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))\n"
    whole, part = (int(told(bind + STATS, LOCAL_WORLD_SIZE=world, OPENBLAS_NUM_THREADS="1")[1]) for world in "12")
    assert whole <= 1 << 30
    assert part >= min(whole, current_memory() // 8)


def current_memory() -> int:
    return share_of_machine(environ={}).memory_bytes


def test_a_reading_holds_for_a_second_and_for_one_mask_and_world(monkeypatch: pytest.MonkeyPatch) -> None:
    machine._readings.clear()
    read = list[int]()

    def reading() -> Share:
        read.append(0)
        return Share(len(read), GIB)

    monkeypatch.setattr(machine, "share_of_machine", reading)
    now = 0.0
    monkeypatch.setattr("headrace.machine.time.monotonic", lambda: now)
    assert machine.current_share().cores == machine.current_share().cores == 1
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert machine.current_share().cores == 2
    now = 1.5
    assert machine.current_share().cores == 3
    machine._readings.clear()


def test_statistics_tell_the_workers_and_the_budget() -> None:
    options = hr.Options(ram_budget=12345, num_workers=3)
    with iter(hr.Dataset.range(9).map(abs, num_parallel_calls=7).with_options(options)) as it:
        assert (it.stats().workers, it.stats().ram_budget_bytes) == (0, 0)
        next(it)
        assert (it.stats().workers, it.stats().ram_budget_bytes) == (3, 12345)
    with iter(hr.Dataset.range(9).map(abs)) as it:
        next(it)
        assert it.stats().workers == 0


def test_nothing_but_this_module_counts_the_cores_or_the_memory_of_the_machine() -> None:
    source = Path(hr.__file__).parent
    counted = re.compile(
        r"\bos\.(process_)?cpu_count\b|\bmultiprocessing\.cpu_count\b|\bvirtual_memory\b|SC_PHYS_PAGES|SC_NPROCESSORS"
    )
    found = [path for path in source.rglob("*.py") if counted.search(path.read_text(encoding="utf-8"))]
    assert found == [source / "machine.py"]
