"""A page that is served, of processes that are made up."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import headrace as hr
from headrace.live import answering

LIMIT_S = 30.0


def load(x: int) -> int:
    return x


def decode_a_picture_with_a_long_name(x: int) -> int:
    if x == 3:
        raise ValueError("truncated JPEG <img src=x onerror=alert(1)>")
    return x


@pytest.fixture(scope="session")
def processes() -> list[dict[str, Any]]:
    """Two ranks with a plan that has branches, and a process that does not answer."""
    many, few = hr.Dataset.range(1000).shuffle(50, seed=1), hr.Dataset.range(1000).map(load)
    both = hr.Dataset.sample_from_datasets([many, few], [0.9, 0.1], seed=1)
    maps = both.map(decode_a_picture_with_a_long_name, num_parallel_calls=2, on_error="skip")
    with iter(maps.batch(4).prefetch(2)) as iterator:
        for _ in range(30):
            next(iterator)
        told: dict[str, Any] = json.loads(answering.answered(b'{"ask":"runs"}'))
    (run,) = told["runs"] = [run for run in told["runs"] if "with_a_long_name" in str(run["plan"])]
    stages = run["stats"]["stages"]
    for number, stage in enumerate(stages):
        stage["elements_per_s"] = 100.0 * (len(stages) - number) ** 2
    lit = next(number for number, stage in enumerate(stages) if "decode" in stage["name"])
    run |= {"bottleneck": lit, "verdict": "map 'decode' takes most", "waits": 0.6}
    run["stalls"] = [{"stage": "map 'load'", "origin": "element 7", "held_s": 3.0, "thread": "headrace-worker-1"}]
    other = copy.deepcopy(told) | {"pid": told["pid"] + 1, "rank": 1, "world_size": 2}
    other["runs"][0] |= {"bottleneck": None, "waits": 0.01, "verdict": "nothing here holds it up"}
    silent = {"pid": 77, "program": "", "runs": [], "error": "it does not answer"}
    return [told | {"rank": 0, "world_size": 2}, other, silent]


@pytest.fixture(scope="module")  # its threads are none of the tests behind
def page(processes: list[dict[str, Any]]) -> Iterator[str]:
    """The address of the page, of processes that go on."""
    pytest.importorskip("starlette", reason="pip install 'headrace[dashboard]'")
    pytest.importorskip("uvicorn", reason="pip install 'headrace[dashboard]'")
    from headrace.dashboard.looking import Looker
    from headrace.dashboard.server import Server

    server = Server(Looker(lambda: processes, lambda: [0.5, None], interval_s=0.05), token="the-token")
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server.url
    server.stop()
    thread.join(LIMIT_S)
    assert not thread.is_alive()
