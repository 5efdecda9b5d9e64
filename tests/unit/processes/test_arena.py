"""Places in shared memory: no two that are taken overlap, and what was given back is taken again."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ResourceExhaustedError
from headrace.processes import arena as arena_module
from headrace.processes.arena import Arena, Place
from headrace.processes.leases import Leases
from headrace.processes.segment import Segment


@given(st.lists(st.tuples(st.integers(0, 9 << 20), st.integers(0, 5)), max_size=40))
def test_no_two_places_that_are_taken_overlap_and_each_holds_what_was_asked_for(
    steps: list[tuple[int, int]],
) -> None:
    arena = Arena()
    taken: list[Place] = []
    for nbytes, given_back in steps:
        place = arena.take(nbytes)
        assert place.nbytes >= nbytes
        assert len(arena.bytes_at(place)) == place.nbytes
        for other in taken:
            apart = place.start + place.nbytes <= other.start or other.start + other.nbytes <= place.start
            assert place.segment != other.segment or apart
        taken.append(place)
        if given_back < len(taken):
            arena.give(taken.pop(given_back))
    arena.close()


@given(st.permutations(range(6)))
def test_places_given_back_in_any_order_are_one_free_part_again(order: list[int]) -> None:
    arena = Arena()
    arena.give(arena.take(12 << 20))
    places = [arena.take(2 << 20) for _ in range(6)]
    assert {place.segment for place in places} == {0}
    for index in order:
        arena.give(places[index])
    assert arena.take(12 << 20).segment == 0
    arena.close()


def test_a_batch_that_is_kept_keeps_its_own_place_alone() -> None:
    arena = Arena()
    arena.give(arena.take(16 << 20))
    kept = arena.take(1 << 20)
    for _ in range(100):  # a hundred times what one segment has
        place = arena.take(12 << 20)
        assert place.segment == kept.segment
        arena.give(place)
    arena.close()


@given(st.lists(st.integers(1, 9 << 20), max_size=12))
def test_who_takes_little_has_little(taken: list[int]) -> None:
    arena = Arena()
    for nbytes in taken:
        arena.take(nbytes)
        assert arena.held_bytes <= (1 << 20) + 5 * arena.taken_bytes
    arena.close()


def test_ever_larger_batches_take_no_more_memory_than_those_that_are_held() -> None:
    arena, leases = Arena(), Leases()
    kept = arena.take(100)
    leases.add([os.dup(descriptor) for descriptor in arena.fresh()])
    for megabytes in range(20, 30):
        place = arena.take(megabytes << 20)
        leases.add([os.dup(descriptor) for descriptor in arena.fresh()])
        leases.drop(arena.dropped())
        arena.bytes_at(place)[-1] = megabytes
        assert leases.bytes_at(place, place.nbytes)[-1] == megabytes
        arena.give(place)
        assert arena.held_bytes <= (16 << 20) + (megabytes << 20)
    assert kept.segment == arena.take(100).segment
    arena.close()


def test_a_place_goes_back_when_the_last_array_on_it_is_gone() -> None:
    arena, leases = Arena(), Leases()
    place = arena.take(100)
    arena.bytes_at(place)[:4] = [1, 2, 3, 4]
    leases.add([os.dup(descriptor) for descriptor in arena.fresh()])
    whole = leases.bytes_at(place, 4)
    part = whole.view(np.uint16)[1:]
    assert whole.tolist() == [1, 2, 3, 4]
    del whole
    assert leases.gone() == []
    del part
    assert leases.gone() == [place]
    assert leases.gone() == []


def test_kept_places_take_few_segments_and_so_few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_module, "_USUAL", 1 << 14)
    arena = Arena()
    kept = [arena.take(1 << 14) for _ in range(2000)]
    segments = {place.segment for place in kept}
    assert len(segments) < 80
    assert arena.held_bytes < sum(place.nbytes for place in kept) * 1.2
    spans = sorted((place.segment, place.start, place.start + place.nbytes) for place in kept)
    assert all(before[0] < after[0] or before[2] <= after[1] for before, after in itertools.pairwise(spans))
    arena.close()


def test_where_no_large_segment_is_to_be_had_one_that_is_large_enough_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_module, "_USUAL", 1 << 14)
    arena, made = Arena(), Segment.made
    kept = [arena.take(1 << 14) for _ in range(100)]

    def refuse_large(nbytes: int) -> tuple[Segment, int]:
        if nbytes > 1 << 14:
            raise ResourceExhaustedError("no more")
        return made(nbytes)

    monkeypatch.setattr(Segment, "made", refuse_large)
    kept += [arena.take(1 << 14) for _ in range(100)]
    assert len({(place.segment, place.start) for place in kept}) == 200
    with pytest.raises(ResourceExhaustedError):
        arena.take(1 << 15)
    arena.close()


def descriptors() -> int:
    """How many are open; where the system does not tell, always the same."""
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.is_dir() else 0


def test_memory_that_the_system_refuses_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, offset: int, length: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    before = descriptors()
    with pytest.raises(ResourceExhaustedError, match="gives no 64 MiB of shared memory"):
        Segment.made(64 << 20)
    assert descriptors() == before


def test_what_one_writes_to_memory_that_is_not_shared_stays_its_own() -> None:
    shared, descriptor = Segment.made(4096)
    shared.bytes[0] = 7
    own = Segment.received(descriptor, is_shared=False)
    own.bytes[0] = 8
    assert shared.bytes[0] == 7
