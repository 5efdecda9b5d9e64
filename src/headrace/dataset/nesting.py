"""Operations whose function makes a dataset of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from headrace.dataset.mixin import DatasetMixin
from headrace.frozen import maker
from headrace.plan.nesting import FlatMap, Interleave

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Nesting"]

# Functions make such datasets of elements by the thousand.
_new_flat_map: Final = maker(FlatMap)


class Nesting(DatasetMixin):
    """Operations whose function makes a dataset of each element."""

    __slots__ = ()

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Maps each element to a dataset, and gives the elements of these datasets, one dataset after the other.

        Args:
            map_func: called with the element, a tuple unpacked; returns a ``Dataset``.
            name: what the operation is called in messages and statistics.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(3).flat_map(lambda x: hr.Dataset.from_tensors(x).repeat(x)))
            [1, 2, 2]
        """
        return self._of(_new_flat_map(input=self._plan, function=map_func, name=name))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int = 1,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
        executor: str | None = None,
    ) -> Dataset:
        """Maps each element to a dataset, and gives the elements of several of these datasets in turn.

        The order does not depend on ``num_parallel_calls``.

        Args:
            map_func: called with the element, a tuple unpacked; returns a ``Dataset``.
            cycle_length: how many datasets are open at once; 4 by default, on every machine.
            block_length: how many elements each of them gives in its turn.
            num_parallel_calls: how many of them may be read at once, ahead of their turns.
            deterministic: False takes elements from any dataset that has some ready.
            name: what the operation is called in messages and statistics.
            executor: ``"process"`` has processes call ``map_func`` and read the datasets, each with a Python lock of its own, as in ``map``.

        Raises:
            InvalidArgumentError: a length is below 1, ``num_parallel_calls`` exceeds ``cycle_length``, or ``executor`` is unknown.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(3).interleave(lambda x: hr.Dataset.from_tensors(x).repeat(2), cycle_length=2))
            [0, 1, 0, 1, 2, 2]
        """
        return self._of(
            Interleave(
                input=self._plan,
                function=map_func,
                cycle_length=cycle_length,
                block_length=block_length,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
                name=name,
                executor=executor,
            )
        )
