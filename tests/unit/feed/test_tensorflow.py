"""Datasets as TensorFlow's: every element comes as it is, or is an error; none is cast or lost."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError

tf = pytest.importorskip("tensorflow")

D = hr.Dataset
Pair = collections.namedtuple("Pair", "a b")  # noqa: PYI024 - typed, it would be the same to both


@dataclasses.dataclass
class Example:
    """An element of a class."""

    a: Any


def plain(element: Any) -> Any:
    return tf.nest.map_structure(lambda leaf: np.asarray(leaf.numpy()).tolist(), element)


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.range(5).batch(2).map(lambda b: b * 2),
        lambda: D.range(4).flat_map(lambda i: D.range(int(i) + 1).batch(2)),
        lambda: D.range(4).interleave(lambda i: D.range(int(i) + 1).batch(2), cycle_length=2),
        lambda: D.range(4).flat_map(lambda i: D.range(6).batch(int(i) + 1, drop_remainder=True)),
        lambda: D.range(1, 7).map(lambda i: np.ones(int(i))).padded_batch(2),
        lambda: D.range(1, 7).map(lambda i: np.ones((int(i), 2), np.float32)),
        lambda: D.from_generator(lambda: iter([np.ones(1), np.ones(3)])),
        lambda: D.source([np.ones(2), np.ones(3)]),
        lambda: D.range(4).map(lambda i: {"b": "é" * int(i), "a": Pair(i, (b"x",))}),
        lambda: D.range(3).map(lambda i: np.arange(i).astype(">i4")),
        lambda: D.range(3).map(lambda i: np.array(["a"] * int(2 - i), object)),
    ],
    ids=[
        "batch-map",
        "flat_map",
        "interleave",
        "flat_map-exact",
        "padded_batch",
        "map-rows",
        "from_generator",
        "source",
        "texts",
        "big-endian",
        "empty-texts",
    ],
)
def test_every_element_arrives_whatever_its_sizes_are(make: Callable[[], Any]) -> None:
    expected = [tf.nest.map_structure(lambda leaf: np.asarray(leaf).tolist(), element) for element in make()]
    encoded = tf.nest.map_structure(lambda leaf: leaf.encode() if isinstance(leaf, str) else leaf, expected)
    assert [plain(element) for element in make().to_tensorflow()] == encoded


def test_what_the_operations_tell_is_kept() -> None:
    known = D.range(7).batch(3, drop_remainder=True).to_tensorflow()
    assert known.element_spec == tf.TensorSpec((3,), tf.int64)
    behind = D.range(7).map(lambda i: np.ones(2)).batch(3, drop_remainder=True).to_tensorflow()
    assert behind.element_spec == tf.TensorSpec((3, None), tf.float64)


@pytest.mark.parametrize(
    ("function", "has", "expected"),
    [
        (lambda i: 0 if i == 0 else 1 / int(i), "float64", "int64"),
        (lambda i: np.int8(0) if i == 0 else np.int64(300), "int64", "int8"),
        (lambda i: np.zeros((1,) * (int(i) + 1)), r"\(1, 1\)", r"\(None,\)"),
        (lambda i: {"x": int(i)} if i == 0 else {"y": int(i)}, "y", "x"),
        (lambda i: 1 if i == 0 else "one", "str", "int64"),
        (lambda i: np.datetime64("2020-01-01") if i else np.int64(1), "datetime64", "int64"),
    ],
    ids=["fraction", "wider", "rank", "structure", "text", "date"],
)
def test_an_element_that_is_something_else_is_an_error_that_says_what(
    function: Callable[[Any], Any], has: str, expected: str
) -> None:
    iterator = iter(D.range(3).map(function).to_tensorflow())
    next(iterator)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"element 1 .*{has}.*where .*{expected}.* was expected"):
        next(iterator)


@pytest.mark.parametrize(
    ("leaf", "says"),
    [
        (2**63, "does not fit int64"),
        (-(2**63) - 1, "does not fit int64"),
        (np.ma.array(1, mask=True), "mask would be lost"),
    ],
)
def test_what_tensorflow_would_make_something_else_of_is_an_error(leaf: Any, says: str) -> None:
    iterator = iter(
        D.range(3).map(lambda i: {"a": leaf if i == 1 else np.array(1) if np.ma.isMA(leaf) else 1}).to_tensorflow()
    )
    next(iterator)
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"component \['a'\] of element 1 .*{says}"):
        next(iterator)


def test_a_signature_is_taken_from_headrace_or_tensorflow_and_held() -> None:
    rows = D.range(3).map(lambda i: (np.zeros((1,) * (int(i) + 1)), i))
    for spec in (
        (hr.TensorSpec(None, "float64"), hr.TensorSpec((), "int64")),
        (tf.TensorSpec(None, tf.float64), tf.TensorSpec((), tf.int64)),
    ):
        assert [row.shape.rank for row, _ in rows.to_tensorflow(output_signature=spec)] == [1, 2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"component \[1\] of element 0 .* output_signature says"):
        list(rows.to_tensorflow((tf.TensorSpec(None, tf.float64), tf.TensorSpec((), tf.float32))))
    assert not list(D.range(0).map(lambda i: i).to_tensorflow(tf.TensorSpec((), tf.int64)))
    with pytest.raises(InvalidArgumentError, match="is a list"):
        rows.to_tensorflow([tf.TensorSpec(None, tf.float64)])


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_small_floats_are_tensorflows(name: str) -> None:
    dtype = getattr(pytest.importorskip("ml_dtypes"), name)
    (got,) = D.from_tensors(np.array([1, 2], dtype)).to_tensorflow()
    assert got.dtype == tf.as_dtype(name)
    assert got.numpy().astype(float).tolist() == [1, 2]


def test_ragged_batches_are_ragged_tensors() -> None:
    rows = D.range(5).map(lambda i: np.arange(int(i))).ragged_batch(2).map(lambda r: (r, len(r)))
    got = [(ragged.to_list(), int(count)) for ragged, count in rows.to_tensorflow()]
    assert got == [([[], [0]], 2), ([[0, 1], [0, 1, 2]], 2), ([[0, 1, 2, 3]], 1)]
    spec = (tf.RaggedTensorSpec((None, None), tf.int64, 1, tf.int64), tf.TensorSpec((), tf.int64))
    assert [(ragged.to_list(), int(count)) for ragged, count in rows.to_tensorflow(spec)] == got


@pytest.mark.parametrize(
    ("element", "says"),
    [
        (Example(1), "a Example, which is no structure"),
        ((1, None), r"component \[1\] is None"),
        ({"a": np.datetime64("2020-01-01")}, r"component \['a'\] is .*datetime64.*no tensor"),
        ({"a": object()}, r"component \['a'\] is .*object.*no tensor"),
    ],
    ids=["class", "None", "date", "object"],
)
def test_what_tensorflow_cannot_hold_is_named(element: Any, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        D.range(1).map(lambda _: element).to_tensorflow()


def test_the_cardinality_is_the_datasets() -> None:
    assert D.range(5).batch(2).to_tensorflow().cardinality() == 3
    assert D.range(5).repeat().to_tensorflow().cardinality() == tf.data.INFINITE_CARDINALITY
    assert D.range(5).filter(lambda i: i > 2).to_tensorflow().cardinality() == tf.data.UNKNOWN_CARDINALITY
    skipping = D.range(5).map(lambda i: 1 // int(i), on_error="skip")
    assert len(list(skipping.to_tensorflow())) == 4
    assert len(list(D.range(0).to_tensorflow())) == 0
