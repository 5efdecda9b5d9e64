"""A cache keeps the first whole epoch, and nothing less."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.errors import FailedPreconditionError
from headrace.testing.restoring import check_every_restore_point

data = hr.Dataset
BOTH = pytest.mark.parametrize("executor", ["thread", "inline"])


def given_by(dataset: hr.Dataset, executor: str = "thread") -> list[Any]:
    return list(dataset.with_options(hr.Options(executor=executor)))


def counted(length: int) -> tuple[list[int], hr.Dataset]:
    calls: list[int] = []

    def call(x: int) -> int:
        calls.append(x)
        return x

    return calls, data.range(length).map(call)


@BOTH
def test_a_cache_reads_its_input_once(executor: str) -> None:
    calls, source = counted(3)
    cached = source.cache()
    assert [given_by(cached, executor) for _ in range(3)] == [[0, 1, 2]] * 3
    assert calls == [0, 1, 2]


@BOTH
def test_a_cache_is_complete_when_its_known_number_came(executor: str) -> None:
    calls, source = counted(3)
    cached = source.cache().with_options(hr.Options(executor=executor))
    iterator = iter(cached)
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    iterator.close()
    assert list(cached) == [0, 1, 2]
    assert calls == [0, 1, 2]


@BOTH
def test_half_an_epoch_is_not_kept_and_says_so(executor: str, caplog: pytest.LogCaptureFixture) -> None:
    calls, source = counted(100_000)
    cached = source.cache().with_options(hr.Options(executor=executor))
    with iter(cached) as iterator:
        next(iterator)
    assert "so nothing is kept" in caplog.text
    calls.clear()
    with iter(cached) as iterator:
        next(iterator)
    assert calls[0] == 0


@BOTH
def test_an_epoch_with_a_failure_is_not_kept(executor: str) -> None:
    failures = [True, False]

    def fail_once(x: int) -> int:
        if x == 1 and failures.pop(0):
            raise ValueError("once")
        return x

    cached = data.range(3).map(fail_once).cache().with_options(hr.Options(executor=executor))
    with pytest.raises(hr.errors.DataError):
        list(cached)
    assert list(cached) == [0, 1, 2]


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_a_number_that_was_asserted_does_not_make_a_cache_complete(executor: str) -> None:
    dataset = hr.Dataset.range(3).assert_cardinality(2).cache().repeat(2)
    dataset = dataset.with_options(hr.Options(executor=executor))
    for _ in range(2):
        with iter(dataset) as iterator:
            assert [next(iterator), next(iterator)] == [0, 1]
            with pytest.raises(FailedPreconditionError):
                next(iterator)
    check_every_restore_point(dataset)
