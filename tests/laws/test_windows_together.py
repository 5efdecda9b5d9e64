"""Windows whose datasets have one form, over elements of every kind: their elements, and a state after each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.laws.elements import Failing, Point, total
from tests.laws.running import REFERENCE, Way, assert_same, elements_of, history, resumed, some_of

import headrace as hr
from headrace.elements.structure import flatten, unflatten
from headrace.physical.at_once import SmallPlans
from headrace.physical.stages.together.forms import Form

# Many windows are made together; two or three; and each by itself.
WAYS = {size: Way(hr.Options(seed=7), block_sizes=(size,)) for size in (1000, 3, 1)}
# One of so many states is gone on from.
STATES = {1000: 7, 3: 4, 1: 30}
POINTS = 24


def _fail_on_five(number: int) -> int:
    if number == 5:
        raise Failing("five")
    return number


ELEMENTS: dict[str, Callable[[], hr.Dataset]] = {
    "range": lambda: hr.Dataset.range(11),
    "rows": lambda: hr.Dataset.from_tensor_slices(np.arange(22.0).reshape(11, 2)),
    "texts": lambda: hr.Dataset.from_tensor_slices([str(number) for number in range(11)]),
    "pairs": lambda: hr.Dataset.zip((hr.Dataset.range(11), hr.Dataset.range(11, 22))),
    "a dict": lambda: hr.Dataset.from_tensor_slices({"b": np.arange(11), "a": np.ones((11, 2), np.float32)}),
    "shuffled slices": lambda: hr.Dataset.from_tensor_slices((np.arange(11), np.arange(11) * 2)).shuffle(4, seed=1),
    "numbers of a function": lambda: hr.Dataset.range(11).map(lambda number: number * 2),
    "pairs of a function": lambda: hr.Dataset.range(11).map(lambda number: (number, np.full(2, number))),
    "dicts of a function": lambda: hr.Dataset.range(11).map(
        lambda number: {"b": number, "a": 0} if number % 2 else {"a": 0, "b": number}
    ),
    "a named tuple of a function": lambda: hr.Dataset.range(11).map(lambda number: Point(number, "x")),
    "other dtypes": lambda: hr.Dataset.range(11).map(lambda number: number / 2 if number > 6 else number),
    "other shapes": lambda: hr.Dataset.range(11).map(lambda number: np.array([number] + [0] * (number // 4))),
    "other structures": lambda: hr.Dataset.range(11).map(lambda number: number if number < 6 else (number, number)),
    "failures": lambda: hr.Dataset.range(11).map(_fail_on_five),
}

WINDOWS: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "next to each other": lambda ds: ds.window(3),
    "over each other": lambda ds: ds.window(4, 1, 2),
    "far apart": lambda ds: ds.window(2, 5, drop_remainder=True),
    "whole": lambda ds: ds.window(3, 2, drop_remainder=True),
    "shuffled": lambda ds: ds.window(2).shuffle(3, seed=2),
}


def _each(apply: Callable[[hr.Dataset], hr.Dataset]) -> Callable[..., hr.Dataset]:
    """Does the same to each component's dataset, and ties them together again."""

    def made(*window: Any) -> hr.Dataset:
        leaves, treedef = flatten(window[0] if len(window) == 1 else window)
        return hr.Dataset.zip(unflatten(treedef, [apply(leaf) for leaf in leaves]))

    return made


def _first(apply: Callable[[hr.Dataset], hr.Dataset]) -> Callable[..., hr.Dataset]:
    """Does it to the dataset of one component, with nothing after it."""

    def made(*window: Any) -> hr.Dataset:
        return apply(flatten(window)[0][0])

    return made


def _same(*element: Any) -> Any:
    if total(element) == 8:
        raise Failing("eight")
    return element[0] if len(element) == 1 else element


def _is_even(*element: Any) -> bool:
    if total(element) == 7:
        raise Failing("seven")
    return int(total(element)) % 2 == 0


def _is_small(*element: Any) -> bool:
    return int(total(element)) < 10


def _by_length(window: hr.Dataset) -> hr.Dataset:
    first = next(iter(window.batch(9)))
    if flatten(first.ravel().tolist())[0][0] in (4, 6, "4", "6"):
        raise Failing("cannot open")
    return window.batch(2) if len(window) % 2 else window.take(1)


