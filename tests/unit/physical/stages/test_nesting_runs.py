"""Datasets of sources in memory that a function makes of elements, whose elements are made together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.laws.running import REFERENCE, Way, assert_same, elements_of, history, resumed, some_of

import headrace as hr
from headrace.physical.stages.nesting_openers import NestingPaces
from headrace.physical.stages.nesting_runs import DatasetRun, DatasetRuns

AT_ONCE = Way(hr.Options(seed=7), block_sizes=(1000,))


def _with_itself(dataset: hr.Dataset) -> hr.Dataset:
    return hr.Dataset.zip(dataset, dataset)


FUNCTIONS: dict[str, Callable[[int], hr.Dataset]] = {
    "ranges of one length": lambda x: hr.Dataset.range(3),
    "ranges of several lengths": lambda x: hr.Dataset.range(x, 2 * x % 5 + x + 1),
    "ranges, some without elements": lambda x: hr.Dataset.range(x % 3),
    "ranges of two dtypes": lambda x: hr.Dataset.range(3, output_type=np.int32 if x % 5 == 4 else np.int64),
    "slices of several lengths": lambda x: hr.Dataset.from_tensor_slices(np.arange(x % 4 + 1) + x),
    "rows": lambda x: hr.Dataset.from_tensor_slices(np.full((x % 3 + 1, 2), x, np.float32)),
    "rows of two shapes": lambda x: hr.Dataset.from_tensor_slices(np.full((2, 2 + x // 4 % 2), x)),
    "texts": lambda x: hr.Dataset.from_tensor_slices(["é" * y for y in range(x % 4 + 1)]),
    "texts and bytes": lambda x: hr.Dataset.from_tensor_slices([b"a", b"b"] if x % 4 == 3 else ["a", "b", "c"]),
    "texts and none": lambda x: hr.Dataset.from_tensor_slices(["a", "b", "c", "d", "e"][: x % 3]),
    "dicts": lambda x: hr.Dataset.from_tensor_slices({"b": np.arange(3), "a": np.full((3, 2), x)}),
    "dicts in two orders": lambda x: hr.Dataset.from_tensor_slices(
        {"a": np.arange(2), "b": np.arange(2)} if x % 2 else {"b": np.arange(2), "a": np.arange(2)}
    ),
    "batches of ranges of two lengths": lambda x: hr.Dataset.range(2 + x // 5 % 2).batch(2),
    "pairs": lambda x: hr.Dataset.zip((hr.Dataset.range(3), hr.Dataset.from_tensor_slices([x, x, x]))),
    "one many times": lambda x: hr.Dataset.from_tensors(x).repeat(3),
    "one several times": lambda x: hr.Dataset.from_tensors(x).repeat(x % 4),
    "ranges several times": lambda x: hr.Dataset.range(2).repeat(x % 3 + 1),
    "one, an array": lambda x: hr.Dataset.from_tensors(np.full(2, x)),
    "an array many times": lambda x: hr.Dataset.from_tensors(np.full(2, x)).repeat(3),
    "batches of one many times": lambda x: hr.Dataset.from_tensors(x).repeat(4).batch(2),
    "a dict many times": lambda x: hr.Dataset.from_tensors({"a": x}).repeat(3),
    "maps, each with a value of its own": lambda x: hr.Dataset.range(3).map(lambda y: x + y),
    "maps of pairs": lambda x: hr.Dataset.from_tensor_slices((np.arange(2), np.full((2, 2), x))).map(
        lambda a, b: (b, a)
    ),
    "maps of slices, batched": lambda x: hr.Dataset.from_tensor_slices([x, 2, 3, 4]).map(lambda y: y + 1).batch(2),
    "maps of batches": lambda x: hr.Dataset.range(x, x + 4).batch(2).map(np.sum),
    "maps that fail": lambda x: hr.Dataset.range(4).map(lambda y: 12 // ((x + y) % 4)).batch(2),
    "maps that fail, and say what instead": lambda x: hr.Dataset.range(4).map(
        lambda y: 12 // ((x + y) % 4), on_error=lambda error: x if x % 3 else None
    ),
    "maps whose batches fail": lambda x: hr.Dataset.range(4).map(lambda y: np.zeros(y // 2 + x % 2 * y % 2)).batch(2),
    "maps of two codes": lambda x: hr.Dataset.range(2).map((lambda y: x - y) if x % 3 else (lambda y: x * y)),
    "maps by a method": lambda x: hr.Dataset.range(3).map(x.__add__),
    "maps by one function": lambda x: hr.Dataset.from_tensor_slices([x, -x]).map(abs),
    "maps by partials": lambda x: hr.Dataset.range(3).map(functools.partial(max, x % 3)),
    "maps that skip": lambda x: hr.Dataset.range(3).map(lambda y: 12 // (x % 3 - y), on_error="skip"),
    "maps of maps": lambda x: hr.Dataset.range(3).map(lambda y: x + y).map(lambda y: -y),
    "maps, again": lambda x: hr.Dataset.range(2).map(lambda y: [x, y]).repeat(2),
    "maps, some left out": lambda x: hr.Dataset.range(4).map(lambda y: {"x": x, "y": y}).skip(1).take(2),
    "batches of which the last is short": lambda x: hr.Dataset.range(x, x + 5).batch(2),
    "padded batches of which the last is short": lambda x: (
        hr.Dataset.range(5).map(lambda y: np.arange((x + y) % 3)).padded_batch(2)
    ),
    "ragged batches, the last dropped": lambda x: (
        hr.Dataset.range(5).map(lambda y: np.arange((x + y) % 3)).ragged_batch(2, drop_remainder=True)
    ),
    "batches of dicts of which the last is short": lambda x: hr.Dataset.from_tensor_slices(
        {"a": np.arange(3), "b": np.full((3, 2), x)}
    ).batch(2),
    "batches of texts of which the last is short": lambda x: hr.Dataset.from_tensor_slices(["a", "b", "c"]).batch(2),
    "batches of batches, short ones": lambda x: hr.Dataset.range(7).batch(2).batch(2),
    "filters, each with a value of its own": lambda x: hr.Dataset.range(4).filter(lambda y: y % (x % 3 + 1) == 0),
    "filters that leave nothing of some": lambda x: hr.Dataset.range(3).filter(lambda y: x % 2 == 0),
    "filters that leave nothing": lambda x: hr.Dataset.range(3).filter(lambda y: y > x + 3),
    "filters of pairs": lambda x: hr.Dataset.from_tensor_slices((np.arange(4), np.full((4, 2), x))).filter(
        lambda a, b: int(a) % 2 == b[0] % 2
    ),
    "filters of dicts": lambda x: hr.Dataset.from_tensor_slices({"b": np.arange(4), "a": [x] * 4}).filter(
        lambda row: row.pop("b") != row["a"]
    ),
    "filters that fail": lambda x: hr.Dataset.range(4).filter(lambda y: 12 // ((x + y) % 4) > 4),
    "maps of filters of rows that fail": lambda x: (
        hr.Dataset.from_tensor_slices(np.arange(14).reshape(7, 2) + x)
        .filter(lambda row: 12 // (row[0] % 7) > 2 and row[0] % 5 > 0)
        .map(lambda row: row + 1)
    ),
    "maps of filters of dicts that fail": lambda x: (
        hr.Dataset.from_tensor_slices({"a": np.arange(14).reshape(7, 2) + x, "b": np.arange(7)})
        .filter(lambda row: 12 // (row.pop("b") % 4) > row["a"][0] % 11)
        .filter(lambda row: row["b"] != x % 4)
        .map(lambda row: row["a"])
    ),
    "filters, and batches of which the last is short": lambda x: (
        hr.Dataset.range(7).filter(lambda y: y % 2 == x % 2).batch(2)
    ),
    "filters, and whole batches": lambda x: (
        hr.Dataset.range(x % 4 + 1).filter(lambda y: y % 2 == 0).batch(2, drop_remainder=True)
    ),
    "filters of maps": lambda x: hr.Dataset.range(5).map(lambda y: {"x": x, "y": y}).filter(lambda row: row["y"] % 2),
    "filters of maps that are bools": lambda x: (
        hr.Dataset.range(5).map(lambda y: {"x": x, "y": y}).filter(lambda row: row["y"] % 2 == 0)
    ),
    "maps of filters of maps": lambda x: (
        hr.Dataset.range(5).map(lambda y: x + y).filter(lambda y: y % 3 > 0).map(lambda y: 12 // (y % 5))
    ),
    "maps of slices of several lengths": lambda x: (
        hr.Dataset.from_tensor_slices(list(range(x % 4 + 1))).map(lambda y: [x, y]).batch(2)
    ),
    "concatenated": lambda x: hr.Dataset.range(x % 3).concatenate(hr.Dataset.range(2)),
    "concatenated, of several lengths": lambda x: (
        hr.Dataset.range(x % 3 + 1).concatenate(hr.Dataset.range(5, 7)).concatenate(hr.Dataset.range(1)).batch(2)
    ),
    "concatenated maps": lambda x: hr.Dataset.range(2).map(abs).concatenate(hr.Dataset.range(x).map(abs)),
    "numbered": lambda x: hr.Dataset.from_tensor_slices(np.full((x % 3 + 1, 2), x)).enumerate(),
    "numbered from somewhere": lambda x: hr.Dataset.range(3).enumerate(x // 4).map(lambda number, y: number * y),
    "an array several times": lambda x: hr.Dataset.from_tensors({"a": np.full(2, x)}).repeat(x % 4),
    "a part of several lengths": lambda x: hr.Dataset.range(x % 5 + 1).take(3).repeat(2).skip(1),
    "parts of several lengths": lambda x: hr.Dataset.range(6).skip(x % 4).take(x % 3 + 1),
    "parts from somewhere": lambda x: hr.Dataset.from_tensor_slices(np.arange(9) + x).skip(x % 5).take(3).batch(2),
    "pairs of several lengths": lambda x: hr.Dataset.zip((hr.Dataset.range(x + 1), hr.Dataset.range(3))),
    "datasets inside": lambda x: hr.Dataset.range(2).flat_map(lambda y: hr.Dataset.range(x % 3).map(lambda z: y + z)),
    "parts of maps": lambda x: hr.Dataset.range(4).map(lambda y: 12 // (x % 7 + y - 2)).take(x % 3 + 1),
    "all of maps, and more": lambda x: hr.Dataset.range(3).map(lambda y: [x, y]).take(5).batch(2),
    "parts of filters": lambda x: hr.Dataset.range(6).filter(lambda y: y % (x % 3 + 1) == 0).skip(x % 3).take(2),
    "parts of batches of maps": lambda x: hr.Dataset.range(6).map(lambda y: x + y).batch(2).take(2),
    "numbered maps": lambda x: hr.Dataset.range(x % 3 + 1).map(lambda y: x * y).enumerate(1),
    "maps of numbered maps that fail": lambda x: (
        hr.Dataset.range(3)
        .map(lambda y: 4 // (x + y - 4))
        .enumerate()
        .map(lambda number, y: 12 // (number + y - x % 3))
    ),
    "maps of batches of filters": lambda x: (
        hr.Dataset.range(7).filter(lambda y: y % 3 != x % 3).batch(2).map(lambda batch: batch.sum() // (x - 7))
    ),
    "filters of batches of filters": lambda x: (
        hr.Dataset.range(8).filter(lambda y: y % 4 != x % 4).batch(2).filter(lambda batch: batch.sum() % 2 == x % 2)
    ),
    "maps of parts of filters that leave nothing": lambda x: (
        hr.Dataset.range(3).filter(lambda y: x % 4 == 1).skip(1).map(lambda y: x + y)
    ),
    "pairs of maps": lambda x: hr.Dataset.zip(
        hr.Dataset.range(3).map(lambda y: x + y), hr.Dataset.range(3).map(lambda y: 12 // (x % 5 - y))
    ),
    "pairs of maps of several lengths": lambda x: hr.Dataset.zip(
        hr.Dataset.range(x % 4 + 1).map(lambda y: x + y), hr.Dataset.range(3)
    ),
    "pairs of filters": lambda x: hr.Dataset.zip(
        {"b": hr.Dataset.range(4), "a": hr.Dataset.range(4).filter(lambda y: y % 3 == x % 3)}
    ),
    "pairs of filters of which one ends first": lambda x: hr.Dataset.zip(
        hr.Dataset.range(4).filter(lambda y: y % 2 == 0), hr.Dataset.range(4).filter(lambda y: 12 // (x % 6 - y) > 2)
    ),
    "maps, twice the same": lambda x: _with_itself(hr.Dataset.range(4).map(lambda y: 12 // (x % 7 - y))),
    "concatenated maps and filters": lambda x: (
        hr.Dataset.range(3)
        .map(lambda y: x - y)
        .concatenate(hr.Dataset.range(4).filter(lambda y: 12 // (x - y - 2) > 1))
        .batch(2)
    ),
    "datasets inside, some without elements": lambda x: hr.Dataset.range(3).flat_map(
        lambda y: hr.Dataset.range((x + y) % 3)
    ),
    "datasets inside of several lengths": lambda x: hr.Dataset.range(x % 3 + 1).flat_map(
        lambda y: hr.Dataset.range(y, x % 3 + y + 1)
    ),
    "datasets inside that fail to open": lambda x: hr.Dataset.range(4).flat_map(
        lambda y: hr.Dataset.range(4 // (x - y - 2))
    ),
    "datasets inside of two forms": lambda x: hr.Dataset.range(4).flat_map(
        lambda y: hr.Dataset.range(2) if (x + y) % 5 else hr.Dataset.range(5).shuffle(5, reshuffle_each_iteration=False)
    ),
    "datasets inside with filters": lambda x: (
        hr.Dataset.range(3)
        .flat_map(lambda y: hr.Dataset.range(4).filter(lambda z: 12 // (z + y - x % 4 - 2) > 2))
        .batch(2)
    ),
    "datasets inside with maps that fail, mapped": lambda x: (
        hr.Dataset.range(3)
        .flat_map(lambda y: hr.Dataset.range(3).map(lambda z: 12 // (x % 6 + y - z)))
        .map(lambda z: 12 // (z - 2))
    ),
    "datasets inside of maps that fail": lambda x: (
        hr.Dataset.range(4).map(lambda y: 6 // (x % 5 - y)).flat_map(lambda y: hr.Dataset.range(abs(y) + 1))
    ),
    "datasets inside of texts": lambda x: hr.Dataset.from_tensor_slices(["a b", "c d e", "f"][: x % 3 + 1]).flat_map(
        lambda text: hr.Dataset.from_tensor_slices(text.split())
    ),
    "datasets inside in turns": lambda x: hr.Dataset.range(5).interleave(
        lambda y: hr.Dataset.range(x % 3 + y % 2 + 1), cycle_length=2, block_length=2
    ),
    "datasets inside in turns, in workers": lambda x: hr.Dataset.range(3).interleave(
        lambda y: hr.Dataset.range(3).map(lambda z: x + y + z), cycle_length=3, num_parallel_calls=2
    ),
    "datasets inside in turns, which fail": lambda x: hr.Dataset.range(5).interleave(
        lambda y: hr.Dataset.range(y % 2 + 2).map(lambda z: 12 // (x + y - 2 * z - 5)), cycle_length=2
    ),
    "datasets inside datasets inside": lambda x: hr.Dataset.range(2).flat_map(
        lambda y: hr.Dataset.range(x % 2 + 1).flat_map(
            lambda z: hr.Dataset.range(2).map(lambda v: 12 // (x + y - z - v - 3))
        )
    ),
    "datasets inside, some left out": lambda x: (
        hr.Dataset.range(3).flat_map(lambda y: hr.Dataset.range(x % 2 + 1)).skip(2)
    ),
    "datasets inside, the first ones": lambda x: hr.Dataset.range(3).flat_map(lambda y: hr.Dataset.range(2)).take(3),
    "datasets inside and maps": lambda x: (
        hr.Dataset.range(2)
        .flat_map(lambda y: hr.Dataset.range(2))
        .concatenate(hr.Dataset.range(3).map(lambda y: 12 // (x - y - 3)))
        .batch(2)
    ),
    "datasets inside beside others": lambda x: hr.Dataset.zip(
        hr.Dataset.range(2).flat_map(lambda y: hr.Dataset.range(2)), hr.Dataset.range(x % 6 + 1)
    ),
    "maps, read ahead": lambda x: hr.Dataset.range(3).map(lambda y: 12 // (x - y - 3)).prefetch(2),
    "texts of an array": lambda x: hr.Dataset.from_tensor_slices(np.array(["a", "é", "c"][: x % 3 + 1], object)),
    "texts of arrays of two shapes": lambda x: hr.Dataset.from_tensor_slices(
        [["a", "b"]] * (x % 3 + 1) if x % 4 else ["a", "b", "c"]
    ),
    "sources and failures": lambda x: hr.Dataset.range(4 // (x % 5)),
    "sources and functions": lambda x: hr.Dataset.range(3) if x % 4 else hr.Dataset.range(3).map(lambda y: y + x),
}


@pytest.mark.parametrize("cycle", [1, 3])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_elements_and_states_are_those_of_each_dataset_by_itself(name: str, cycle: int) -> None:
    dataset = hr.Dataset.range(12).interleave(FUNCTIONS[name], cycle_length=cycle, block_length=cycle - 1 or 1)
    expected, states = history(dataset, AT_ONCE, limit=40)
    assert_same(history(dataset, REFERENCE, limit=40)[0], expected)
    for count, state in some_of(states, one_in=3, apart=name):
        assert_same(expected[count:], resumed(dataset, state, (AT_ONCE, REFERENCE)[count % 2], limit=40 - count))


# Those whose plans have one form, so that each is made together with others.
OF_ONE_FORM = [
    "all of maps, and more",
    "numbered maps",
    "maps of batches of filters",
    "filters of batches of filters",
    "pairs of filters",
    "concatenated maps and filters",
    "datasets inside of several lengths",
    "datasets inside of texts",
    "maps, read ahead",
    "texts of an array",
    "datasets inside in turns",
    "datasets inside in turns, in workers",
    "datasets inside, some left out",
    "datasets inside and maps",
]


@pytest.mark.parametrize("name", OF_ONE_FORM)
def test_datasets_of_one_form_are_made_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    made_together = DatasetRuns.next

    def counted(self: DatasetRuns, *arguments: Any) -> DatasetRun | None:
        run = made_together(self, *arguments)
        made.append(0 if run is None else run.count)
        return run

    monkeypatch.setattr(DatasetRuns, "next", counted)
    monkeypatch.setattr(NestingPaces, "block_s", 1e9)  # or fewer are made together where the machine is busy
    dataset = hr.Dataset.range(100, 400).flat_map(FUNCTIONS[name]).ignore_errors()
    assert elements_of(dataset, AT_ONCE, limit=10_000)
    assert sum(made) > 250
    assert max(made) > 9


@pytest.mark.parametrize("name", ["ranges of several lengths", "texts", "dicts"])
def test_many_datasets_come_as_one_block(name: str) -> None:
    seen: list[int] = []

    def noted(*element: Any) -> int:
        seen.append(len(element))
        return 0

    calls: list[int] = []

    def function(x: int) -> hr.Dataset:
        calls.append(len(seen))
        return FUNCTIONS[name](x)

    dataset = hr.Dataset.range(1000).flat_map(function)
    assert dataset.map(noted).reduce(0, lambda count, _: count + 1) == len(seen)
    assert len(set(calls)) < 200  # how often elements were looked at between two calls


def test_nobody_sees_what_another_does_to_an_element_that_is_repeated() -> None:
    for element in hr.Dataset.range(3).flat_map(lambda x: hr.Dataset.from_tensors({"a": x}).repeat(4)):
        assert list(element) == ["a"]
        element["b"] = 1


def test_groups_of_which_each_is_a_source_of_its_own_length_are_as_each_by_itself() -> None:
    dataset = hr.Dataset.range(40).group_by_window(lambda x: x % 4, lambda key, _: hr.Dataset.range(key + 1), 3)
    expected, states = history(dataset, AT_ONCE, limit=60)
    assert_same(history(dataset, REFERENCE, limit=60)[0], expected)
    for count, state in enumerate(states[:12]):
        assert_same(expected[count:], resumed(dataset, state, AT_ONCE, limit=60 - count))


@pytest.mark.parametrize("name", ["ranges of several lengths", "texts", "dicts", "pairs", "one many times"])
def test_an_error_names_the_element_and_the_dataset_that_it_lies_in(name: str) -> None:
    def fails(*element: Any) -> int:
        raise ValueError(len(element))

    dataset = hr.Dataset.range(6).flat_map(FUNCTIONS[name]).map(fails)
    expected = history(dataset, REFERENCE, limit=20)[0]
    assert_same(expected, history(dataset, AT_ONCE, limit=20)[0])


@pytest.mark.parametrize("cycle", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("filters", [False, True])
def test_a_function_inside_is_called_once_for_each_element_whatever_fails(
    cycle: int, size: int, fails: bool, filters: bool
) -> None:
    called: list[tuple[int, int]] = []
    judged: list[int] = []

    def judge(array: np.ndarray) -> bool:
        judged.append(len(array))
        return len(judged) % 3 > 0

    def inner(x: int) -> hr.Dataset:
        def noted(y: int) -> np.ndarray:
            called.append((x, y))
            if fails and x % 5 == 3 and y == 2:
                raise ValueError("this one")
            return np.zeros(2 if x % 7 == 4 and y == 1 else 1)

        made = hr.Dataset.range(4).map(noted)
        return (made.filter(judge) if filters else made).batch(size)

    dataset = hr.Dataset.range(60).interleave(inner, cycle_length=cycle)
    history(dataset, AT_ONCE, limit=1000)
    assert sorted(called) == [(x, y) for x in range(60) for y in range(4)]
    assert len(judged) == (60 * 4 - 12 * fails) * filters


def test_the_counts_of_a_function_inside_are_those_of_all_calls_that_returned() -> None:
    def inner(x: int) -> hr.Dataset:
        def some(y: int) -> int:
            return 1 // (x % 10 + y - 2)

        return hr.Dataset.range(4).map(some)

    delivered = failed = 0
    with iter(hr.Dataset.range(200).flat_map(inner)) as iterator:
        for _ in range(800):
            try:
                next(iterator)
                delivered += 1
            except hr.errors.DataError:
                failed += 1
        assert next(iterator, None) is None
        counts = {stage.name.split()[0]: stage.elements for stage in iterator.stats().stages}
    assert (delivered, failed) == (740, 60)
    assert (counts["range"], counts["map"]) == (800, 740)


def test_the_counts_of_several_functions_inside_are_those_of_each() -> None:
    def inner(x: int) -> hr.Dataset:
        numbers = hr.Dataset.range(4).map(lambda y: x + y)
        return numbers.filter(lambda y: y % 4 > 0).map(lambda y: 12 // (y % 4 - 3 * (x == 7)))

    with iter(hr.Dataset.range(200).flat_map(inner).ignore_errors()) as iterator:
        delivered = len(list(iterator))
        counts = sorted((stage.name.split()[0], stage.elements) for stage in iterator.stats().stages)
    assert delivered == 599
    assert [one for one in counts if one[0] in ("map", "filter", "flat_map")] == [
        ("filter", 600),
        ("flat_map", 599),
        ("map", 599),
        ("map", 800),
    ]


def test_what_is_made_together_calls_functions_on_no_more_than_a_dataset_until_it_is_known_what_they_take() -> None:
    called: list[int] = []

    def noted(number: int) -> int:
        called.append(number)
        return number

    with iter(hr.Dataset.range(50).flat_map(lambda _: hr.Dataset.range(2).map(noted))) as iterator:
        next(iterator)
        assert called == [0]
