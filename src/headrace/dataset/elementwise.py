"""Operations that look at one element at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.dataset.part import Part
from headrace.plan.elementwise import Enumerate, Filter, Map

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Elementwise"]


class Elementwise(Part):
    """Operations that look at one element at a time."""

    __slots__ = ()

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Each element replaced by what a function makes of it.

        Args:
            map_func: called with the element; a tuple is unpacked into arguments. A list that it returns is a
                tuple, as in tf.data.
            num_parallel_calls: how many calls may run at once in the pipeline's workers; ``hr.AUTOTUNE`` takes one
                a core. None calls it in the thread that reads.
            deterministic: False lets elements come in the order in which they are done.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: ``num_parallel_calls`` is neither positive nor ``hr.AUTOTUNE``.
            DataError: while iterating, in place of each element on which the function failed.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda x, y: x + y))
            [11, 22]
        """
        return self._of(
            Map(
                input=self._plan,
                function=map_func,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
                name=name,
            )
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which the predicate is true.

        Args:
            predicate: called with the element, a tuple unpacked; returns a bool.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: while iterating, in place of an element for which it returned no bool.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(6).filter(lambda x: x % 2 == 0))
            [0, 2, 4]
        """
        return self._of(Filter(input=self._plan, predicate=predicate, name=name))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Each element with its number before it.

        Args:
            start: the first number.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5))
            [(5, 'a'), (6, 'b')]
        """
        return self._of(Enumerate(input=self._plan, start=start, name=name))
