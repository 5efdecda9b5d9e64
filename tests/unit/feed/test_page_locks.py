"""Memory that a device is told of: headrace's own alone, when it is used again, and only as long as it is there. A recorder stands for the device."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import reused_memory
from headrace.feed import page_locks
from headrace.feed.page_locks import home_of, is_locked

SIZE = 1 << 18


class Device:
    """Notes what it was told of."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        self.told = 0
        self.takes_any = True

    def register(self, address: int, nbytes: int) -> bool:
        if not self.takes_any:
            return False
        assert all(address + nbytes <= other or other + size <= address for other, size in self.known.items())
        self.known[address] = nbytes
        self.told += 1
        return True

    def unregister(self, address: int, _: int, process: int) -> None:
        if process == os.getpid():
            del self.known[address]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device()
    reused_memory._SPARE._pieces.clear()
    monkeypatch.setattr(page_locks, "_registered", found.register)
    monkeypatch.setattr(page_locks, "_unregister", found.unregister)
    monkeypatch.setattr(page_locks, "_wait_for_copies", lambda: None)
    return found


def batches(count: int, executor: Any = "thread", nbytes: int = SIZE) -> hr.Dataset:
    made = hr.Dataset.range(4 * count).map(lambda x: np.full(nbytes // 4, x, np.uint8), num_parallel_calls=2)
    return made.batch(4).with_options(hr.Options(executor=executor))


def epochs(count: int, executor: Any) -> Iterator[np.ndarray]:
    """Two of them: a whole one may have been made before the first of its batches is asked for."""
    for _ in range(2):
        yield from batches(count, executor)


def is_sent_as_it_is(batch: np.ndarray) -> bool:
    home = home_of(batch)
    return home is not None and is_locked(home)


@pytest.mark.parametrize("executor", ["thread", "process", "subprocess"])
def test_batches_in_memory_that_is_used_again_are_sent_as_they_are(device: Device, executor: Any) -> None:
    seen: set[reused_memory.Pages] = set()  # none goes, so that no other lies where it lay
    for batch in epochs(60, executor):
        home = home_of(batch)
        assert home is not None
        assert is_locked(home) == (home in seen)
        seen.add(home)
    assert device.told <= len(seen)
    assert device.known
    for address, nbytes in device.known.items():
        assert address % 4096 == 0
        assert nbytes >= SIZE


@pytest.mark.parametrize("executor", ["thread", "process", "subprocess"])
def test_memory_is_forgotten_before_it_goes(device: Device, executor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reused_memory, "_MOST_SPARE", 4)
    for batch in epochs(40, executor):
        is_sent_as_it_is(batch)
    assert device.told
    del batch
    # What waits to be used again makes room for that of other sizes.
    for number in range(1, 10):
        list(batches(1, nbytes=SIZE + 4 * number))
    gc.collect()
    assert not device.known


OTHERS: dict[str, Callable[[Any], Any]] = {
    "a copy": lambda batch: batch.copy(),
    "every second": lambda batch: batch[:, ::2],
    "transposed": lambda batch: batch.T,
    "small": lambda batch: batch[:, :8],
    "the other byte order": lambda batch: batch.view(">i4"),
    "bytes": lambda batch: np.frombuffer(batch.tobytes(), np.uint8),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_lies_elsewhere_or_not_in_one_piece_has_no_home(name: str) -> None:
    (batch,) = batches(1)
    assert home_of(batch) is not None
    assert home_of(OTHERS[name](batch)) is None
    batch.flags.writeable = False
    assert home_of(batch) is None


def test_a_part_of_it_has_the_same_home() -> None:
    (batch,) = batches(1, nbytes=4 * SIZE)
    assert home_of(batch[1:]) is home_of(batch.view(np.int32).reshape(-1)) is home_of(batch) is not None


def test_a_device_that_refuses_is_asked_once(device: Device) -> None:
    (batch,) = batches(1, nbytes=SIZE + 4096)
    home = home_of(batch)
    assert home is not None
    device.takes_any = False
    assert not any(is_locked(home) for _ in range(3))
    device.takes_any = True
    assert home_of(batch) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_after_a_fork_the_device_is_told_again(device: Device) -> None:
    (batch,) = batches(1, nbytes=SIZE + 8192)
    home = home_of(batch)
    assert home is not None
    assert [is_locked(home) for _ in range(3)] == [False, True, True]
    assert device.told == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that a copy has not
        child = os.fork()
    if not child:
        home.__del__()
        os._exit(len(device.known) != 1)  # what the other process knows is none of its own
    assert os.waitpid(child, 0)[1] == 0
    assert is_locked(home)
    assert (device.told, len(device.known)) == (2, 1)
