"""Elements come out of blocks without a call of Python's, and the iterator is none the less what it was."""

from __future__ import annotations

import contextlib
import gc
import itertools
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from tests.laws.interrupting import interrupted

import headrace as hr
from headrace.errors import DataError, HeadraceError
from headrace.iterator.chained import Chained


class Blocks(Chained):
    """Delivers lists, and raises what is none."""

    def __init__(self, blocks: Iterable[list[Any] | BaseException]) -> None:
        self.blocks = iter(blocks)
        self.is_broken = False
        self._rows = iter(())

    def _next_block(self) -> Iterator[Any]:
        block = next(self.blocks)
        if isinstance(block, BaseException):
            raise block
        self._rows = iter(block)
        return self._rows

    def _broke_off(self) -> None:
        self.is_broken = True


def test_no_function_of_pythons_is_called_for_an_element() -> None:
    assert hr.DatasetIterator.__next__ is itertools.chain.__next__
    assert list(Blocks([[0, 1], [2]])) == [0, 1, 2]


def test_it_goes_on_after_failures() -> None:
    blocks = Blocks([[0], DataError("one"), [1, 2], DataError("two"), DataError("three"), [3]])
    came: list[Any] = []
    while len(came) < 7:
        try:
            came.append(next(blocks))
        except HeadraceError as error:
            came.append(str(error))
    assert came == [0, "one", 1, 2, "two", "three", 3]
    with pytest.raises(StopIteration):
        next(blocks)


def test_it_goes_on_after_its_end() -> None:
    blocks = Blocks([[0]])
    assert list(blocks) == [0]
    assert list(blocks) == []
    blocks.blocks = iter([[1, 2], [3]])
    assert list(blocks) == [1, 2, 3]


@pytest.mark.parametrize("before", [(), (DataError("one"),)])
def test_what_else_is_raised_ends_it(before: tuple[DataError, ...]) -> None:
    blocks = Blocks([*before, [0], KeyboardInterrupt()])
    for _ in before:
        with pytest.raises(DataError):
            next(blocks)
    assert next(blocks) == 0
    assert not blocks.is_broken
    with pytest.raises(KeyboardInterrupt):
        next(blocks)
    assert blocks.is_broken


def test_it_is_of_its_class_whatever_came() -> None:
    blocks = Blocks([DataError("one")])
    names = repr(blocks), type(blocks).__qualname__, type(blocks).__module__
    with pytest.raises(DataError):
        next(blocks)
    assert (repr(blocks), type(blocks).__qualname__, type(blocks).__module__) == names
    assert isinstance(blocks, Blocks)


def test_who_drops_it_ends_it() -> None:
    blocks = Blocks([[0, 1]])
    next(blocks)
    dropped = weakref.ref(blocks)
    gc.disable()
    try:
        del blocks
        assert dropped() is None
    finally:
        gc.enable()


class Word:
    """An object that can be looked at from afar."""


def test_a_closed_iterator_gives_no_more_and_holds_no_elements() -> None:
    made: list[weakref.ref[Word]] = []

    def word(_: int) -> Word:
        new = Word()
        made.append(weakref.ref(new))
        return new

    iterator = iter(hr.Dataset.range(1_000).map(word))
    for _ in range(50):
        next(iterator)
    assert any(ref() is not None for ref in made)
    iterator.close()
    gc.collect()
    assert all(ref() is None for ref in made)
    assert next(iterator, None) is None


def test_an_iterator_goes_on_from_a_state_in_the_middle_of_a_block() -> None:
    iterator = iter(hr.Dataset.range(100))
    for _ in range(20):
        next(iterator)
    state = iterator.state_dict()
    for _ in range(20):
        next(iterator)
    iterator.load_state_dict(state)
    assert list(iterator) == list(range(20, 100))
    iterator.load_state_dict(state)
    assert list(iterator) == list(range(20, 100))


@pytest.mark.parametrize("count", [0, 1, 20])
def test_an_iterator_goes_on_from_a_state_wherever_ctrl_c_came(count: int) -> None:
    for point in itertools.count():
        iterator = iter(hr.Dataset.range(100).map(str))
        for _ in range(count):
            next(iterator)
        state = iterator.state_dict()
        with interrupted(point) as interruption, contextlib.suppress(KeyboardInterrupt):
            next(iterator)
        iterator.load_state_dict(state)
        assert list(iterator) == list(map(str, range(count, 100))), interruption.where
        if not interruption.came:
            break


def test_a_state_that_ctrl_c_kept_from_being_loaded_can_be_loaded_again() -> None:
    for point in itertools.count():
        iterator = iter(hr.Dataset.range(100))
        assert next(iterator) == 0
        state = iterator.state_dict()
        with interrupted(point) as interruption, contextlib.suppress(KeyboardInterrupt):
            iterator.load_state_dict(state)
        iterator.load_state_dict(state)
        assert list(iterator) == list(range(1, 100)), interruption.where
        if not interruption.came:
            break


def test_an_iterator_that_goes_on_from_a_state_still_is_a_chain() -> None:
    iterator = iter(hr.Dataset.range(100))
    for elements in ([], [0]):
        state = iterator.state_dict()
        iterator.load_state_dict(state)
        assert type(iterator) is hr.DatasetIterator
        assert [next(iterator) for _ in elements] == elements
