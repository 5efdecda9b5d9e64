"""What all tests of the laws share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_warnings_of_half_read_plans() -> Iterator[None]:
    """Generated plans leave caches half filled, and run generators again, thousands of times."""
    log = logging.getLogger("headrace")
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(logging.NOTSET)
