from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.train.running import LIMIT_S, everything_from, started

from headrace.coordination import get_collection, scope
from headrace.errors import InvalidArgumentError
from headrace.queues import FIFOQueue
from headrace.train import (
    input_producer,
    limit_epochs,
    match_filenames_once,
    range_input_producer,
    string_input_producer,
)


@given(limit=st.integers(0, 30), epochs=st.integers(1, 3), capacity=st.integers(1, 40), shuffle=st.booleans())
def test_each_epoch_has_every_number_once_and_no_more_wait_than_the_capacity(
    limit: int, epochs: int, capacity: int, shuffle: bool
) -> None:
    with scope():
        queue = range_input_producer(limit, num_epochs=epochs, shuffle=shuffle, capacity=capacity)
        with started():
            numbers = everything_from(queue)
    assert len(numbers) == limit * epochs
    for epoch in range(epochs):
        assert sorted(numbers[epoch * limit : (epoch + 1) * limit]) == list(range(limit))
    assert queue.snapshot().peak_elements <= capacity


def test_without_shuffling_the_order_is_that_of_the_rows() -> None:
    queue = input_producer([[1, 2], [3, 4]], num_epochs=2, shuffle=False)
    with started():
        assert [row.tolist() for row in everything_from(queue)] == [[1, 2], [3, 4], [1, 2], [3, 4]]


def orders(seed: int | None) -> list[list[int]]:
    with scope():
        queue = range_input_producer(50, num_epochs=2, seed=seed)
        with started():
            numbers = everything_from(queue)
    return [numbers[:50], numbers[50:]]


def test_a_seed_gives_the_same_orders_and_each_epoch_another() -> None:
    assert orders(7) == orders(7)
    assert orders(7) != orders(8)
    first, second = orders(7)
    assert first != second


def test_without_a_number_of_epochs_there_is_no_end() -> None:
    queue = string_input_producer(["a", "b"], capacity=3)
    with started():
        assert Counter(queue.dequeue(timeout_s=LIMIT_S) for _ in range(200)) == {"a": 100, "b": 100}


@pytest.mark.parametrize(
    "strings", [["a", "b"], ("a", "b"), np.array(["a", "b"]), [Path("a"), "b"], np.array(["a", "b"], dtype=object)]
)
def test_strings_come_out_as_str_however_they_were_given(strings: Any) -> None:
    queue = string_input_producer(strings, num_epochs=1, shuffle=False)
    with started():
        names = everything_from(queue)
    assert names == ["a", "b"]
    assert set(map(type, names)) == {str}


def test_what_is_pulled_is_pulled_in_each_epoch() -> None:
    there = ["a"]

    def names() -> list[str]:
        there.append("b")
        return list(there)

    queue = string_input_producer(names, num_epochs=2, shuffle=False)
    with started():
        assert everything_from(queue) == ["a", "b", "a", "b", "b"]


def test_rows_may_be_pulled_from_a_queue() -> None:
    batches = FIFOQueue(2)
    batches.enqueue(np.array([1, 2]))
    batches.enqueue(np.array([3]))
    batches.close()
    queue = input_producer(batches, shuffle=False)
    with started():
        assert everything_from(queue) == [1, 2, 3]


def test_the_dtype_and_shape_of_known_rows_are_the_queues() -> None:
    queue = input_producer(np.zeros((4, 2), np.float32))
    assert queue.dtypes == [np.dtype(np.float32)]
    assert queue.shapes == [(2,)]


def test_a_queue_has_tensorflows_name_and_a_runner_in_the_scope() -> None:
    string_input_producer(["a"], name="FilenameQueue")
    range_input_producer(2)
    assert [runner.name for runner in get_collection()] == ["FilenameQueue", "input_producer"]


def test_a_cancel_op_is_called_on_a_stop() -> None:
    called = []

    def cancel() -> None:
        called.append(True)
        queue.close(cancel_pending_enqueues=True)

    queue = string_input_producer(["a"], cancel_op=cancel)
    with started():
        assert queue.dequeue(timeout_s=LIMIT_S) == "a"
    assert called == [True]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: string_input_producer([]), "needs a list of at least one string"),
        (lambda: string_input_producer("a.csv"), "needs a list of at least one string, not 'a.csv'"),
        (lambda: string_input_producer(["a", 1]), "needs strings or paths, not 1"),
        (lambda: string_input_producer(["a"], num_epochs=0), "num_epochs must be at least 1, not 0"),
        (lambda: string_input_producer(["a"], capacity=0), "capacity must be at least 1"),
        (lambda: input_producer(3), "rows lie along the first axis, and 3 has none"),
        (lambda: input_producer([[1, 2]], element_shape=[3]), r"rows have the shape \(2,\), not \(3,\)"),
        (lambda: range_input_producer(0), "there are no rows, and num_epochs=None makes that endless"),
        (lambda: input_producer([[1], [2, 3]]), "differ in shape"),
    ],
)
def test_what_cannot_be_is_refused_at_once(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (list, "there are no rows, and num_epochs=None makes that endless"),
        (lambda: [[1, 2]], r"rows have the shape \(2,\), not \(None, 3\)"),
        (lambda: 1, "1 has none"),
    ],
)
def test_what_cannot_be_of_what_is_pulled_reaches_join(rows: Callable[[], Any], message: str) -> None:
    queue = input_producer(rows, element_shape=(None, 3))
    with pytest.raises(InvalidArgumentError, match=message), started():
        assert everything_from(queue) == []


def test_a_size_of_none_may_be_any() -> None:
    queue = input_producer([[1, 2]], element_shape=(None,), num_epochs=1)
    with started():
        assert len(everything_from(queue)) == 1


def test_a_failure_of_what_is_pulled_reaches_join_with_its_traceback() -> None:
    def list_bucket() -> list[str]:
        raise ConnectionError("the bucket is gone")

    queue = string_input_producer(list_bucket)
    with pytest.raises(ConnectionError, match="the bucket is gone") as caught, started():
        assert everything_from(queue) == []
    assert "list_bucket" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_files_are_matched_once_and_sorted(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "c.txt"):
        (tmp_path / name).touch()
    files = match_filenames_once(f"{tmp_path}/*.csv")
    (tmp_path / "late.csv").touch()
    assert [Path(path).name for path in files] == ["a.csv", "b.csv"]
    both = match_filenames_once([f"{tmp_path}/*.txt", f"{tmp_path}/a.*"])
    assert [Path(path).name for path in both] == ["a.csv", "c.txt"]
    with pytest.raises(InvalidArgumentError, match="no file matches"):
        match_filenames_once(f"{tmp_path}/*.wav")


def test_limit_epochs_gives_a_value_so_many_times() -> None:
    assert everything_from(limit_epochs([1, 2], 3)) == [[1, 2]] * 3
    assert everything_from(limit_epochs(iter("abcdef").__next__, 2)) == ["a", "b"]
    endless = limit_epochs("x")
    assert [endless() for _ in range(50)] == ["x"] * 50
    with pytest.raises(InvalidArgumentError, match="num_epochs must be at least 1, not -1"):
        limit_epochs("x", -1)
