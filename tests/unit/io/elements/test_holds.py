"""Several who save to one folder and read it: each reader has its elements to the end, and the folder names the last save."""

from __future__ import annotations

import errno
import functools
import gc
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import folder

import headrace as hr
from headrace.errors import NotFoundError
from headrace.io.elements import holds, shards
from headrace.io.elements.holds import Hold, held_run, hold_new_run, remove_if_unheld
from headrace.io.elements.shards import ShardWriter

_FOLDERS = iter(range(1 << 30))
_SHARDS = 3


def fresh() -> Path:
    return folder() / f"shared {next(_FOLDERS)}"


def save(place: Path, value: int) -> None:
    hr.Dataset.from_tensors(value).repeat(_SHARDS).enumerate().save(place, shard_func=lambda number, _: number)


def wanted(value: int) -> list[tuple[int, int]]:
    return [(number, value) for number in range(_SHARDS)]


def one_by_one(files: hr.Dataset) -> hr.Dataset:
    """Opens a file when its elements are asked for."""
    return files.flat_map(lambda file: file)


def names(place: Path) -> list[str]:
    return sorted(re.sub(r"-\d+-\w+", "", path.name) for path in place.iterdir())


ONE_SAVE = ["metadata.json", "run", "run.lock"]


@given(
    st.lists(st.tuples(st.sampled_from(["begin", "finish", "leave", "load", "read"]), st.integers(0, 3)), max_size=20)
)
def test_in_any_order_readers_have_what_they_loaded_and_the_folder_names_the_last_save(
    steps: list[tuple[str, int]],
) -> None:
    place, last = fresh(), 0
    save(place, 0)
    writers: dict[int, tuple[int, ShardWriter]] = {}
    readers: dict[int, tuple[int, Iterator[Any], list[Any]]] = {}
    for value, (step, who) in enumerate(steps, 1):
        if step == "begin" and who not in writers:
            writers[who] = value, ShardWriter(place)
            for shard in range(_SHARDS):
                writers[who][1].add([(shard, value)], shard)
        if step == "finish" and who in writers:
            last, writer = writers.pop(who)
            writer.complete()
        if step == "leave" and who in writers:
            writers.pop(who)[1].abandon()
        if step == "load":
            readers[who] = last, iter(hr.Dataset.load(place, reader_func=one_by_one if who % 2 else None)), []
        if step == "read" and who in readers:
            readers[who][2].extend([element] if (element := next(readers[who][1], None)) is not None else [])
        assert list(hr.Dataset.load(place)) == wanted(last)
    for value, iterator, seen in readers.values():
        assert seen + list(iterator) == wanted(value)
    for _, writer in writers.values():
        writer.abandon()
    readers.clear()
    iterator = None  # type: ignore[assignment]  # what it holds goes with it
    gc.collect()
    save(place, 99)
    assert names(place) == ONE_SAVE


