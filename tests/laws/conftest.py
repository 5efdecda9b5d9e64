"""What all tests of the laws share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from headrace.physical.workers import batch_memory
from headrace.semantics import shuffling


@pytest.fixture(autouse=True)
def no_warnings_of_half_read_plans() -> Iterator[None]:
    """Generated plans leave caches half filled, and run generators again, thousands of times."""
    log = logging.getLogger("headrace")
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def elements_of_any_size_are_stacked_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The elements of generated plans are small; the laws hold for those that are placed in their batch as well."""
    monkeypatch.setattr(batch_memory, "_FEWEST_BYTES", 0)


@pytest.fixture
def some_orders_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has shuffles of more than a few elements compute their order, as those of millions do."""
    monkeypatch.setattr(shuffling, "COMPUTED_FROM", 9)
