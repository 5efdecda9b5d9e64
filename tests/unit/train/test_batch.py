from __future__ import annotations

import itertools
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.queues.background import Background, HandClock, waiting
from tests.unit.train.running import LIMIT_S, everything_from, started

from headrace.coordination import get_collection, scope
from headrace.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from headrace.queues import FIFOQueue
from headrace.train import (
    NextBatch,
    TextLineReader,
    batch,
    batch_join,
    batching,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    range_input_producer,
    shuffle_batch,
    shuffle_batch_join,
    string_input_producer,
)


def numbers_to(limit: int) -> Any:
    return range_input_producer(limit, num_epochs=1, shuffle=False)


def ends_after(examples: list[Any]) -> Callable[[], Any]:
    """A callable that gives these examples, and then the end."""
    left: Iterator[Any] = iter(examples)

    def next_example() -> Any:
        try:
            return next(left)
        except StopIteration:
            raise OutOfRangeError("no more") from None

    return next_example


def shuffled(tensors: Any, batch_size: int, **options: Any) -> NextBatch:
    return shuffle_batch(tensors, batch_size, capacity=10, min_after_dequeue=3, **options)


MAKERS: dict[str, Callable[..., NextBatch]] = {"batch": batch, "shuffle_batch": shuffled}


@pytest.fixture(name="make", params=MAKERS)
def _make(request: pytest.FixtureRequest) -> Callable[..., NextBatch]:
    return MAKERS[request.param]


# ---- what comes out


@given(
    rows=st.integers(0, 40),
    batch_size=st.integers(1, 15),
    threads=st.integers(1, 3),
    capacity=st.integers(1, 20),
    smaller=st.booleans(),
    many=st.integers(0, 4),
    shuffle=st.booleans(),
)
def test_every_example_comes_once_in_batches_of_the_size(
    rows: int, batch_size: int, threads: int, capacity: int, smaller: bool, many: int, shuffle: bool
) -> None:
    options: dict[str, Any] = {
        "num_threads": threads,
        "capacity": capacity,
        "allow_smaller_final_batch": smaller,
        "enqueue_many": many > 0,
    }
    with scope():
        numbers = numbers_to(rows)
        source = (lambda: numbers.dequeue_up_to(many)) if many else numbers
        if shuffle:
            options |= {"min_after_dequeue": capacity // 2}
        next_batch = (shuffle_batch if shuffle else batch)(source, batch_size, **options)
        with started():
            batches = everything_from(next_batch)
    full, rest = divmod(rows, batch_size)
    assert [len(found) for found in batches] == [batch_size] * full + [rest] * (smaller and rest > 0)
    seen = [number for found in batches for number in found.tolist()]
    if not rest or smaller:
        assert sorted(seen) == list(range(rows))
    assert len(set(seen)) == len(seen)
    if threads == 1 and not shuffle:
        assert seen == list(range(len(seen)))
    assert next_batch.queue.snapshot().peak_elements <= capacity


def test_a_smaller_rest_is_dropped_unless_it_is_allowed() -> None:
    # As tf.compat.v1.train.batch: [0 1] [2 3] and, if allowed, [4].
    dropping = batch(numbers_to(5), 2)
    allowing = batch(numbers_to(5), 2, allow_smaller_final_batch=True)
    with started():
        assert [found.tolist() for found in everything_from(dropping)] == [[0, 1], [2, 3]]
        assert [found.tolist() for found in everything_from(allowing)] == [[0, 1], [2, 3], [4]]


def test_many_at_once_are_cut_into_batches_without_regard_to_where_they_came_from() -> None:
    next_batch = batch([[1, 2, 3]], 2, enqueue_many=True)
    with started():
        assert [next_batch(timeout_s=LIMIT_S).tolist() for _ in range(4)] == [[1, 2], [3, 1], [2, 3], [1, 2]]


class Point(NamedTuple):
    x: Any
    label: Any


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (3, np.array([3, 3])),
        ("text", np.array(["text", "text"], dtype=object)),
        (np.ones(2, np.float32), np.ones((2, 2), np.float32)),
        (np.int32(1), np.array([1, 1], np.int32)),
    ],
)
def test_a_bare_example_makes_an_array(make: Callable[..., NextBatch], example: Any, expected: np.ndarray) -> None:
    next_batch = make(ends_after([example] * 2), 2)
    with started():
        (found,) = everything_from(next_batch)
    assert found.dtype == expected.dtype
    assert (found == expected).all()


