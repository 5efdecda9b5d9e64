"""What goes into a queue and what comes out: dtypes, shapes, names, and stacking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.unit.queues.background import Background

from headrace.errors import InvalidArgumentError, OutOfRangeError
from headrace.queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue


def through(queue: QueueBase, vals: Any) -> Any:
    queue.enqueue(vals)
    return queue.dequeue()


def one(dtype: Any, value: Any, shape: Any = None) -> Any:
    return through(FIFOQueue(1, dtype, shapes=None if shape is None else [shape], name="q"), (value,))


# ---- without dtypes


def test_without_dtypes_any_structure_goes_through_as_it_is() -> None:
    for element in [7, "text", None, (1, 2), (7,), [1, 2], {"a": 1}, object()]:
        assert through(FIFOQueue(1), element) == element
    assert_array_equal(through(FIFOQueue(1), np.arange(3)), [0, 1, 2])


@pytest.mark.parametrize("dtypes", [None, np.int64], ids=["any", "typed"])
def test_who_has_enqueued_an_array_may_write_to_it_again(dtypes: Any) -> None:
    queue = FIFOQueue(9, dtypes)
    buffer = np.zeros(2, np.int64)
    for number in range(2):
        buffer[:] = number
        queue.enqueue((buffer,))
        queue.enqueue_many((buffer,))
    buffer[:] = 9
    taken = [np.ravel(queue.dequeue()).tolist() for _ in range(6)]
    assert taken == [[0, 0], [0], [0], [1, 1], [1], [1]]


def test_what_is_enqueued_in_a_dict_or_a_list_is_copied_as_well() -> None:
    queue = FIFOQueue(9)
    element = {"a": [np.zeros(2)]}
    queue.enqueue(element)
    element["a"][0][:] = 9
    element["a"].append(np.ones(1))
    taken = queue.dequeue()
    assert len(taken["a"]) == 1
    assert taken["a"][0].tolist() == [0.0, 0.0]


def test_without_dtypes_elements_are_stacked_as_they_fit() -> None:
    queue = FIFOQueue(9)
    queue.enqueue_many((np.arange(4), {"text": ["a", "b", "c", "d"]}))
    assert queue.size() == 4
    assert queue.dequeue() == (0, {"text": "a"})
    numbers, texts = queue.dequeue_many(3)
    assert_array_equal(numbers, [1, 2, 3])
    assert texts["text"].tolist() == ["b", "c", "d"]


def test_elements_that_do_not_fit_together_are_not_lost() -> None:
    queue = FIFOQueue(9)
    queue.enqueue(np.zeros(2))
    queue.enqueue(np.zeros(3))
    with pytest.raises(InvalidArgumentError, match="shapes differ"):
        queue.dequeue_many(2)
    assert queue.dequeue().shape == (2,)
    assert queue.dequeue().shape == (3,)


def test_without_dtypes_no_elements_have_no_look() -> None:
    with pytest.raises(InvalidArgumentError, match="0 elements"):
        FIFOQueue(1).dequeue_many(0)


# ---- dtypes


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("int32", 5, np.int32(5)),
        ("int64", 5, 5),
        ("float64", 2.5, 2.5),
        ("float32", 1, np.float32(1)),
        ("float32", np.float64(0.5), np.float32(0.5)),
        ("int32", np.int64(7), np.int32(7)),
        ("uint8", 255, np.uint8(255)),
        ("int64", True, 1),
        (bool, True, True),
        (str, "a", "a"),
        (str, np.str_("b"), "b"),
        (bytes, b"a", b"a"),
        (object, None, None),
    ],
)
def test_a_value_becomes_what_its_dtype_says(dtype: Any, value: Any, expected: Any) -> None:
    got = one(dtype, value)
    assert got == expected
    assert isinstance(got, type(expected))


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("int32", 1.5, "expected int32, got float64"),
        ("int32", np.float32(1), "expected int32, got float32"),
        ("int32", 2**40, "does not fit int32"),
        ("int64", 2**70, "does not fit int64"),
        ("uint8", -1, "does not fit uint8"),
        ("int32", "a", "expected int32"),
        ("float32", [[1.0], [2.0, 3.0]], "no array"),
        (str, 3, "expected str, got int"),
        (str, ["a", 3], "expected str, got int"),
        (str, b"a", "expected str, got bytes"),
        (bytes, "a", "expected bytes, got str"),
    ],
)
def test_a_value_that_would_be_changed_is_refused_and_its_component_named(dtype: Any, value: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"FIFOQueue 'q', component 0: .*{message}"):
        one(dtype, value)


def test_arrays_become_what_their_dtype_says() -> None:
    assert one("float32", [1, 2]).dtype == np.float32
    assert one("int8", []).dtype == np.int8
    texts = one(str, np.array([["a", "b"]]))
    assert texts.dtype == object
    assert texts.tolist() == [["a", "b"]]


# ---- shapes


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]]])
def test_a_shape_that_is_not_the_components_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"component 0: expected shape \(2,\), got"):
        one("float32", value, shape=(2,))


def test_enqueue_many_checks_every_component_and_puts_nothing_in_when_one_is_wrong() -> None:
    queue = FIFOQueue(9, ["int64", "float32"], shapes=[(), (2,)])
    for vals, message in [
        (([1, 2], np.zeros((2, 3))), r"component 1: expected shape \(2,\)"),
        (([1, 2], np.zeros((3, 2))), "component 1 has 3 elements, but the first has 2"),
        ((1, np.zeros((3, 2))), "component 0: enqueue_many takes elements along the first axis"),
        (([1, 2],), "expected 2 components, got 1"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message):
            queue.enqueue_many(vals)
    assert queue.size() == 0


def test_a_bare_list_is_components_as_in_tensorflow() -> None:
    queue = FIFOQueue(9, "float32", shapes=[(2,)])
    with pytest.raises(InvalidArgumentError, match=r"expected 1 components, got 2; .* \[value\]"):
        queue.enqueue([1.0, 2.0])
    queue.enqueue([[1.0, 2.0]])
    queue.enqueue(np.array([3.0, 4.0]))
    assert_array_equal(queue.dequeue_many(2), [[1, 2], [3, 4]])


def test_dequeue_many_of_typed_elements_needs_their_shapes() -> None:
    queue = FIFOQueue(9, "int64")
    queue.enqueue(1)
    for dequeue in (queue.dequeue_many, queue.dequeue_up_to):
        with pytest.raises(InvalidArgumentError, match="need the shapes"):
            dequeue(1)
    assert queue.size() == 1


def test_no_elements_have_the_shape_of_any_number_of_them() -> None:
    queue = FIFOQueue(9, ["int32", str], shapes=[(2,), ()])
    queue.close()
    numbers, texts = queue.dequeue_many(0)
    assert (numbers.shape, numbers.dtype) == ((0, 2), np.int32)
    assert (texts.shape, texts.dtype) == ((0,), object)


# ---- names


def test_named_components_are_dicts() -> None:
    queue = FIFOQueue(9, ["int64", "int64"], shapes=[(), ()], names=["a", "b"])
    assert through(queue, {"b": 2, "a": 1}) == {"a": 1, "b": 2}
    queue.enqueue_many({"a": [1, 2], "b": [3, 4]})
    assert_array_equal(queue.dequeue_many(2)["b"], [3, 4])
    assert queue.names == ["a", "b"]


def test_a_dict_and_names_go_together() -> None:
    named = FIFOQueue(9, ["int64", "int64"], names=["a", "b"])
    for vals, message in [
        ((1, 2), "enqueue a dict"),
        ({"a": 1}, r"keys \['a'\]"),
        ({"a": 1, "b": 2, "c": 3}, "are not its names"),
        ({"a": 1, "b": 2.5}, "component 'b': expected int64"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message):
            named.enqueue(vals)
    with pytest.raises(InvalidArgumentError, match="has no names"):
        FIFOQueue(9, "int64").enqueue({"a": 1})


def test_one_component_is_named_by_a_bare_name() -> None:
    assert through(FIFOQueue(1, "int64", names="a"), {"a": 1}) == {"a": 1}


# ---- what constructors refuse


@pytest.mark.parametrize(
    "arguments",
    [
        (3, "int32", [(), ()]),
        (3, "int32", [(None,)]),
        (3, "int32", None, ["a", "b"]),
        (3, None, None, ["a"]),
        (3, None, [()]),
        (0, "int32"),
        (-1, "int32"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="FIFOQueue 'fifo_queue'"):
        FIFOQueue(*arguments)


def test_shapes_that_are_no_list_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="shapes must be"):
        FIFOQueue(3, "int32", shapes=3)


def test_an_int_among_shapes_is_the_shape_of_a_vector() -> None:
    assert FIFOQueue(10, ("int32", "int32"), shapes=((), 2)).shapes == [(), (2,)]
    assert RandomShuffleQueue(10, 1, ["int32", str], shapes=[(), np.int64(2)]).shapes == [(), (2,)]
    assert PriorityQueue(10, ["int32", "int32"], shapes=[(), 3]).shapes == [(), (), (3,)]
    assert FIFOQueue(10, "int32", shapes=[2]).shapes == [(2,)]


@pytest.mark.parametrize("shapes", [[(2,), 1.5], [(), "ab"], [(), [1.5]]])
def test_what_is_no_shape_among_shapes_is_a_type_error_that_names_the_argument(shapes: Any) -> None:
    with pytest.raises(TypeError, match="'rows': a shape in shapes must be a tuple of sizes"):
        FIFOQueue(3, ["int32", "int32"], shapes=shapes, name="rows")


def test_shapes_are_there_for_all_components_or_for_none() -> None:
    with pytest.raises(InvalidArgumentError, match="a shape for each component, or is None for all"):
        FIFOQueue(3, ["int32", "int32"], shapes=[None, (2,)])


@pytest.mark.parametrize("shapes", [None, [None], (None,), [3], [(3,), (4,)]])
def test_a_padding_queue_needs_a_list_of_shapes(shapes: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        PaddingFIFOQueue(3, ["int32"], shapes)


def test_the_components_can_be_asked_for() -> None:
    queue = FIFOQueue(3, ["int32", str], shapes=[(2,), ()])
    assert (queue.dtypes, queue.shapes, queue.names) == ([np.int32, str], [(2,), ()], None)
    assert (FIFOQueue(3).dtypes, FIFOQueue(3).shapes, FIFOQueue(3).names) == (None, None, None)
    assert FIFOQueue(3, ["int32"]).shapes == [None]


# ---- padding


def test_arrays_of_several_sizes_are_padded_at_the_end_to_the_largest() -> None:
    queue = PaddingFIFOQueue(5, ["int32", str], shapes=[(None,), (None, 2)])
    queue.enqueue(([1, 2], np.array([["a", "b"]])))
    queue.enqueue(([3], np.array([["c", "d"], ["e", "f"]])))
    numbers, texts = queue.dequeue_many(2)
    assert_array_equal(numbers, [[1, 2], [3, 0]])
    assert texts.tolist() == [[["a", "b"], ["", ""]], [["c", "d"], ["e", "f"]]]
    assert numbers.dtype == np.int32


def test_a_padding_queue_still_checks_rank_and_fixed_sizes() -> None:
    queue = PaddingFIFOQueue(5, ["int32"], shapes=[(None, 2)])
    for value in ([1, 2], [[1]], [[[1, 2]]]):
        with pytest.raises(InvalidArgumentError, match=r"expected shape \(None, 2\)"):
            queue.enqueue((value,))
    queue.close()
    assert queue.dequeue_many(0).shape == (0, 0, 2)


def test_padding_queues_are_filled_by_many_and_emptied_by_one() -> None:
    queue = PaddingFIFOQueue(5, ["float64", "int64"], shapes=[(None,), ()])
    queue.enqueue_many((np.ones((2, 3)), [1, 2]))
    first, number = queue.dequeue()
    assert_array_equal(first, [1, 1, 1])
    assert number == 1


# ---- priorities


def test_the_smallest_priority_comes_first_and_equals_as_they_came() -> None:
    queue = PriorityQueue(9, [str], shapes=[()])
    for priority, text in [(3, "c"), (1, "a"), (2, "b"), (1, "a2"), (1, "a3")]:
        queue.enqueue((priority, text))
    priorities, texts = queue.dequeue_many(5)
    assert_array_equal(priorities, [1, 1, 1, 2, 3])
    assert texts.tolist() == ["a", "a2", "a3", "b", "c"]


def test_more_than_the_capacity_of_a_priority_queue_comes_sorted() -> None:
    queue = PriorityQueue(2, [])
    get = Background(lambda: queue.dequeue_many(5))
    queue.enqueue_many([[5, 1, 4, 2, 3]])
    assert get.result().tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("vals", ["x", (np.array([1, 2]), "x"), (1.5, "x")])
def test_a_priority_is_one_integer(vals: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        PriorityQueue(9, [str], shapes=[()]).enqueue(vals)
    with pytest.raises(InvalidArgumentError, match="begins with its priority"):
        PriorityQueue(9).enqueue(vals)


def test_a_priority_queue_names_all_its_components() -> None:
    queue = PriorityQueue(9, [str], names=["rank", "text"])
    assert through(queue, {"text": "a", "rank": 3}) == {"rank": 3, "text": "a"}
    with pytest.raises(InvalidArgumentError, match="2 dtypes, but 1 names"):
        PriorityQueue(9, [str], names=["text"])


def test_a_priority_queue_without_types_takes_tuples() -> None:
    queue = PriorityQueue(9)
    payload = object()
    queue.enqueue((2, payload))
    queue.enqueue_many(([1, 3], ["a", "b"]))
    assert queue.dequeue() == (1, "a")
    assert queue.dequeue() == (2, payload)


# ---- from_list


def test_one_of_several_queues_is_chosen_by_its_number() -> None:
    queues = [FIFOQueue(2, "int32"), FIFOQueue(3, "int32")]
    assert QueueBase.from_list(1, list(queues)) is queues[1]


@pytest.mark.parametrize(
    "queues",
    [
        [],
        (FIFOQueue(2, "int32"),),
        ["no queue"],
        [FIFOQueue(2, "int32"), FIFOQueue(2, "int64")],
        [FIFOQueue(2, "int32"), FIFOQueue(2, "int32", names=["a"])],
    ],
)
def test_queues_that_do_not_hold_the_same_are_a_type_error(queues: Any) -> None:
    with pytest.raises(TypeError):
        QueueBase.from_list(0, queues)


def test_a_closed_queue_says_in_tensorflows_words_what_is_missing() -> None:
    queue = FIFOQueue(2, "int32", shapes=[()], name="rows")
    queue.close()
    message = r"FIFOQueue 'rows' is closed and has insufficient elements \(requested 3, current size 0\)"
    with pytest.raises(OutOfRangeError, match=message):
        queue.dequeue_up_to(3)


@pytest.mark.parametrize("items", [[{1}, {2}], (None, 1), [np.arange(2), np.arange(3)], [[1], [2, 3]]])
def test_each_item_of_a_list_is_an_element_where_the_dtype_is_object(items: Any) -> None:
    queue = FIFOQueue(capacity=9, dtypes=[object])
    queue.enqueue_many([items])
    for item in items:
        np.testing.assert_equal(queue.dequeue(), item)


@pytest.mark.parametrize("dtype", [str, bytes])
def test_none_is_no_text(dtype: type) -> None:
    queue = FIFOQueue(capacity=9, dtypes=[dtype])
    with pytest.raises(InvalidArgumentError, match="got NoneType"):
        queue.enqueue_many([[None, dtype()]])
