"""Operations that put elements together, or take them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.dataset.part import Part
from headrace.plan.grouping import Batch, Unbatch

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Grouping"]


class Grouping(Part):
    """Operations that put elements together, or take them apart."""

    __slots__ = ()

    def batch(self, batch_size: int, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Runs of consecutive elements, stacked along a new first axis into arrays of their own.

        Args:
            batch_size: how many elements a batch has.
            drop_remainder: whether a last batch with fewer is left out.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: the size is below 1; or, while iterating, elements that differ in structure, shape
                or dtype. An element that failed takes its batch with it.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(5).batch(2))
            [array([0, 1]), array([2, 3]), array([4])]
        """
        return self._of(Batch(input=self._plan, batch_size=batch_size, drop_remainder=bool(drop_remainder), name=name))

    def unbatch(self, name: str | None = None) -> Dataset:
        """The slices of each element along its first axis.

        Args:
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: a component is a scalar, or the first axes differ in length; at once where that is
                known, else while iterating.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensors([[1, 2], [3, 4]]).unbatch())
            [array([1, 2]), array([3, 4])]
        """
        return self._of(Unbatch(input=self._plan, name=name))
