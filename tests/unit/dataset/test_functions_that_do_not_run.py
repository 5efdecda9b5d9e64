"""What a user hears who gives an operation a function of which a call runs nothing, or whose result the first to look at it uses up."""

from __future__ import annotations

import functools
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import headrace as hr

DS = hr.Dataset


async def awaited(*element: Any) -> Any:
    return element


def yielding(*element: Any) -> Iterator[Any]:
    yield element


async def both(*element: Any) -> AsyncIterator[Any]:
    yield element


class Called:
    async def __call__(self, *element: Any) -> Any:
        return element

    def method(self, *element: Any) -> Iterator[Any]:
        yield element


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "map": lambda f: DS.range(3).map(f),
    "vectorized": lambda f: DS.range(3).map(hr.vectorized(f)),
    "random_map": lambda f: DS.range(3).random_map(f),
    "filter": lambda f: DS.range(3).filter(f),
    "take_while": lambda f: DS.range(3).take_while(f),
    "flat_map": lambda f: DS.range(3).flat_map(f),
    "interleave": lambda f: DS.range(3).interleave(f),
    "scan": lambda f: DS.range(3).scan(0, f),
    "group_by_window": lambda f: DS.range(3).group_by_window(f, lambda key, group: group.batch(2), 2),
    "worker_init": lambda f: hr.Options(worker_init=f),
    "reduce_func": lambda f: DS.range(3).group_by_window(lambda x: x, f, 2),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("function", "match"),
    [
        (awaited, r"'awaited' \(test_functions_that_do_not_run.py:\d+\) is an async function.*asyncio.run\(awaited"),
        (Called(), "'__call__' .* is an async function"),
        (both, "'both' .* is an async generator function"),
        (yielding, r"'yielding' .* is a generator function.*flat_map\(lambda \*x: hr.Dataset.from_generator\(yielding"),
        (Called().method, "'method' .* is a generator function"),
        (functools.partial(yielding, 1), "'yielding' .* is a generator function"),
    ],
)
def test_every_operation_refuses_it_where_it_is_given(operation: str, function: Any, match: str) -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match=match):
        OPERATIONS[operation](function)


def test_what_yields_may_be_a_source_and_what_is_async_may_not() -> None:
    assert list(DS.from_generator(yielding)) == [()]
    assert list(DS.range(2).flat_map(lambda *x: DS.from_generator(yielding, args=x)).map(int)) == [0, 1]
    for function in (awaited, both):
        with pytest.raises(hr.errors.InvalidArgumentError, match=f"'{function.__name__}'"):
            DS.from_generator(function)


@pytest.mark.parametrize("executor", ["thread", "inline", "process", "subprocess"])
@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda x: [0, yielding(x)], r"a generator \('yielding'\)"),
        (lambda x: {"a": (x, (y for y in range(3)))}, r"a generator \('.*<genexpr>'\)"),
        (lambda x: {"one": awaited(x)}, r"a coroutine \('awaited'\)"),
        (lambda x: (both(x),), r"an? async_generator \('both'\)"),
        (lambda x: map(str, [x]), r"an iterator \(map\)"),
        (lambda x: (x, zip([x], [x], strict=True)), r"an iterator \(zip\)"),
        (lambda x: iter([x]), r"an iterator \(list_iterator\)"),
        (lambda x: itertools.chain([x]), r"an iterator \(chain\)"),
    ],
)
def test_an_element_is_nothing_that_is_used_up(made: Any, match: str, executor: str) -> None:
    dataset = DS.range(4).map(lambda x: made(x) if x % 2 else x, 2).with_options(hr.Options(executor=executor))
    with pytest.raises(hr.errors.InvalidArgumentError, match=match) as raised:
        list(dataset)
    assert str(raised.value.stage).startswith("map")
    assert raised.value.origin == "element 1"
    assert list(dataset.ignore_errors()) == [0, 2]


def test_a_source_of_what_is_used_up_is_refused() -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match="an element cannot hold"):
        DS.from_tensors((1, (x for x in range(2))))
    with pytest.raises(hr.errors.InvalidArgumentError, match="an element cannot hold a generator"):
        list(DS.from_generator(lambda: iter([yielding(1)])))


def test_what_may_be_iterated_over_again_is_an_element(tmp_path: Any) -> None:
    (tmp_path / "f").write_text("text")
    with (tmp_path / "f").open() as file:
        made = [{1, 2}, {"a": 1}.keys(), file, object()]
        assert [type(one) for one in DS.range(4).map(made.__getitem__)] == [type(one) for one in made]
