"""What all tests of the laws share."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import pytest
from tests.laws.small_limits import (
    COMPUTED_ORDERS,
    FEW_IDLE_DRAWS,
    FEW_ROWS_AT_A_TIME,
    FEW_WOVEN,
    PARTS_OF_ONE_GROUP,
    STACKED_BY_WORKERS,
    TOLD_HOWEVER_SLIGHT,
)


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
    _set(monkeypatch, STACKED_BY_WORKERS)


@pytest.fixture(autouse=True)
def rows_for_filters_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of generated plans are short; the laws hold for those of which the rows are not there all at once as well."""
    _set(monkeypatch, FEW_ROWS_AT_A_TIME)


@pytest.fixture(autouse=True)
def row_groups_of_any_size_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row groups of generated plans are small; the laws hold for those that workers decode each by itself as well."""
    _set(monkeypatch, PARTS_OF_ONE_GROUP)


@pytest.fixture
def some_orders_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has shuffles of more than a few elements compute their order, as those of millions do."""
    _set(monkeypatch, COMPUTED_ORDERS)


@pytest.fixture
def few_idle_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends mixtures that choose nothing after few draws."""
    _set(monkeypatch, FEW_IDLE_DRAWS)


@pytest.fixture
def few_elements_are_woven_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a part of what is ready of all streams be woven, as of thousands of elements."""
    _set(monkeypatch, FEW_WOVEN)


@pytest.fixture
def what_is_left_is_told_however_slight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has all that is left of a block count, which of large elements alone does."""
    _set(monkeypatch, TOLD_HOWEVER_SLIGHT)


def _set(monkeypatch: pytest.MonkeyPatch, limits: Mapping[str, int]) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(name, limit)