class Interrupting:
    """Calls something once, before or after a function of the library."""

    def __init__(self, function: Callable[..., Any], between: Callable[[], None], *, behind: bool = False) -> None:
        self.function, self.between, self.behind, self.calls = function, between, behind, 0

    def __get__(self, owner: object, kind: object = None) -> Any:
        return self if owner is None else functools.partial(self, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        is_first = self.calls == 1
        if is_first and not self.behind:
            self.between()
        found = self.function(*args, **kwargs)
        if is_first and self.behind:
            self.between()
        return found


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("function", ["held_run", "_named_run"])
def test_a_load_that_meets_a_save_gives_one_of_both(
    monkeypatch: pytest.MonkeyPatch, function: str, behind: bool
) -> None:
    place = fresh()
    save(place, 1)
    hook = Interrupting(getattr(shards, function), lambda: save(place, 2), behind=behind)
    monkeypatch.setattr(shards, function, hook)
    loaded = hr.Dataset.load(place, reader_func=one_by_one)
    assert hook.calls > 1 or behind
    save(place, 3)
    assert list(loaded) in (wanted(1), wanted(2))


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("function", ["_write_metadata", "_write_waiting", "abandon"])
def test_a_save_that_meets_another_loses_neither(monkeypatch: pytest.MonkeyPatch, function: str, behind: bool) -> None:
    place = fresh()
    save(place, 1)
    hook = Interrupting(getattr(ShardWriter, function), lambda: save(place, 2), behind=behind)
    monkeypatch.setattr(ShardWriter, function, hook)
    if function == "abandon":
        with pytest.raises(hr.errors.HeadraceError):
            hr.Dataset.range(3).map(lambda x: 1 // (x - 2)).save(place)
    else:
        save(place, 3)
    assert hook.calls
    is_last = function != "abandon" and not (function == "_write_metadata" and behind)
    assert list(hr.Dataset.load(place)) == wanted(3 if is_last else 2)
    assert names(place) == ONE_SAVE


@pytest.mark.parametrize("behind", [False, True])
def test_what_another_save_names_meanwhile_is_not_removed(monkeypatch: pytest.MonkeyPatch, behind: bool) -> None:
    place = fresh()
    save(place, 1)
    hook = Interrupting(remove_if_unheld, lambda: save(place, 2), behind=behind)
    monkeypatch.setattr(shards, "remove_if_unheld", hook)
    save(place, 3)
    assert list(hr.Dataset.load(place)) == wanted(2)
    assert names(place) == ONE_SAVE


def test_a_save_stopped_behind_its_last_step_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    place = fresh()
    save(place, 1)

    def stop() -> None:
        raise KeyboardInterrupt

    hook = Interrupting(ShardWriter._write_metadata, stop, behind=True)
    monkeypatch.setattr(ShardWriter, "_write_metadata", hook)
    with pytest.raises(KeyboardInterrupt):
        save(place, 2)
    assert list(hr.Dataset.load(place)) == wanted(2)


def test_a_lock_that_is_removed_before_it_is_held_is_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lock = tmp_path / "run-1-a.lock"
    monkeypatch.setattr(holds, "_share", Interrupting(holds._share, lock.unlink))
    hold = hold_new_run(tmp_path, "run-1-a")
    remove_if_unheld(tmp_path, "run-1-a", lambda: False, was_replaced=True)
    assert lock.exists()
    hold.release()
    remove_if_unheld(tmp_path, "run-1-a", lambda: False, was_replaced=True)
    assert not lock.exists()


def test_without_locks_only_what_was_replaced_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    place = fresh()
    save(place, 1)
    with ShardWriter(place) as writer:
        save(place, 2)
        writer.add([7])
    assert list(hr.Dataset.load(place)) == [7]
    assert names(place) == ONE_SAVE


def test_a_run_without_a_lock_is_read_and_replaced() -> None:
    place = fresh()
    save(place, 1)
    next(place.glob("*.lock")).unlink()
    assert list(hr.Dataset.load(place)) == wanted(1)
    save(place, 2)
    assert names(place) == ONE_SAVE


def test_where_open_files_cannot_be_renamed_the_same_is_removed(tmp_path: Path) -> None:
    (tmp_path / "run-1-a").mkdir()
    holds._remove_renamed(tmp_path, "run-1-a", lambda: True)
    assert names(tmp_path) == ["run", "run.lock"]
    holds._remove_renamed(tmp_path, "run-1-a", lambda: False)
    assert names(tmp_path) == []


def test_a_hold_is_taken_again_where_it_is_unpickled(tmp_path: Path) -> None:
    hold = hold_new_run(tmp_path, "run-1-a")
    copy: Hold = pickle.loads(pickle.dumps(hold))
    hold.release()
    remove_if_unheld(tmp_path, "run-1-a", lambda: False, was_replaced=True)
    assert (tmp_path / "run-1-a.lock").exists()
    copy.release()
    assert held_run(tmp_path, "run-2-b") is None


# ------------------------------------------------------------------------------ processes

_SAVING = """
import os, sys
import headrace as hr
place, value, rounds, at_element = sys.argv[1], *map(int, sys.argv[2:])
def element(number):
    if number == at_element:
        os._exit(9)
    return number, value
for _ in range(rounds):
    hr.Dataset.range(3).map(element).save(place, shard_func=lambda number, _: int(number))
"""


def saving(place: Path, value: int, *, rounds: int = 1, dies_at: int = -1) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _SAVING, str(place), str(value), str(rounds), str(dies_at)], env=os.environ
    )


def test_what_a_killed_process_left_is_removed_by_the_next_save() -> None:
    place = fresh()
    assert saving(place, 1, dies_at=2).wait(timeout=60) == 9
    with pytest.raises(NotFoundError):
        hr.Dataset.load(place)
    assert len(names(place)) == 2
    save(place, 2)
    assert list(hr.Dataset.load(place)) == wanted(2)
    assert names(place) == ONE_SAVE


def test_processes_that_save_at_once_and_one_that_reads_lose_nothing() -> None:
    place = fresh()
    save(place, 0)
    both = [saving(place, value, rounds=20) for value in (1, 2)]
    try:
        read = 0
        while any(process.poll() is None for process in both) or not read:
            found = list(hr.Dataset.load(place, reader_func=one_by_one if read % 2 else None))
            assert found in (wanted(0), wanted(1), wanted(2))
            read += 1
        assert [process.wait(timeout=60) for process in both] == [0, 0]
    finally:
        for process in both:
            process.kill()
            process.wait(timeout=60)
    gc.collect()
    save(place, 3)
    assert names(place) == ONE_SAVE
