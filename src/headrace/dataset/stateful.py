"""Operations that go through elements in order, with a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.dataset.mixin import DatasetMixin
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile, Unique

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Stateful"]


class Stateful(DatasetMixin):
    """Operations that go through elements in order, with a state."""

    __slots__ = ()

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Takes the elements before the first for which the predicate is false.

        Args:
            predicate: called with the element, a tuple unpacked, which it sees read-only; returns a bool.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: while iterating, in place of an element for which it returned no bool.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(10).take_while(lambda x: x < 3))
            [0, 1, 2]
        """
        return self._of(TakeWhile(input=self._plan, predicate=predicate, name=name))

    def scan(
        self, initial_state: Any, scan_func: Callable[[Any, Any], tuple[Any, Any]], name: str | None = None
    ) -> Dataset:
        """Replaces each element by what a function returns for it and a state, which is handed on to the next call.

        A saved state of the iterator holds this state: numbers, texts and arrays of them.

        Args:
            initial_state: a structure. It is copied, and the function gets each state read-only, in containers of its own.
            scan_func: called with the state and an element (not unpacked); returns the new state and an output.
            name: what the operation is called in messages and statistics.

        Raises:
            DataError: while iterating, in place of an element on which the function failed, or returned a state of another
                structure or dtype (its cause is a TypeError); the next element gets the state that was there before.
            InvalidArgumentError: from ``state_dict()``, where the state has an object in it.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(1, 5).scan(0, lambda total, x: (total + x, total + x)))
            [1, 3, 6, 10]
        """
        return self._of(Scan(input=self._plan, initial_state=initial_state, function=scan_func, name=name))

    def unique(self, name: str | None = None) -> Dataset:
        """Keeps the first of equal elements, and drops the others.

        What was seen is held in memory for the epoch. A saved state does not hold it: a resumed run reads again from the
        beginning, up to its position.

        Args:
            name: what the operation is called in messages and statistics.

        Raises:
            TypeError: the elements are known not to be single ints or texts.
            DataError: while iterating, in place of any other element (its cause is a TypeError).

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(["b", "a", "b", "c", "a"]).unique())
            ['b', 'a', 'c']
        """
        return self._of(Unique(input=self._plan, name=name))

    def assert_cardinality(self, expected_cardinality: int, name: str | None = None) -> Dataset:
        """Gives the same elements, and an error where there are fewer or more than expected.

        Args:
            expected_cardinality: how many; ``hr.INFINITE_CARDINALITY`` where there must be no end, and
                ``hr.UNKNOWN_CARDINALITY`` where any number will do.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: a number below those.
            FailedPreconditionError: while iterating, at the end where there were fewer, or in place of each element that is too many.

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.range(10).filter(lambda x: x % 2 == 0).assert_cardinality(5)
            >>> len(ds), list(ds)
            (5, [0, 2, 4, 6, 8])
        """
        return self._of(AssertCardinality(input=self._plan, expected=expected_cardinality, name=name))
