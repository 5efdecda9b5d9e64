"""Memory that a device copies from is held until that has happened, in whatever order batches and copies come. An event of ours stands for the device's."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.feed import torch_feed
from headrace.reused_memory import reused

torch = pytest.importorskip("torch", reason="pip install torch")
SIZE = 1 << 18


class Event:
    """Is reached when it is told so, or when somebody waits for it."""

    def __init__(self) -> None:
        self.is_reached = False
        self.was_waited_for = False

    def query(self) -> bool:
        return self.is_reached

    def synchronize(self) -> None:
        self.is_reached = self.was_waited_for = True


@pytest.fixture(autouse=True)
def _device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_feed, "is_locked", lambda home: True)


def sent(memory: torch_feed._PinnedMemory, leaves: int) -> tuple[Event, list[weakref.ref[np.ndarray]]]:
    """Sends a batch that nobody else holds."""
    memory.begin()
    known = []
    for number in range(leaves):
        leaf = reused(SIZE, SIZE)
        tensor = memory.pinned(leaf, number)
        assert tensor.data_ptr() == leaf.ctypes.data
        known.append(weakref.ref(leaf))
    event = Event()
    memory.sent(event)
    return event, known


@given(st.integers(1, 4), st.lists(st.integers(0, 3), max_size=12), st.randoms(use_true_random=False))
def test_a_batch_stays_until_its_copy_has_left_it(slots: int, batches: list[int], random: object) -> None:
    memory = torch_feed._PinnedMemory(slots)
    known: list[tuple[Event, list[weakref.ref[np.ndarray]]]] = []
    for leaves in batches:
        known.append(sent(memory, leaves))
        # A device copies in order, so events are reached in order.
        pending = [event for event, _ in known if not event.is_reached]
        for event in pending[: random.randint(0, len(pending))]:  # type: ignore[attr-defined]
            event.is_reached = True
        for event, leaves_of in known:
            assert event.is_reached or all(leaf() is not None for leaf in leaves_of)
    for event, _ in known:
        event.is_reached = True
    memory.begin()
    gc.collect()
    assert not any(leaf() is not None for _, leaves_of in known for leaf in leaves_of)


def test_an_epoch_that_ends_waits_for_the_copies_that_are_under_way() -> None:
    memory = torch_feed._PinnedMemory(3)
    under_way = [sent(memory, 1) for _ in range(2)]
    assert all(leaf() is not None for _, leaves in under_way for leaf in leaves)
    del memory
    gc.collect()
    assert all(event.was_waited_for for event, _ in under_way)
    assert all(leaf() is None for _, leaves in under_way for leaf in leaves)


def test_what_no_device_was_told_of_is_copied_and_held_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_feed, "is_locked", lambda home: False)
    monkeypatch.setattr(torch, "empty", lambda shape, dtype, pin_memory, empty=torch.empty: empty(shape, dtype=dtype))
    memory = torch_feed._PinnedMemory(2)
    memory.begin()
    for nbytes in (10, SIZE):
        leaf = reused(nbytes, SIZE)
        tensor = memory.pinned(leaf, leaf.nbytes)
        assert tensor.data_ptr() != leaf.ctypes.data
        np.testing.assert_array_equal(tensor.numpy(), leaf)
        known = weakref.ref(leaf)
        del leaf
        assert known() is None
    memory.sent(Event())


def test_a_buffer_is_written_again_when_its_copy_has_left_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "empty", lambda shape, dtype, pin_memory, empty=torch.empty: empty(shape, dtype=dtype))
    memory = torch_feed._PinnedMemory(2)
    events: list[Event] = []
    places = []
    for number in range(5):
        memory.begin()
        for before, event in enumerate(events):
            assert event.was_waited_for == (before <= number - 2)
        places.append(memory.pinned(np.full(8, number), 0).data_ptr())
        events.append(Event())
        memory.sent(events[-1])
    assert places == [places[0], places[1]] * 2 + [places[0]]
