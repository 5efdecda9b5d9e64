"""The short form of ``python -m tests.stress.queues``: nothing is lost, doubled or stuck, whoever ends it and when."""

from __future__ import annotations

from tests.stress.queues import stress


def test_queues_and_runners_survive_closes_cancels_failures_and_collections() -> None:
    stress(rounds=120)