def test_a_batch_has_the_structure_of_an_example(make: Callable[..., NextBatch]) -> None:
    example = {"point": Point(1.5, "a"), "pixels": ([1, 2], True)}
    next_batch = make(ends_after([example] * 3), 3)
    with started():
        (found,) = everything_from(next_batch)
    assert found.keys() == example.keys()
    assert isinstance(found["point"], Point)
    assert [column.tolist() for column in found["point"]] == [[1.5] * 3, ["a"] * 3]
    assert found["pixels"][0].tolist() == [[1, 2]] * 3
    assert found["pixels"][1].tolist() == [True] * 3


def test_the_list_that_an_example_is_returned_as_is_its_components() -> None:
    next_batch = batch(ends_after([[1, 2.5]] * 2), 2)
    with started():
        ((ones, floats),) = everything_from(next_batch)
    assert (ones.tolist(), floats.tolist()) == ([1, 1], [2.5, 2.5])


def test_the_queue_gives_examples_as_they_went_in() -> None:
    next_batch = batch(ends_after([{"a": 1, "b": "x"}]), 1)
    with started():
        assert next_batch.queue.dequeue(timeout_s=LIMIT_S) == {"a": 1, "b": "x"}


# ---- what is pulled


def test_tensors_may_be_a_structure_of_queues_and_callables() -> None:
    numbers, letters = numbers_to(4), FIFOQueue(10)
    for letter in "abcd":
        letters.enqueue(letter)
    letters.close()
    next_batch = batch({"n": numbers, "l": letters, "same": 7, "count": itertools.count().__next__}, 4)
    with started():
        (found,) = everything_from(next_batch)
    assert found["n"].tolist() == [0, 1, 2, 3]
    assert found["l"].tolist() == list("abcd")
    assert found["same"].tolist() == [7] * 4
    assert found["count"].tolist() == [0, 1, 2, 3]


def test_one_component_in_a_list_comes_bare_as_in_tensorflow_and_in_a_dict_does_not() -> None:
    bare, named = batch([numbers_to(2)], 2), batch({"x": numbers_to(2)}, 2)
    with started():
        assert bare(timeout_s=LIMIT_S).tolist() == [0, 1]
        assert named(timeout_s=LIMIT_S)["x"].tolist() == [0, 1]


def test_batches_may_be_pulled_for_batches_of_another_size() -> None:
    threes = batch(numbers_to(9), 3)
    fives = batch({"n": threes}, 5, enqueue_many=True, allow_smaller_final_batch=True)
    with started():
        assert [found["n"].tolist() for found in everything_from(fives)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]


def test_a_list_of_callables_inside_a_structure_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="write a tuple of what is pulled"):
        batch({"x": [FIFOQueue(1), FIFOQueue(1)]}, 2)


def test_the_parts_of_a_structure_belong_together_however_many_threads_pull_them() -> None:
    left, right = numbers_to(500), numbers_to(500)
    next_batch = batch([left, right], 10, num_threads=4)
    with started():
        batches = everything_from(next_batch)
    assert len(batches) == 50
    assert all((first == second).all() for first, second in batches)


def test_each_of_several_sources_has_a_thread_of_its_own() -> None:
    joins: list[Callable[..., NextBatch]] = [
        batch_join,
        lambda tensors_list, size: shuffle_batch_join(tensors_list, size, capacity=10, min_after_dequeue=3),
    ]
    for join in joins:
        with scope():
            next_batch = join([ends_after(["a"] * 20), ends_after(["b"] * 30)], 10)
            assert len(get_collection()[0].enqueue_ops) == 2
            with started():
                batches = everything_from(next_batch)
        assert Counter(np.concatenate(batches).tolist()) == {"a": 20, "b": 30}


# ---- padding and shapes


def test_sizes_that_vary_are_padded_to_the_largest_in_the_batch() -> None:
    # As tf.compat.v1.train.batch with dynamic_pad.
    examples = [(np.arange(number), number) for number in range(5)]
    next_batch = batch(ends_after(examples), 2, dynamic_pad=True, allow_smaller_final_batch=True)
    assert next_batch.queue.name == "batch/padding_fifo_queue"
    with started():
        arrays = [found[0].tolist() for found in everything_from(next_batch)]
    assert arrays == [[[0], [0]], [[0, 1, 0], [0, 1, 2]], [[0, 1, 2, 3]]]


