from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import folder

from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.caching.disk import DiskCache
from headrace.caching.memory import MemoryCache
from headrace.caching.snapshot import SnapshotRun
from headrace.caching.store import CacheWriter, Filled, Store
from headrace.io.atomic_file import AtomicFile
from headrace.io.elements.shards import ShardWriter
from headrace.io.elements.writer import ElementWriter
from headrace.io.write_state import NEXT, WritePhase, WriteState

PHASES = list(WritePhase)
_PLACES = iter(range(1 << 30))


def in_file(place: Path) -> AtomicFile:
    file = AtomicFile(place / "a.bin")
    file.write(b"x")
    return file


def in_elements(place: Path) -> ElementWriter:
    writer = ElementWriter(place / "a.elements")
    writer.add([1, 2])
    return writer


def in_shards(place: Path) -> ShardWriter:
    writer = ShardWriter(place)
    writer.add([1, 2])
    return writer


def in_cache(store: Store) -> CacheWriter:
    writer = store.begin_write(Filled((0,)), None)
    assert writer is not None
    writer.add(Rows([np.arange(3), np.arange(3)]), IndexOrigin(range(2)))
    return writer


@given(st.lists(st.sampled_from(PHASES), max_size=4))
def test_a_writing_comes_to_one_end(wanted: list[WritePhase]) -> None:
    state = WriteState()
    for phase in wanted:
        before = state.phase
        if phase in NEXT[before]:
            state.end(phase)
            assert state.phase is phase
        else:
            with pytest.raises(AssertionError):
                state.end(phase)
            assert state.phase is before
        assert state.is_open == (state.phase is WritePhase.WRITING)


@pytest.mark.parametrize("begin", [in_file, in_elements, in_shards])
@given(ends=st.lists(st.sampled_from(["complete", "abandon"]), min_size=1, max_size=4))
def test_the_first_end_of_a_writer_decides_whether_anything_is_there(
    begin: Callable[[Path], Any], ends: list[str]
) -> None:
    place = folder() / f"writing {next(_PLACES)}"
    writer = begin(place)
    for end in ends:
        getattr(writer, end)()
    left = [path.name for path in place.rglob("*") if not path.name.endswith(".lock")]
    assert bool(left) == (ends[0] == "complete")
    assert not any(name.endswith(".part") for name in left)


@pytest.mark.parametrize("kind", ["disk", "snapshot", "memory"])
@pytest.mark.parametrize("ends", [["complete", "abandon"], ["abandon", "abandon"]])
def test_the_first_end_of_a_cache_decides_what_it_has_and_gives_the_lock_back(
    kind: str, ends: list[str], tmp_path: Path
) -> None:
    stores: dict[str, Store] = {
        "disk": DiskCache(tmp_path, "key", "plan"),
        "snapshot": SnapshotRun(tmp_path, None, None),
        "memory": MemoryCache(),
    }
    store = stores[kind]
    writer = in_cache(store)
    for end in ends:
        getattr(writer, end)()
    if ends[0] == "abandon":
        in_cache(store).complete()  # the lock is free, and nothing is in the way
    elif kind != "memory":
        assert store.begin_write(Filled((0,)), None) is None
    assert kind == "snapshot" or store.cached is not None
    with pytest.raises(AssertionError):
        writer.add(Rows([1]), IndexOrigin(range(1)))
