"""Attrs classes as elements, in every place where structure goes."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import headrace as hr
from headrace.testing.restoring import check_every_restore_point, same

data = hr.Dataset
INT = hr.TensorSpec((), "int64")


@attrs.define
class Row:
    x: Any
    _y: Any


def rows(count: int = 4) -> hr.Dataset:
    return data.from_tensor_slices(Row([*range(count)], [[n] for n in range(count)]))


PLACES: dict[str, tuple[Callable[[], hr.Dataset], list[Any]]] = {
    "from_tensors": (lambda: data.from_tensors(Row([1], "a")), [Row(np.array([1]), "a")]),
    "from_tensor_slices": (lambda: rows(2), [Row(0, np.array([0])), Row(1, np.array([1]))]),
    "zip": (lambda: data.zip(Row(data.range(2), data.range(5, 9))), [Row(0, 5), Row(1, 6)]),
    "map": (lambda: data.range(2).map(lambda n: Row(n, str(n))), [Row(0, "0"), Row(1, "1")]),
    "batch": (lambda: rows().batch(4), [Row(np.arange(4), np.arange(4).reshape(4, 1))]),
    "padded_batch": (
        lambda: rows(1).padded_batch(1, padded_shapes=Row([], [2]), padding_values=Row(0, -1)),
        [Row(np.array([0]), np.array([[0, -1]]))],
    ),
    "unbatch": (lambda: rows(1).batch(1).unbatch(), [Row(0, np.array([0]))]),
    "scan": (lambda: data.range(2).scan(Row(0, 1), lambda s, n: (Row(s.x + n, s._y), s)), [Row(0, 1), Row(0, 1)]),
    "generator": (
        lambda: data.from_generator(lambda: iter([Row(1, (2, 3))]), Row("int64", "int8"), Row((), (2,))),
        [Row(1, np.array([2, 3], np.int8))],
    ),
    "dicts inside": (lambda: data.range(1).map(lambda n: Row({"a": n}, Row(n, n))), [Row({"a": 0}, Row(0, 0))]),
}


@pytest.mark.parametrize("place", sorted(PLACES))
def test_an_attrs_class_is_structure(place: str) -> None:
    build, expected = PLACES[place]
    came = list(build())
    assert len(came) == len(expected)
    assert all(map(same, came, expected)), came
    check_every_restore_point(build(), executors=("thread", "inline"))


def test_an_attrs_class_of_specifications_is_the_element_spec() -> None:
    assert rows().batch(3).element_spec == Row(hr.TensorSpec((None,), int), hr.TensorSpec((None, 1), int))
    assert rows().element_spec == Row(INT, hr.TensorSpec((1,), int))


def test_an_attrs_class_is_reduced_cached_saved_and_loaded(tmp_path: pathlib.Path) -> None:
    assert data.range(4).reduce(Row(0, 1), lambda s, n: Row(s.x + n, s._y * 2)) == Row(6, 16)
    cached = rows().cache(tmp_path / "cache")
    for _ in range(2):
        assert all(map(same, cached, rows()))
    rows().save(tmp_path / "saved")
    assert all(map(same, data.load(tmp_path / "saved", element_spec=rows().element_spec), rows()))