def test_text_is_padded_with_the_empty_string() -> None:
    next_batch = batch(ends_after([["a", "b"], ["c"]]), 1, dynamic_pad=True)
    single = batch(ends_after([{"t": ["a", "b"]}, {"t": ["c"]}]), 2, dynamic_pad=True)
    with pytest.raises(InvalidArgumentError, match="another structure"), started():
        assert single(timeout_s=LIMIT_S)["t"].tolist() == [["a", "b"], ["c", ""]]
        everything_from(next_batch)


def test_only_the_sizes_that_are_none_in_shapes_may_vary() -> None:
    def next_batch(second: tuple[int, int]) -> NextBatch:
        return batch(ends_after([np.zeros((2, 1)), np.zeros(second)]), 2, dynamic_pad=True, shapes=[(2, None)])

    with scope():
        good = next_batch((2, 3))
        with started():
            assert good(timeout_s=LIMIT_S).shape == (2, 2, 3)
    bad = next_batch((3, 1))
    with pytest.raises(InvalidArgumentError, match=r"component 0: expected shape \(2, None\), got \(3, 1\)"), started():
        everything_from(bad)


# ---- what does not fit


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ((np.zeros(3), 1), r"component 0: expected shape \(2,\), got \(3,\)"),
        ((np.zeros(2), 1.5), "component 1: expected int64, got float64"),
        ((np.zeros(2), "x"), "component 1: expected int64"),
        ((np.zeros(2),), "another structure than the first"),
        ({"a": 1}, "another structure than the first"),
    ],
)
def test_an_example_unlike_the_first_is_refused_in_its_thread_and_join_says_which_component(
    make: Callable[..., NextBatch], second: Any, message: str
) -> None:
    next_batch = make(ends_after([(np.zeros(2), 1), second]), 2)
    with pytest.raises(InvalidArgumentError, match=message), started():
        everything_from(next_batch)


