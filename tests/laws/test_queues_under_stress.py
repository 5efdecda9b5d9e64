"""The short form of ``python -m tests.stress.queues``: nothing is lost, doubled or stuck, whoever ends it and when."""

from __future__ import annotations

import logging

import pytest
from tests.stress.queues import stress


def test_queues_and_runners_survive_closes_cancels_failures_and_collections(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "headrace"):
        stress(rounds=120)
