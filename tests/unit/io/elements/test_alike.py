"""Elements that are taken in at once are what they are one by one."""

from __future__ import annotations

import enum
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.elements.structure import Element
from headrace.errors import InvalidArgumentError
from headrace.io.elements.shards import ShardWriter
from headrace.io.elements.writer import StorableRows

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024 - the class that programs have


class Colour(enum.IntEnum):
    RED = 1


LEAVES = [
    1, -7, 1 << 62, 1 << 63, True, 0.5, float("nan"), 1j, "one", "two", b"x", "", None, Colour.RED, object(), np.int64(3), np.int32(3),
    np.float64(2), np.bool_(True), np.str_("one"), np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00:00:01"),
    np.arange(3), np.arange(4), np.arange(3, dtype=">i4"), np.arange(3, dtype="<i4"), np.ones((2, 2)), np.array(5), np.array(["a", "b"]),
    np.array(["a", b"b"], object), np.array([], np.int64), np.ma.masked_array([1, 2], [True, False]), [1, 2, 3],
]  # fmt: skip
SHAPES: list[Callable[[Any, Any], Element]] = [
    lambda one, other: one,
    lambda one, other: (one, other),
    lambda one, other: {"a": one, "b": other},
    lambda one, other: {"b": other, "a": one},
    lambda one, other: {1: one, "b": other},
    lambda one, other: {"a": {"c": one, "d": other}},
    lambda one, other: {"a": {"d": other, "c": one}},
    lambda one, other: ({"a": one, "b": other}, (other, one)),
    lambda one, other: ({"b": other, "a": one}, (other, one)),
    lambda one, other: (one, {"x": one, "y": other}),
    lambda one, other: (one, {"y": other, "x": one}),
    Point,
    lambda one, other: Point({"a": one, "b": other}, 1),
    lambda one, other: Point({"b": other, "a": one}, 1),
]


def one_by_one(rows: Sequence[Element]) -> StorableRows | None:
    storable = StorableRows()
    try:
        for row in rows:
            storable.append(row)
    except InvalidArgumentError:
        return None
    return storable


def written(rows: StorableRows) -> list[Any]:
    segments = rows.segments()
    return [(structure, count, columns, b"".join(buffers.parts)) for structure, count, columns, buffers in segments]


def check(rows: list[Element]) -> bool:
    """Compares all at once with one by one, after an element that is like the first; returns whether they were taken in at once."""
    at_once, expected = one_by_one(rows[:1]), one_by_one([rows[0], *rows])
    if at_once is None:
        assert not StorableRows().extend(rows)
        return False
    before = written(at_once)
    if not at_once.extend(rows):
        assert written(at_once) == before
        return False
    assert expected is not None
    assert (at_once.count, at_once.nbytes) == (expected.count, expected.nbytes)
    assert written(at_once) == written(expected)
    return True


@pytest.mark.parametrize("shape", [SHAPES[0], SHAPES[1], SHAPES[7], Point], ids=range(4))
def test_any_two_leaves_are_written_at_once_as_one_by_one(shape: Callable[[Any, Any], Element]) -> None:
    taken = [check([shape(one, 1), shape(other, 1), shape(one, 1)]) for one in LEAVES for other in LEAVES]
    assert any(taken)


def test_any_two_structures_are_written_at_once_as_one_by_one() -> None:
    taken = [check([one(1, 2.5), other(1, 2.5), one(1, 2.5)]) for one in SHAPES for other in SHAPES]
    assert taken.count(True) >= len(SHAPES)


@pytest.mark.parametrize(
    "row",
    [3, 0.5, "text", b"data", np.float32(2), np.arange(3), (1, "a"), {"x": np.ones(2), "y": 1}, {"a": {"b": (1, 2)}}],
    ids=str,
)
def test_what_most_programs_write_is_taken_in_at_once(row: Element) -> None:
    rows = StorableRows()
    assert rows.extend([row, row, row])
    assert rows.count == 3


class Recording(ShardWriter):
    """A writer that notes how many elements came at once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.at_once: list[int] = []

    def add(self, elements: Sequence[Element], shard: int = 0) -> None:
        self.at_once.append(len(elements))
        super().add(elements, shard)


def test_small_elements_are_taken_in_together_and_large_ones_one_by_one(tmp_path: Path) -> None:
    with Recording(tmp_path) as writer:
        writer.add_all(range(5_000))
        assert max(writer.at_once) == 1024
        writer.at_once.clear()
        writer.add_all(np.zeros(1 << 17, np.uint8) for _ in range(5))
        assert writer.at_once == [1] * 5


def test_what_cannot_be_saved_is_told_before_an_error_after_it(tmp_path: Path) -> None:
    def elements() -> Iterator[Any]:
        yield from range(5)
        yield object()
        yield 6
        raise RuntimeError("after it")

    with pytest.raises(InvalidArgumentError, match="element 5: an object of type object"):
        hr.Dataset.from_generator(elements).save(tmp_path / "saved")
