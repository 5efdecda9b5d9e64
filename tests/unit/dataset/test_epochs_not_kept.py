"""How many epochs a cache was to keep and did not, as ``stats()`` tells."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import headrace as hr


def fails_on_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


RANGE = hr.Dataset.range(10)
EXECUTORS = ["thread", "inline"]


def unkept(dataset: hr.Dataset, executor: str) -> int:
    iterator = iter(dataset.ignore_errors(log_warning=False).with_options(hr.Options(executor=executor)))
    for _ in iterator:
        pass
    (cache,) = [stage for stage in iterator.stats().stages if stage.name.startswith("cache")]
    return cache.unkept


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    ("dataset", "count"),
    [
        (RANGE.cache(), 0),
        (RANGE.cache().repeat(3), 0),
        (RANGE.take(4).cache().repeat(3), 0),
        (RANGE.cache().take(4), 1),
        (RANGE.cache().take(4).repeat(3), 3),
        (RANGE.map(fails_on_three).cache(), 1),
        (RANGE.map(fails_on_three, on_error="skip").cache(), 0),
        (RANGE.cache(max_bytes=8), 1),
    ],
    ids=["whole", "repeated", "a part of it", "left", "left again", "failed", "skipped", "too large"],
)
def test_epochs_that_are_left_or_fail_are_counted(
    executor: str, dataset: hr.Dataset, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    assert unkept(dataset, executor) == count


def test_what_is_kept_is_not_left_any_more() -> None:
    ds: Any = RANGE.cache()
    assert [unkept(ds, "thread") for _ in range(3)] == [0, 0, 0]