def test_many_unlike_the_first_are_refused_as_well() -> None:
    next_batch = batch(ends_after([([1, 2], ["a", "b"]), ([1, 2], ["a"])]), 2, enqueue_many=True)
    with pytest.raises(InvalidArgumentError, match="component 1 has 1 elements, but the first has 2"), started():
        everything_from(next_batch)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(3,)], r"component 0: expected shape \(3,\), got \(2,\)"),
        ([(2,), ()], "2 shapes, but examples of 1 components"),
    ],
)
def test_the_first_example_must_have_the_shapes_that_were_given(shapes: Any, message: str) -> None:
    next_batch = batch(ends_after([np.zeros(2)]), 1, shapes=shapes)
    with pytest.raises(InvalidArgumentError, match=message), started():
        everything_from(next_batch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tensors": []}, "batch needs at least one tensor"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"num_threads": 0}, "at least one thread"),
        ({"capacity": 0}, "capacity must be at least 1"),
        ({"shapes": [(None,)]}, r"a size of None in shapes=\[\(None,\)\] needs dynamic_pad=True"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        batch(**{"tensors": FIFOQueue(1), "batch_size": 2, **arguments})
    assert get_collection() == []


def test_the_capacity_must_be_bigger_than_what_stays_inside() -> None:
    with pytest.raises(InvalidArgumentError, match="capacity 10 must be bigger than min_after_dequeue 10"):
        shuffle_batch(FIFOQueue(1), 2, 10, 10)
    with pytest.raises(InvalidArgumentError, match="at least one set of tensors"):
        shuffle_batch_join([], 2, 10, 3)


def test_queues_have_tensorflows_names() -> None:
    source = FIFOQueue(1)
    batch(source, 2)
    batch(source, 2, name="mine")
    batch_join([source], 2)
    shuffle_batch(source, 2, 10, 3)
    shuffle_batch_join([source], 2, 10, 3, name="mine")
    assert [runner.name for runner in get_collection()] == [
        "batch/fifo_queue",
        "mine/fifo_queue",
        "batch_join/fifo_queue",
        "shuffle_batch/random_shuffle_queue",
        "mine/random_shuffle_queue",
    ]


# ---- which examples go in


def odd(number: int) -> bool:
    return number % 2 == 1


@pytest.mark.parametrize(
    "make_odd",
    [
        lambda numbers: maybe_batch(numbers, odd, 2, allow_smaller_final_batch=True),
        lambda numbers: maybe_batch_join([numbers], odd, 2, allow_smaller_final_batch=True),
        lambda numbers: maybe_shuffle_batch(numbers, 2, 10, 3, odd, allow_smaller_final_batch=True),
        lambda numbers: maybe_shuffle_batch_join([numbers], 2, 10, 3, odd, allow_smaller_final_batch=True),
    ],
    ids=["batch", "batch_join", "shuffle_batch", "shuffle_batch_join"],
)
def test_only_what_is_to_be_kept_goes_in(make_odd: Callable[[Any], NextBatch]) -> None:
    next_batch = make_odd(numbers_to(10))
    with started():
        batches = everything_from(next_batch)
    assert [len(found) for found in batches] == [2, 2, 1]
    assert sorted(np.concatenate(batches).tolist()) == [1, 3, 5, 7, 9]


def test_a_function_is_given_the_components_as_a_filter_is() -> None:
    pairs = [(number, str(number)) for number in range(6)]
    tuples = maybe_batch(ends_after(pairs), lambda number, text: number == int(text) > 2, 3)
    dicts = maybe_batch(ends_after([{"n": number} for number, _ in pairs]), lambda example: example["n"] > 2, 3)
    with started():
        assert tuples(timeout_s=LIMIT_S)[1].tolist() == ["3", "4", "5"]
        assert dicts(timeout_s=LIMIT_S)["n"].tolist() == [3, 4, 5]


def test_a_vector_chooses_among_many() -> None:
    always = maybe_batch([[1, 2, 3]], [True, False, True], 4, enqueue_many=True)
    chosen = maybe_batch(ends_after([([1, 2], ["a", "b"])] * 2), lambda n, _: np.array(n) > 1, 2, enqueue_many=True)
    none = maybe_batch(ends_after([[1, 2]] * 5), lambda *_: False, 2, enqueue_many=True)
    with started():
        assert always(timeout_s=LIMIT_S).tolist() == [1, 3, 1, 3]
        assert chosen(timeout_s=LIMIT_S)[1].tolist() == ["b", "b"]
        assert everything_from(none) == []


def test_a_constant_or_a_queue_may_say_what_is_kept() -> None:
    flags = FIFOQueue(10)
    for flag in (True, False, True):
        flags.enqueue(flag)
    by_queue = maybe_batch(numbers_to(3), flags, 2)
    nothing = maybe_batch(numbers_to(3), False, 2)  # TensorFlow waits for ever here
    with started():
        assert by_queue(timeout_s=LIMIT_S).tolist() == [0, 2]
        assert everything_from(nothing) == []


@pytest.mark.parametrize(
    ("keep_input", "many", "message"),
    [
        ([True, False], False, "can be a vector only with enqueue_many=True"),
        ([[True]], True, "at most one axis"),
        (1, False, "True or False, not 1"),
        (None, False, "True or False, not None"),
    ],
)
def test_a_constant_that_is_no_choice_is_refused_at_once(keep_input: Any, many: bool, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        maybe_batch(FIFOQueue(1), keep_input, 2, enqueue_many=many)
    next_batch = maybe_batch(ends_after([[[1]]]), lambda *_: keep_input, 2, enqueue_many=many)
    with pytest.raises(InvalidArgumentError, match=message), started():
        everything_from(next_batch)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("as_dict", [False, True])
def test_a_function_that_chooses_changes_nothing_of_what_is_put_in(many: bool, as_dict: bool) -> None:
    def keep(example: Any) -> Any:
        array = example["x"] if as_dict else example
        with pytest.raises(ValueError, match="read-only"):
            array += 1
        if as_dict:
            example["y"] = 0
        return np.ones(2, bool) if many else True

    mine = np.zeros((2, 1))
    examples = [{"x": mine} if as_dict else mine] if many else [{"x": row} if as_dict else row for row in mine]
    next_batch = maybe_batch(ends_after(examples), keep, 2, enqueue_many=many)
    with started():
        found = everything_from(next_batch)
    assert [batch["x"].tolist() if as_dict else batch.tolist() for batch in found] == [[[0], [0]]]


def test_a_vector_must_have_a_value_for_each_example() -> None:
    next_batch = maybe_batch(ends_after([[[1, 2, 3]]]), lambda _: [True, False], 2, enqueue_many=True)
    with pytest.raises(InvalidArgumentError, match="2 values, not one for each example"), started():
        everything_from(next_batch)


def test_a_thread_that_drops_everything_ends_when_the_queue_is_closed() -> None:
    next_batch = maybe_batch(lambda: 1, lambda _: False, 2)
    with pytest.raises(CancelledError, match="nothing can be put in any more"), started() as coord:
        next_batch.queue.close()
        assert coord.wait_for_stop(LIMIT_S)


# ---- how it ends


def test_a_failure_in_a_thread_reaches_join_with_its_traceback(make: Callable[..., NextBatch]) -> None:
    numbers = numbers_to(100)

    def decode() -> int:
        number: int = numbers.dequeue()
        if number == 40:
            raise OSError("the disk is gone")
        return number

    next_batch = make(decode, 7, num_threads=3)
    with pytest.raises(OSError, match="the disk is gone") as caught, started():
        assert len(everything_from(next_batch)) <= 14
    assert "decode" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_a_failure_is_noted_with_the_queue_and_the_record_that_was_read(
    tmp_path: Path, make: Callable[..., NextBatch]
) -> None:
    (tmp_path / "a.csv").write_text("1\n2\nthree\n4\n")
    names, reader = string_input_producer([str(tmp_path / "a.csv")]), TextLineReader()
    next_batch = make(lambda: int(reader.read(names)[1]), 1)
    with pytest.raises(ValueError, match="three") as caught, started():
        everything_from(next_batch)
    (note,) = caught.value.__notes__
    assert note == (
        f"This happened while an example was made for {next_batch.queue.name!r}; "
        f"the last record read for it was {tmp_path / 'a.csv'}:3."
    )


def test_a_failure_without_a_record_is_noted_with_the_queue() -> None:
    next_batch = batch(ends_after([1, "x"]), 1)
    with pytest.raises(InvalidArgumentError) as caught, started():
        everything_from(next_batch)
    assert caught.value.__notes__ == ["This happened while an example was made for 'batch/fifo_queue'."]


def test_a_stop_wakes_whoever_waits_for_a_batch() -> None:
    silent = FIFOQueue(1)
    next_batch = batch(silent, 2)
    with started() as coord:
        coord.closes(silent)
        consumer = Background(next_batch)
        waiting(next_batch.queue, consumers=1)
        coord.request_stop()
        assert isinstance(consumer.error(), OutOfRangeError)


def test_a_batch_that_does_not_come_in_time_is_told() -> None:
    next_batch = batch(FIFOQueue(1), 2)
    with pytest.raises(DeadlineExceededError):
        next_batch(timeout_s=0)


def test_who_forgot_to_start_the_runners_is_told_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, make: Callable[..., NextBatch]
) -> None:
    clock = HandClock()
    monkeypatch.setattr(batching, "MONOTONIC", clock)
    next_batch = make(FIFOQueue(1), 2)
    with caplog.at_level(logging.WARNING, "headrace"):
        consumer = Background(next_batch)
        waiting(next_batch.queue, consumers=1)
        clock.move(5.1)
        while not caplog.records:
            waiting(next_batch.queue, consumers=1)
        next_batch.queue.close()
        assert isinstance(consumer.error(), OutOfRangeError)
    assert "1 runner is registered for this queue and was never started: call start_queue_runners" in caplog.text


def test_before_the_first_example_nobody_knows_what_examples_look_like() -> None:
    next_batch = batch(FIFOQueue(1), 2)
    with pytest.raises(InvalidArgumentError, match="before the first example"):
        next_batch.queue.dequeue_many(0)


def test_a_seed_and_one_thread_give_the_same_batches() -> None:
    def batches(seed: int) -> list[list[int]]:
        with scope():
            next_batch = shuffle_batch(numbers_to(40), 8, capacity=40, min_after_dequeue=39, seed=seed)
            with started():
                return [found.tolist() for found in everything_from(next_batch)]

    assert batches(1) == batches(1)
    assert batches(1) != batches(2)