FUNCTIONS: dict[str, Callable[..., hr.Dataset]] = {
    "batch": _each(lambda window: window.batch(10)),
    "smaller batches": _each(lambda window: window.batch(2)),
    "smaller batches, whole": _each(lambda window: window.batch(2, drop_remainder=True)),
    "as they are": _each(lambda window: window),
    "take": _each(lambda window: window.take(2).batch(2)),
    "skip": _each(lambda window: window.skip(1)),
    "zip": _each(lambda window: hr.Dataset.zip(window.batch(2), window.skip(1))),
    "padded_batch": _each(lambda window: window.padded_batch(2)),
    "ragged_batch": _each(lambda window: window.ragged_batch(10)),
    "batch of batches": _each(lambda window: window.batch(1).batch(3)),
    "map, in zips": _each(lambda window: window.map(_same).batch(2)),
    "filter, in zips": _each(lambda window: window.filter(_is_even).batch(2)),
    "another form for some": _each(_by_length),
    "nothing": _each(lambda window: window.take(0)),
    "concatenate": _each(lambda window: window.concatenate(window.skip(1))),
    "enumerate": _each(lambda window: window.enumerate().batch(2)),
    "map": _first(lambda window: window.map(_same)),
    "filter": _first(lambda window: window.filter(_is_even)),
    "filter, and maps": _first(lambda window: window.filter(_is_even).map(_same)),
    "filter, and batches": _first(lambda window: window.filter(_is_even).batch(2)),
    "filter, and whole batches": _first(lambda window: window.filter(_is_even).batch(2, drop_remainder=True)),
    "filter, and padded batches": _first(lambda window: window.filter(_is_even).padded_batch(2)),
    "maps and filters": _first(lambda window: window.map(_same).filter(_is_even).map(_same).filter(_is_small)),
    "map of batches": _first(lambda window: window.batch(2).map(_same)),
}


def _key(*element: Any) -> int:
    number = total(element)
    if number == 9:
        raise Failing("cannot tell the key")
    return number % 3


def _grouped(ds: hr.Dataset, function: str) -> hr.Dataset:
    def reduced(key: int, group: hr.Dataset) -> hr.Dataset:
        if key == 1 and function == "another form for some":
            raise Failing("cannot reduce")
        return FUNCTIONS[function](group)

    return ds.group_by_window(_key, reduced, window_size=2)


def _opened(kind: str, ds: hr.Dataset, function: str) -> hr.Dataset:
    return _grouped(ds, function) if kind == "groups" else WINDOWS[kind](ds).flat_map(FUNCTIONS[function])


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.parametrize("windows", ["groups", *sorted(WINDOWS)])
def test_windows_made_together_are_what_each_is_by_itself(windows: str, function: str) -> None:
    for _, elements in some_of([*ELEMENTS.values()], one_in=2, apart=windows + function):

        def build(elements: Callable[[], hr.Dataset] = elements) -> hr.Dataset:
            return _opened(windows, elements(), function)

        expected, _ = history(build(), REFERENCE, limit=POINTS)
        for size, way in WAYS.items():
            found, states = history(build(), way, limit=POINTS)
            assert_same(expected, found)
            for count, state in some_of(states, one_in=STATES[size], apart=windows):
                other = (way, REFERENCE)[count % 2]
                assert_same(expected[count:], resumed(build(), state, other, limit=POINTS - count))


def test_windows_and_groups_of_one_form_are_made_together(monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []
    elements = Form.elements

    def counted(self: Form, small: SmallPlans) -> Any:
        together.append(len(self.lengths))
        return elements(self, small)

    monkeypatch.setattr(Form, "elements", counted)
    pairs = hr.Dataset.zip((hr.Dataset.range(500), hr.Dataset.range(500))).window(5)
    batches = pairs.flat_map(lambda x, y: hr.Dataset.zip((x.batch(5), y.batch(5))))
    assert len(elements_of(batches, WAYS[1000], limit=1000)) == 100
    assert sum(together) == 100
    assert len(together) < 50
    together.clear()
    groups = hr.Dataset.range(800).group_by_window(lambda x: x % 4, lambda _, group: group.batch(8), 8)
    assert len(elements_of(groups, WAYS[1000], limit=1000)) == 100
    assert sum(together) == 100
    assert len(together) < 50


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.parametrize("windows", ["groups", *sorted(WINDOWS)])
def test_an_error_after_windows_says_of_which_elements_of_which_window_it_is(windows: str, function: str) -> None:
    def refuse(*element: Any) -> Any:
        raise Failing("refused")

    for _, elements in some_of([*ELEMENTS.values()], one_in=4, apart=windows + function):

        def build(elements: Callable[[], hr.Dataset] = elements) -> hr.Dataset:
            return _opened(windows, elements(), function).map(refuse)

        expected, _ = history(build(), REFERENCE, limit=POINTS)
        assert_same(expected, history(build(), WAYS[1000], limit=POINTS)[0])


def test_what_comes_of_windows_made_together_is_owned_by_who_gets_it() -> None:
    series = np.arange(40.0).reshape(20, 2)
    for window in hr.Dataset.from_tensor_slices(series).window(4, 1).flat_map(lambda window: window.batch(4)):
        window[:] = -1
    for row in hr.Dataset.from_tensor_slices(series).window(4, 1).flat_map(lambda window: window.take(3)):
        assert not row.flags.writeable
    assert series.min() == 0
